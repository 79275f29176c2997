"""From a study to an answer: choose, drop the changes that buy nothing, explain the rest.

recommendation = recommend(study)
text = recommendation.write("mariadb-10.11")
"""

from advisor.recommend.headline import about_engine, about_settings, tried, warning
from advisor.recommend.recommendation import (
    COMPARED_METRICS,
    Change,
    Column,
    Dropped,
    Recommendation,
    recommend,
    recommend_given,
)
from advisor.recommend.verdict import Comparison, EngineVerdict

__all__ = [
    "COMPARED_METRICS",
    "Change",
    "Column",
    "Comparison",
    "Dropped",
    "EngineVerdict",
    "Recommendation",
    "about_engine",
    "about_settings",
    "recommend",
    "recommend_given",
    "tried",
    "warning",
]
