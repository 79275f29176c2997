"""How far our engines and the real ones agree: many settings on a few workloads, each run on the
real engine and predicted, kept as a table that ships."""

from advisor.validation.agreement import (
    Agreement,
    Sides,
    Winner,
    agreement,
    failures,
    sides,
    wrong_winners,
)
from advisor.validation.cases import SUITES, Case, Configuration, Suite
from advisor.validation.dataset import Row, add, read, shipped
from advisor.validation.fill import fill
from advisor.validation.renew import renew
from advisor.validation.rivalry import Rivalry, rivalries
from advisor.validation.run import Progress
from advisor.validation.summary import shipped_summary

__all__ = [
    "SUITES",
    "Agreement",
    "Case",
    "Configuration",
    "Progress",
    "Rivalry",
    "Row",
    "Sides",
    "Suite",
    "Winner",
    "add",
    "agreement",
    "failures",
    "fill",
    "read",
    "renew",
    "rivalries",
    "shipped",
    "shipped_summary",
    "sides",
    "wrong_winners",
]
