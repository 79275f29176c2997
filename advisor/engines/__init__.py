"""The engines, each with one description.

`of(name)` gives what the library knows of an engine beyond its options, which are the core's and in
`advisor.knobs`. A new engine is a module here, an entry in `_DESCRIPTIONS`, and its name in
`Engine`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import get_args

from advisor.engines import btree, lsm
from advisor.engines.description import Engine, EngineDescription, Product

__all__ = ["ENGINES", "Engine", "EngineDescription", "Product", "btree", "lsm", "of"]

ENGINES: tuple[Engine, ...] = get_args(Engine)

_DESCRIPTIONS: Mapping[Engine, EngineDescription] = {
    lsm.NAME: lsm.DESCRIPTION,
    btree.NAME: btree.DESCRIPTION,
}


def of(engine: Engine) -> EngineDescription:
    """The description of an engine."""
    return _DESCRIPTIONS[engine]
