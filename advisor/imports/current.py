"""What a user's file says of engines, as the settings that a search starts from."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from advisor import dialects
from advisor.errors import InputError
from advisor.imports.imported import Imported
from advisor.knobs import Engine, Setting


def current_settings(
    path: Path, found: Imported, engines: Sequence[Engine], *, any_engine: bool = False
) -> dict[Engine, dict[str, Setting]]:
    """The settings of each engine that the file speaks of. What a product's file does not say is
    what the product does when its file is silent. Raises `InputError` for a file about none of the
    engines and, without `any_engine`, for one that describes another engine than the model."""
    others = found.another_engine(tuple(engines))
    if others and not any_engine:
        lines = ", ".join(other.text for other in others)
        why = "; ".join(dict.fromkeys(other.why for other in others))
        accepted = f"settings of the engine that is modelled, or --force: {why}"
        raise InputError(path, None, f"another engine: {lines}", accepted)
    current: dict[Engine, dict[str, Setting]] = {}
    for engine in engines:
        settings = found.settings.get(engine, {})
        dialect = found.dialect(engine)
        if settings or dialect:
            silent = dialects.product_defaults(dialect) if dialect else {}
            current[engine] = {**silent, **settings}
    if not current:
        known = " or ".join(engines)
        raise InputError(path, None, f"no setting of {known}", "a my.cnf or OPTIONS file of it")
    return current
