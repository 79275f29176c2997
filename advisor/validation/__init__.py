"""How far our engines and the real ones agree: many settings on a few workloads, each run on the
real engine and predicted, kept as a table that ships."""

from advisor.validation.agreement import (
    Agreement,
    Sides,
    Winner,
    agreement,
    failures,
    wrong_winners,
)
from advisor.validation.cases import CASES, CONFIGURATIONS, Case, Configuration, configurations
from advisor.validation.dataset import FILE, Row, add, read, shipped
from advisor.validation.fill import Progress, fill
from advisor.validation.summary import shipped_summary

__all__ = [
    "CASES",
    "CONFIGURATIONS",
    "FILE",
    "Agreement",
    "Case",
    "Configuration",
    "Progress",
    "Row",
    "Sides",
    "Winner",
    "add",
    "agreement",
    "configurations",
    "failures",
    "fill",
    "read",
    "shipped",
    "shipped_summary",
    "wrong_winners",
]
