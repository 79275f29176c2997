"""The library in one line: `advisor.tune(...)`, `advisor.sweep(...)`, `advisor.study(name)`,
`advisor.compare(...)`, `advisor.sql(query)`."""

from __future__ import annotations

from advisor.api.compared import Compared, compare
from advisor.api.queried import sql
from advisor.api.sweeps import Swept, stored_sweep, sweep
from advisor.api.tuned import Tuned, studies, study, tune

__all__ = [
    "Compared",
    "Swept",
    "Tuned",
    "compare",
    "sql",
    "stored_sweep",
    "studies",
    "study",
    "sweep",
    "tune",
]
