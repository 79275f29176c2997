"""Real engines: what is found on this machine, and how a run of the core is one of theirs."""

from advisor.real.disk import check_disk
from advisor.real.library import Library, find
from advisor.real.rocksdb import DIALECT, DIRECT_IO, ENGINE, real_spec

__all__ = ["DIALECT", "DIRECT_IO", "ENGINE", "Library", "check_disk", "find", "real_spec"]
