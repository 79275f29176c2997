"""One process at a time runs a study or a sweep of a results file. The lease is a file beside the
results, held for the life of the run (`holding`); reading a study needs none."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from advisor import holding
from advisor.errors import InputError


@contextmanager
def leased(results: Path, study: str, kind: str = "study") -> Iterator[None]:
    """Inside the block nobody else runs this study, or another kind of work of that name. Raises
    `InputError` that names the process that does, or for a place where no lease can be kept."""
    path = lease_path(results, study)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        hold = holding.take(path)
    except holding.Held as held:
        raise InputError(
            results, study, f"a {kind} that {held} is running", "its end, or another name"
        ) from held
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InputError(
            path, None, reason, "a folder where files can be made and locked"
        ) from error
    try:
        yield
    finally:
        hold.release()


def lease_path(results: Path, study: str) -> Path:
    """Where the lease lies: a name of fixed length, because a study's may have any."""
    real = results.resolve()
    digest = hashlib.sha256(study.encode(errors="surrogatepass")).hexdigest()[:16]
    return real.with_name(f".{real.name}-{digest}.lease")
