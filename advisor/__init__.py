"""The tuning advisor as a library: profiles, knobs, searches, results, recommendations. It never
prints.
"""
