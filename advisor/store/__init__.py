"""The results: every study and every trial, in one DuckDB file.

A finished trial is one transaction, so a killed process loses at most the trial that was running.
No connection is kept between calls.
"""

from advisor.store.file import default_path
from advisor.store.named import Named
from advisor.store.records import (
    RobustPoint,
    RobustRun,
    RobustSession,
    StudyRecord,
    StudySummary,
    Table,
    VerifiedRun,
)
from advisor.store.results import Store
from advisor.store.sweeps import SweepPoint, SweepRecord

__all__ = [
    "Named",
    "RobustPoint",
    "RobustRun",
    "RobustSession",
    "Store",
    "StudyRecord",
    "StudySummary",
    "SweepPoint",
    "SweepRecord",
    "Table",
    "VerifiedRun",
    "default_path",
]
