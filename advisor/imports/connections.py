"""What the connections of a server may take, by its my.cnf: as many as it admits, with all the
buffers that a statement may use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from advisor.errors import InputError
from advisor.imports.imported import Refused
from advisor.imports.mycnf import bytes_of, plain
from advisor.imports.option_groups import is_server_group, read_statements

KIB, MIB = 1 << 10, 1 << 20

BUFFERS: Mapping[str, int] = {
    "sort_buffer_size": 2 * MIB,
    "join_buffer_size": 256 * KIB,
    "read_buffer_size": 128 * KIB,
    "read_rnd_buffer_size": 256 * KIB,
    "binlog_cache_size": 32 * KIB,
    "thread_stack": 292 * KIB,
    "net_buffer_length": 16 * KIB,
}
"""Of one connection each, with MariaDB 10.11's defaults."""


@dataclass(frozen=True)
class Connections:
    """Connections that a server admits, and what each may take."""

    count: int
    each_bytes: int

    @property
    def bytes(self) -> int:
        return self.count * self.each_bytes


def read_connections(path: Path) -> Connections | None:
    """The connections of a my.cnf; None where it does not limit them, or is no my.cnf."""
    try:
        statements, _ = read_statements(path)
    except InputError:
        return None
    server = {plain(one)[0]: one for one in statements if is_server_group(one.group)}
    limit = server.get("max_connections")
    if limit is None or not (limit.value or "").isdigit():
        return None
    sizes = dict(BUFFERS)
    for name in BUFFERS:
        if name in server:
            try:
                sizes[name] = bytes_of(server[name])
            except (InputError, Refused):
                continue
    return Connections(int(limit.value or 0), sum(sizes.values()))
