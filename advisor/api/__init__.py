"""The library in one line: `advisor.tune(...)`, `advisor.sweep(...)`, `advisor.study(name)`,
`advisor.compare(...)`."""

from __future__ import annotations

from advisor.api.compared import Compared, compare
from advisor.api.swept import Swept, sweep
from advisor.api.tuned import Tuned, studies, study, tune

__all__ = ["Compared", "Swept", "Tuned", "compare", "studies", "study", "sweep", "tune"]
