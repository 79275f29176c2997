"""What the tests of real engines write: every knob of the LSM engine away from its default, as far
as all products take the same value, and files of settings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from advisor import dialects
from advisor.knobs import Setting
from tests.unit.settings_draw import lines_of

MIB = 1 << 20

# A log is allocated on disk by the size of its memtable: everything stays small.
LSM: dict[str, Setting] = {
    "max_write_buffer_number": 5,
    "min_write_buffer_number_to_merge": 2,
    "level0_file_num_compaction_trigger": 6,
    "level0_slowdown_writes_trigger": 25,
    "level0_stop_writes_trigger": 41,
    "max_bytes_for_level_base": 48 * MIB,
    "max_bytes_for_level_multiplier": 8.5,
    "level_compaction_dynamic_level_bytes": True,
    "target_file_size_base": 12 * MIB,
    "target_file_size_multiplier": 2,
    "num_levels": 6,
    "max_compaction_bytes": 100 * MIB,
    "max_background_jobs": 5,
    "compaction_pri": "kOldestSmallestSeqFirst",
    "compaction_readahead_size": MIB,
    "compression": "kLZ4Compression",
    "bottommost_compression": "kZSTD",
    "compression_per_level": "kNoCompression:kNoCompression:kZlibCompression",
    "compression_opts_level": 1,
    "block_size": 16384,
    "block_size_deviation": 20,
    "block_restart_interval": 8,
    "format_version": 5,
    "whole_key_filtering": False,
    "optimize_filters_for_hits": True,
    "use_direct_reads": True,
    "use_direct_io_for_flush_and_compaction": True,
    "soft_pending_compaction_bytes_limit": 1 << 30,
    "hard_pending_compaction_bytes_limit": 2 << 30,
    "delayed_write_rate": 3 * MIB,
    "manual_wal_flush": True,
    "disable_auto_compactions": True,
    "max_manifest_file_size": 512 * MIB,
}


def exported(path: Path, dialect: str, settings: Mapping[str, Setting]) -> Path:
    """The settings at `path` as a file of the dialect."""
    path.parent.mkdir(exist_ok=True)
    engine = dialects.engine_of(dialect)
    path.write_text(dialects.write(dialect, lines_of(engine, dict(settings))))
    return path
