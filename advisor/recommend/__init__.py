"""From a study to an answer: choose, take in the changes that buy something, prove, explain.

recommendation = recommend(study)
text = recommendation.write("mariadb-10.11")
"""

from advisor.recommend.answer import recommend, recommend_given, recommend_member
from advisor.recommend.drawn import with_intervals
from advisor.recommend.endurance import TITLES as ENDURANCE_TITLES
from advisor.recommend.endurance import Endurance, Wear, endurance, wear_cells
from advisor.recommend.headline import (
    about_engine,
    about_front,
    about_member,
    about_other,
    about_rebuilds,
    about_settings,
    tried,
    warning,
)
from advisor.recommend.known_errors import Asked, KnownErrors, Misses
from advisor.recommend.recommendation import (
    COMPARED_METRICS,
    Change,
    Column,
    Dropped,
    Rebuild,
    Recommendation,
)
from advisor.recommend.verdict import Comparison, EngineVerdict

__all__ = [
    "COMPARED_METRICS",
    "ENDURANCE_TITLES",
    "Asked",
    "Change",
    "Column",
    "Comparison",
    "Dropped",
    "Endurance",
    "EngineVerdict",
    "KnownErrors",
    "Misses",
    "Rebuild",
    "Recommendation",
    "Wear",
    "about_engine",
    "about_front",
    "about_member",
    "about_other",
    "about_rebuilds",
    "about_settings",
    "endurance",
    "recommend",
    "recommend_given",
    "recommend_member",
    "tried",
    "warning",
    "wear_cells",
    "with_intervals",
]
