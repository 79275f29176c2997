"""The tuning advisor as a library: profiles, knobs, searches, results, recommendations. It never
prints.

    import advisor

    study = advisor.tune("linkbench", memory="8GiB", trials=200)
    study.recommend()                       # the answer; notebooks show it
    study.export("mysql-8.4", "my.cnf")     # the file, in a product's own words

`tune` searches, `sweep` runs both engines along an axis, `study`, `studies` and `stored_sweep` go
back to what is stored, `compare` sets it side by side, `sql` asks for any of it.
`help(advisor.tune)` tells the rest.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from advisor.api import (
        Compared,
        Swept,
        Tuned,
        compare,
        sql,
        stored_sweep,
        studies,
        study,
        sweep,
        tune,
    )

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


def __getattr__(name: str) -> Any:
    """Whoever imports this package for one of its modules loads neither Optuna nor DuckDB."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from advisor import api

    return getattr(api, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


class _Package(ModuleType):
    """`advisor.sweep` and `advisor.compare` are the functions; the modules of these names are
    imported by their full names."""

    def __setattr__(self, name: str, value: object) -> None:
        if name in __all__ and isinstance(value, ModuleType):
            return
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
