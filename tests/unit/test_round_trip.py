"""What a dialect writes, the importers read back as the same settings."""

import random
from pathlib import Path

import pytest

from advisor import dialects, imports, knobs
from advisor.knobs import Setting
from tests.unit.settings_draw import draw_settings, lines_of


def carried(dialect: str, settings: dict[str, Setting]) -> dict[str, Setting]:
    """What of the settings a file of the dialect says."""
    found = {
        name: value
        for name, value in settings.items()
        if dialects.problem(dialect, name, value) is None
    }
    if dialects.product_of(dialect) == "myrocks" and {"sync", "manual_wal_flush"} & set(found):
        sync = bool(found.get("sync", False))
        manual = bool(found.get("manual_wal_flush", False)) and not sync
        found |= {"sync": sync, "manual_wal_flush": manual}
    return found


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("dialect", dialects.names())
def test_settings_survive_writing_and_reading(dialect: str, seed: int, tmp_path: Path) -> None:
    engine = dialects.engine_of(dialect)
    settings = draw_settings(engine, dialect, random.Random(seed))
    path = tmp_path / dialects.file_name(dialect)
    path.write_text(dialects.write(dialect, lines_of(engine, settings)))
    found = imports.read(path)
    expected = carried(dialect, settings)
    if "innodb_io_capacity" in expected:
        assert "innodb_io_capacity_max" in found.settings[engine]
        expected.setdefault(
            "innodb_io_capacity_max", found.settings[engine]["innodb_io_capacity_max"]
        )
    if dialects.product_of(dialect) == "mysql" and expected:
        # Which server the file is of decides what the engine does.
        expected["innodb_server"] = "mysql"
    assert dict(found.settings.get(engine, {})) == expected
    assert knobs.check(engine, found.settings.get(engine, {})) == expected


@pytest.mark.parametrize("dialect", dialects.names())
def test_nothing_that_is_written_is_ignored_when_it_is_read(dialect: str, tmp_path: Path) -> None:
    engine = dialects.engine_of(dialect)
    path = tmp_path / dialects.file_name(dialect)
    path.write_text(dialects.write(dialect, lines_of(engine, knobs.defaults(engine))))
    found = imports.read(path)
    assert [one.name for one in found.ignored if one.name != "plugin_load_add"] == []
    assert dialects.product_of(found.dialect(engine) or "") == dialects.product_of(dialect)
