"""Mixes of operations near a workload's own: those within a ball of the Kullback-Leibler
divergence, as Endure's uncertain workloads are (Huynh, Chaudhari, Terzi, Athanassoulis, VLDB 2022).

Where the shares are parameters, the corners of the ball run: for each operation the mix that has
most of it. Where a program's mixes are fixed files, those of its other files that lie in the ball.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from advisor.analytic.demand import LINKBENCH_SHARES, YCSB_SHARES
from advisor.workload import Workload

RADIUS = 1.0
"""A choice of ours, in nats. Endure's authors look at 0 to 4 in their model and tune RocksDB for
0.25 and 0.5 (BU-DiSC/endure: `rho_low` and `rho_high` of its configuration, `wl_rhos` of its
experiment 5); its code has no default. The two mixes of LinkBench lie 0.64 apart, and YCSB's B lies
0.49 from A, A 0.83 from B."""

Shares = Mapping[str, float]

WHOLE = 1_000_000
"""What the shares of a mix that is made add up to: a parameter's largest number."""
STEPS = 60
"""Halvings of the interval in which a share is looked for: more than a float has digits."""

_PARTS = {"key_value": ("reads", "overwrites", "inserts", "scans")}
"""Parameters that are the shares of a workload's operations."""
_FILES = {"linkbench": LINKBENCH_SHARES, "ycsb": YCSB_SHARES}
"""The fixed mixes of a program, by the values of its parameter `mix`."""


@dataclass(frozen=True)
class Mix:
    """A workload whose mix is another."""

    name: str
    workload: Workload
    divergence: float
    """From the workload's own mix."""


def divergence(one: Shares, other: Shares) -> float:
    """Kullback-Leibler divergence of one mix from the other, in nats: infinite where it has
    operations that the other never makes."""
    total = 0.0
    for name, share in one.items():
        if share == 0.0:
            continue
        expected = other.get(name, 0.0)
        if expected == 0.0:
            return math.inf
        total += share * math.log(share / expected)
    return max(0.0, total)


def corner(shares: Shares, most: str, radius: float) -> dict[str, float]:
    """The mix within a radius that has most of one operation.

    Of all mixes at most so far away the largest mean of any function c is that of the tilted one,
    whose shares are in proportion to p exp(t c) (Ben-Tal et al., Management Science 59, 2013, on
    which Endure's dual stands). Here c is 1 for one operation, so that the others keep
    their proportions, and the divergence is a log(a / p) + (1 - a) log((1 - a) / (1 - p)) of its
    share a, which grows with a up to log(1 / p).
    """
    own = shares[most]

    def far(share: float) -> float:
        rest = 1.0 - share
        left = rest * math.log(rest / (1.0 - own)) if rest > 0.0 else 0.0
        return share * math.log(share / own) + left

    low, high = own, 1.0
    if own < 1.0 and far(high) > radius:
        for _ in range(STEPS):
            middle = (low + high) / 2
            low, high = (middle, high) if far(middle) <= radius else (low, middle)
        high = low
    rest = (1.0 - high) / (1.0 - own) if own < 1.0 else 0.0
    return {name: high if name == most else share * rest for name, share in shares.items()}


def mixes(workload: Workload, radius: float) -> tuple[list[Mix], str]:
    """The mixes of a workload's neighbours, or none and why."""
    if workload.kind in _PARTS:
        return _corners(workload, radius)
    if workload.kind in _FILES:
        return _shipped(workload, radius)
    return [], f"the operations of {workload.kind} have no shares that could shift"


def _corners(workload: Workload, radius: float) -> tuple[list[Mix], str]:
    names = _PARTS[workload.kind]
    if _parameter(workload, "writers"):
        return [], "readers and writers are clients of their own, so that no shares mix them"
    weights = {name: float(_parameter(workload, name)) for name in names}
    total = sum(weights.values())
    own = {name: weight / total for name, weight in weights.items() if weight}
    if len(own) < 2:
        return [], "all of its operations are of one kind"
    found = []
    for most in own:
        made = corner(own, most, radius)
        parts = {name: round(WHOLE * made.get(name, 0.0)) for name in names}
        share = 100 * parts[most] / WHOLE
        found.append(
            Mix(
                f"{share:.3g}% {most}",
                Workload.model_validate({"kind": workload.kind, **workload.parameters, **parts}),
                divergence({name: part / WHOLE for name, part in parts.items()}, own),
            )
        )
    return found, ""


def _shipped(workload: Workload, radius: float) -> tuple[list[Mix], str]:
    known = _FILES[workload.kind]
    own = known[str(_parameter(workload, "mix"))]
    found = []
    for name, shares in known.items():
        far = divergence(shares, own)
        if shares is not own and far <= radius:
            parameters = {**workload.parameters, "mix": name}
            changed = Workload.model_validate({"kind": workload.kind, **parameters})
            found.append(Mix(f"mix {name}", changed, far))
    why = f"no other mix of {workload.kind} lies within a divergence of {radius:g}"
    return found, "" if found else why


def _parameter(workload: Workload, name: str) -> int | float | bool | str:
    return workload.parameters.get(name, workload.info.parameters[name].default)
