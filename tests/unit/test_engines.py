import ast
from pathlib import Path

import pytest

from advisor import engines, knobs
from advisor.engines import ENGINES, Engine
from advisor.engines.description import Load

GIB = 1 << 30
ADVISOR = Path(engines.__file__).parents[1]
NAMED = ("engines/", "published/", "calibration/runs.py")
"""Where an engine is named: its description, and lists of runs, which are data."""


@pytest.mark.parametrize("engine", ENGINES)
def test_a_description_names_knobs_of_its_engine(engine: Engine) -> None:
    known = engines.of(engine)
    named = {known.cache_knob, known.unit_knob, *known.shrinkable}
    named |= {name for name in (known.memtable_knob,) if name is not None}
    named |= {one.knob for one in (known.unexercised,) if one is not None}
    parts = known.memory_parts(knobs.defaults(engine), Load(4, GIB, 1_000_000, has_tables=True))
    named |= {name for part in parts for name in part.knobs}
    assert named <= set(knobs.catalogue(engine))
    assert parts[0].knobs == (known.cache_knob,)
    assert known.name == engine


@pytest.mark.parametrize("engine", ENGINES)
def test_what_leaves_no_trace_needs_no_rebuild_and_is_no_matter_of_durability(
    engine: Engine,
) -> None:
    catalogue = knobs.catalogue(engine)
    traceless = [catalogue[name] for name in engines.of(engine).traceless]
    assert not [knob.name for knob in traceless if knob.change == "rebuild" or knob.durability]
    assert engines.of(engine).cache_knob in {knob.name for knob in traceless}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("synced", [True, False])
def test_commits_are_as_durable_as_they_are_made(engine: Engine, synced: bool) -> None:
    known = engines.of(engine)
    changes = known.durability(synced)
    assert known.syncs_commits(knobs.defaults(engine) | changes) is synced
    assert all(knobs.catalogue(engine)[name].durability for name in changes)


@pytest.mark.parametrize("engine", ENGINES)
def test_whoever_has_the_engine_has_a_dialect_for_it(engine: Engine) -> None:
    spoken = {dialect.product for dialect in knobs.dialects(engine).values()}
    assert set(engines.of(engine).products.values()) == spoken


def test_nothing_else_asks_for_an_engine_by_name() -> None:
    found = []
    for path in ADVISOR.rglob("*.py"):
        place = path.relative_to(ADVISOR).as_posix()
        if not place.startswith(NAMED):
            tree = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            found += [
                f"{place}:{node.lineno}"
                for node in tree
                if isinstance(node, ast.Constant) and node.value in ENGINES
            ]
    assert found == []
