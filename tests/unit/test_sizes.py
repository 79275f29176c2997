import random

import pytest

from advisor.sizes import exact_suffix, format_factor, format_size, parse_size


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("0", 0),
        ("4096", 4096),
        ("512B", 512),
        ("64k", 65536),
        ("16M", 16 << 20),
        ("16MiB", 16 << 20),
        ("16 mib", 16 << 20),
        ("1.5GiB", 3 << 29),
        ("8GB", 8_000_000_000),
        ("1T", 1 << 40),
    ],
)
def test_sizes_are_read_as_people_write_them(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "M", "-1", "1Q", "16iB", "1,5G", "0.3B", "1e3", "16 M i B"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a"):
        parse_size(text)


def test_round_sizes_are_shown_exactly() -> None:
    for size in (512, 4096, 64 << 20, 3 << 29, 20 << 30, 1 << 40):
        assert parse_size(format_size(size)) == size


def test_shown_sizes_are_within_half_a_percent() -> None:
    draw = random.Random(1)
    for _ in range(2000):
        size = int(2 ** draw.uniform(0, 50))
        assert abs(parse_size(format_size(size)) - size) <= size * 0.005 + 1


def test_a_factor_near_one_is_not_shown_as_one() -> None:
    shown = [format_factor(factor) for factor in (0.75, 1 / 8, 0.03, 1 / 32_000)]
    assert shown == ["1/1.33", "1/8", "1/33", "1/32,000"]


def test_a_suffix_is_used_only_where_it_is_exact() -> None:
    assert [exact_suffix(size) for size in (0, 1, 1024, 1536, 1 << 20, 5 << 30)] == [
        "0",
        "1",
        "1K",
        "1536",
        "1M",
        "5G",
    ]
