"""The first tier of a search: closed forms of both engines, corrected by the trials already made,
which look at a hundred thousand settings without a run.

FirstTier.of(profile, engine).propose(values, trials, count=6, seed=1)
"""

from advisor.analytic.proposals import LEAST_TRIALS, Error, FirstTier, Proposals

__all__ = ["LEAST_TRIALS", "Error", "FirstTier", "Proposals"]
