"""What compression saves and costs, for settings side by side: codecs are columns of places in
`CODECS`."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from advisor.analytic.columns import Numbers
from advisor.analytic.demand import Demand

CODECS = ("none", "snappy", "lz4", "zstd", "zlib")
PLACES = {
    "kSnappyCompression": 1,
    "kLZ4Compression": 2,
    "kZSTD": 3,
    "kZlibCompression": 4,
    "snappy": 1,
    "lz4": 2,
    "zstd": 3,
    "zlib": 4,
}
"""Of the names of both engines; any other is no compression."""
SAVED_BY_A_MATCH = 20.0
"""Bytes. db_bench's values, which become half: 4 matches in 176 bytes."""


def place(name: object) -> int:
    """The codec that a setting names."""
    return PLACES.get(str(name), 0)


def ratio(codec: Numbers, demand: Demand) -> Numbers:
    """Bytes that remain of each."""
    return _pick(codec, demand.compressed)


def zip_ns(codec: Numbers, unit: Numbers, demand: Demand, prices: Mapping[str, float]) -> Numbers:
    """Nanoseconds that it takes to compress units, which are blocks or pages, of so many bytes."""
    byte = {
        "none": 0.0,
        "snappy": prices["compress_fast_byte"] + prices["snapped_byte"],
        "lz4": prices["compress_fast_byte"],
        "zstd": prices["compress_zstd_byte"],
        "zlib": prices["compress_zlib_byte"] + prices["zipped_byte"],
    }
    whole = {
        "none": 0.0,
        "snappy": 0.0,
        "lz4": 0.0,
        "zstd": prices["compress_zstd_block"],
        "zlib": prices["compress_zlib_block"] + prices["zipped_block"],
    }
    match = dict.fromkeys(CODECS, 0.0) | {
        "snappy": prices["compress_fast_match"] + prices["snapped_match"],
        "lz4": prices["compress_fast_match"],
    }
    matches = (1.0 - ratio(codec, demand)) * unit / SAVED_BY_A_MATCH
    return _pick(codec, byte) * unit + _pick(codec, match) * matches + _pick(codec, whole)


def unzip_ns(codec: Numbers, unit: Numbers, prices: Mapping[str, float]) -> Numbers:
    """The way back."""
    byte = {
        "none": 0.0,
        "snappy": prices["decompress_fast_byte"] + prices["unsnapped_byte"],
        "lz4": prices["decompress_fast_byte"],
        "zstd": prices["decompress_zstd_byte"],
        "zlib": prices["decompress_zlib_byte"] + prices["unzipped_byte"],
    }
    zlib_block = prices["decompress_zlib_block"] + prices["unzipped_block"]
    whole = dict.fromkeys(CODECS, 0.0) | {"zlib": zlib_block}
    return _pick(codec, byte) * unit + _pick(codec, whole)


def _pick(codec: Numbers, by_codec: Mapping[str, float]) -> Numbers:
    return np.array([by_codec[name] for name in CODECS])[codec.astype(np.intp)]
