"""The SQL server around an engine, as it takes memory."""

from __future__ import annotations

from advisor.engines.description import Load, Part
from advisor.engines.numbers import MIB

SERVER_BYTES = 84 * MIB
"""A mariadbd 10.11 without its buffer pool, idle, with its code; the performance schema, which it
leaves off, would take as much again."""

CONNECTION_BYTES = 292 * 1024 + 16 * 1024 + 128 * 1024
"""Thread stack, network buffer and read buffer of one connection, at MariaDB 10.11's defaults."""


def server_parts(load: Load, own_bytes: int = SERVER_BYTES) -> list[Part]:
    """Of a server that takes so much by itself, with the connections of the load."""
    return [
        Part("connections", (), load.clients * CONNECTION_BYTES),
        Part("server", (), own_bytes),
    ]
