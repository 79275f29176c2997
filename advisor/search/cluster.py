"""Trials on a Dask cluster, whose workers have this program installed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from advisor import core
from advisor.errors import InputError, WorkError
from advisor.search.runner import Afar

OPTION = "--cluster"
PATIENCE_S = 10


@contextmanager
def connected(address: str | None) -> Iterator[Afar | None]:
    """The workers of the cluster whose scheduler is at `address`, such as `tcp://10.0.0.1:8786`;
    None without an address.

    Raises `InputError` where the extra is not installed, where nobody answers, and for workers that
    have another version of the core, or none.
    """
    if address is None:
        yield None
        return
    try:
        from distributed import Client
    except ImportError as error:
        accepted = "the extra that it needs: pip install 'tunebench[cluster]'"
        raise InputError(OPTION, None, f"{address}, without distributed", accepted) from error
    client: Any
    try:
        client = Client(  # type: ignore[no-untyped-call]
            address, timeout=PATIENCE_S, set_as_default=False
        )
    except (OSError, ValueError, TypeError) as error:
        accepted = "the address of a Dask scheduler, such as tcp://127.0.0.1:8786"
        raise InputError(OPTION, None, f"no answer from {address}", accepted) from error
    with client:
        workers = sum(client.nthreads().values())
        if not workers:
            raise InputError(OPTION, None, f"{address} without workers", "one worker or more")
        _refuse_others(client.run(_version), address)
        # Trials of the same settings are looks of their own.
        yield Afar(client.get_executor(pure=False), workers)


def _version() -> str:
    try:
        return core.load().VERSION
    except WorkError:
        return "none"


def _refuse_others(versions: dict[str, str], address: str) -> None:
    mine = core.load().VERSION
    others = {worker: version for worker, version in versions.items() if version != mine}
    for worker, version in others.items():
        found = f"core {version} on {worker} of {address}"
        raise InputError(OPTION, None, found, f"core {mine}, as here")
