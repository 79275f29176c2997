"""Whatever a file says, its reader answers with a value or with one line, soon, and without the
secrets in it.

`FUZZ_SECONDS` is how long each reader is tried, `FUZZ_SEED` where the drawing begins; without them
it is a few documents of a fixed seed.
"""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from advisor.errors import InputError, WorkError
from tests.fuzz.mutations import mutated
from tests.fuzz.readers import READERS, SECRET, SECRETS, Reader

DOCUMENTS = 150
MOST_CPU_SECONDS = 5.0
MOST_LETTERS = 5000


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Nothing that a document could name lies here."""
    empty = tmp_path / "empty"
    empty.mkdir()
    monkeypatch.chdir(empty)
    return empty


@pytest.mark.parametrize("name", READERS)
def test_a_reader_answers_any_document_with_a_value_or_one_line(name: str, folder: Path) -> None:
    reader = READERS[name]
    for number in _numbers():
        random = Random(f"{name} {number}")
        document = mutated(random, reader.corpus)
        if reader.secrets:
            document = _with_secrets(random, document)
        wrong = _what_is_wrong(reader, folder, document)
        if wrong:
            kept = folder / "document"
            kept.write_bytes(document)
            pytest.fail(f"{name}, document {number} (in {kept}): {wrong}\n{document[:2000]!r}")


def _numbers() -> Iterator[int]:
    first = int(os.environ.get("FUZZ_SEED", "0"))
    seconds = os.environ.get("FUZZ_SECONDS")
    if seconds is None:
        yield from range(first, first + DOCUMENTS)
        return
    end = time.monotonic() + float(seconds)
    number = first
    while time.monotonic() < end:
        yield number
        number += 1


def _with_secrets(random: Random, document: bytes) -> bytes:
    lines = document.split(b"\n")
    for secret in random.sample(SECRETS, 3):
        lines.insert(random.randrange(len(lines) + 1), secret.encode())
    return b"\n".join(lines)


def _what_is_wrong(reader: Reader, folder: Path, document: bytes) -> str:
    begun = time.process_time()
    try:
        shown = reader.read(folder, document)
    except (InputError, WorkError) as error:
        shown = str(error)
        if not shown.isprintable() or len(shown) > MOST_LETTERS:
            return f"an error of {len(shown)} letters or more than one line: {shown[:500]!r}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:500]
    if SECRET in shown:
        place = shown.index(SECRET)
        return f"a secret is shown: {shown[max(0, place - 100) : place + 50]!r}"
    took = time.process_time() - begun
    return f"it took {took:.1f} s" if took > MOST_CPU_SECONDS else ""
