"""Real engines: what is found on this machine, and how a run of the core is one of theirs."""

from advisor.real.disk import check_disk
from advisor.real.library import Library, find
from advisor.real.process import ProcessCore
from advisor.real.rocksdb import DIALECT, DIRECT_IO, ENGINE, check_settings, real_spec
from advisor.real.trial_run import product_of

__all__ = [
    "DIALECT",
    "DIRECT_IO",
    "ENGINE",
    "Library",
    "ProcessCore",
    "check_disk",
    "check_settings",
    "find",
    "product_of",
    "real_spec",
]
