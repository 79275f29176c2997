"""Changes to a document, drawn from a seed: bytes, lines, splices, and tokens that readers fear."""

from random import Random

TOKENS = (
    b"", b"\0", b"\n", b"\r", b"\r\n", b"\\", b'"', b"'", b"#", b";", b"=", b"[", b"]", b"{",
    b"}", b"[[", b"{}", b".", b":", b",", b"!", b"!include my.cnf", b"!includedir .",
    b"!include /dev/zero", b"\xff", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\xe2\x80\xa8",
    b"\xd9\xa3", b"\xc2\xb2", b"\x1b[2J", b"\t", b"\x0b", b"\x85", b" " * 300, b"0", b"-0", b"-1",
    b"1e999", b"-1e999", b"nan", b"inf", b"-inf", b"0x" + b"f" * 4000, b"9" * 19, b"9" * 400,
    b"9" * 4301, b"1_0", b"18446744073709551616", b"9223372036854775807", b"2147483648", b"1P",
    b"99999999999P", b"1.5GiB", b"true", b"NULL", b"nullptr", b"x" * 300, b"x" * 5000, b"a." * 40,
    b"[" * 2000, b"{" * 2000, b"{a=" * 500, b"1979-05-27T07:32:00Z", b"07:32:00", b'"""', b"'''",
    b"\\u0000", b"\\ud800", b"loose_", b"skip-", b"subject to", b"<=", b">=", b"and", b"maximize",
    b"us", b"ms", b"GiB", b"%s", b"{0}", b"../", b"~",
)  # fmt: skip
MOST_BYTES = 200_000
MOST_CHANGES = 6


def mutated(random: Random, corpus: list[bytes]) -> bytes:
    """A document of the corpus after a few changes."""
    document = random.choice(corpus)
    for _ in range(random.randint(1, MOST_CHANGES)):
        document = random.choice(_CHANGES)(random, document, corpus)[:MOST_BYTES]
    return document


def _flip(random: Random, document: bytes, corpus: list[bytes]) -> bytes:
    place = _place(random, document)
    byte = bytes([random.randrange(256)])
    return document[:place] + byte + document[place + 1 :]


def _cut(random: Random, document: bytes, corpus: list[bytes]) -> bytes:
    begin, end = sorted((_place(random, document), _place(random, document)))
    return document[:begin] + document[min(end, begin + random.choice((1, 8, 1 << 20))) :]


def _token(random: Random, document: bytes, corpus: list[bytes]) -> bytes:
    place = _place(random, document)
    return document[:place] + random.choice(TOKENS) + document[place:]


def _value(random: Random, document: bytes, corpus: list[bytes]) -> bytes:
    """A token in place of what stands behind an equals sign."""
    places = [place for place, byte in enumerate(document) if byte == ord("=")]
    if not places:
        return _token(random, document, corpus)
    begin = random.choice(places) + 1
    end = document.find(b"\n", begin)
    token = random.choice(TOKENS)
    token = random.choice((token, b" " + token, b'"' + token + b'"'))
    return document[:begin] + token + (document[end:] if end >= 0 else b"")


def _drop_line(random: Random, document: bytes, corpus: list[bytes]) -> bytes:
    lines = document.split(b"\n")
    lines.pop(random.randrange(len(lines)))
    return b"\n".join(lines)


def _repeat_line(random: Random, document: bytes, corpus: list[bytes]) -> bytes:
    lines = document.split(b"\n")
    times = random.choice((1, 1, 2, 300))
    place = random.randrange(len(lines) + 1)
    lines[place:place] = [random.choice(lines)] * times
    return b"\n".join(lines)


def _swap_lines(random: Random, document: bytes, corpus: list[bytes]) -> bytes:
    lines = document.split(b"\n")
    one, other = random.randrange(len(lines)), random.randrange(len(lines))
    lines[one], lines[other] = lines[other], lines[one]
    return b"\n".join(lines)


def _splice(random: Random, document: bytes, corpus: list[bytes]) -> bytes:
    other = random.choice(corpus)
    return document[: _place(random, document)] + other[_place(random, other) :]


def _place(random: Random, document: bytes) -> int:
    return random.randrange(len(document) + 1)


_CHANGES = (
    _flip, _cut, _token, _value, _value, _drop_line, _repeat_line, _swap_lines, _splice,
)  # fmt: skip
