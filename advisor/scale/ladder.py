"""The rungs of a study: a small copy that many candidates are tried on, and larger ones on which
those that lead have to prove themselves.

What a copy errs by is not known from the copy. It is known from two of them: as long as a larger
copy tells another difference than a smaller one, neither is settled.
"""

from __future__ import annotations

from dataclasses import dataclass

from advisor.scale.factor import MIB, Scale

STEP = 4
"""Data of a rung / data of the rung below."""
RUNGS = 2
"""Of a study: one to search on, one to prove on."""
LONGER = 2.0
"""How many times as often each byte is asked for and overwritten on a rung as on the rung below: a
window that is too short errs as a copy that is too small does, and two rungs tell of both."""
LARGEST_RUNG = 512 * MIB
"""Data of the highest rung, at most: it takes 16 times as long as 32 MiB, and twice its size in
memory."""


@dataclass(frozen=True)
class Ladder:
    """Scales, the smallest first; at least one."""

    rungs: tuple[Scale, ...]

    @classmethod
    def above(cls, lowest: Scale, data_bytes: int, most: int) -> Ladder:
        """At most so many rungs from the lowest on. The last may be the full size, and data that
        fits the lowest has no other."""
        rungs = [lowest]
        while len(rungs) < most and rungs[-1].factor < 1.0:
            higher = Scale(min(1.0, rungs[-1].factor * STEP))
            if higher.size(data_bytes) > LARGEST_RUNG:
                break
            rungs.append(higher)
        return cls(tuple(rungs))

    @property
    def lowest(self) -> Scale:
        return self.rungs[0]

    @property
    def top(self) -> int:
        """The place of the highest rung."""
        return len(self.rungs) - 1

    def work(self, rung: int) -> float:
        """How much longer a trial of a rung is than one of the lowest."""
        return LONGER**rung * self.rungs[rung].factor / self.lowest.factor

    def place(self, factor: float) -> int | None:
        """The rung of a trial at this factor; none if there is none."""
        near = [i for i, one in enumerate(self.rungs) if abs(one.factor / factor - 1.0) < 1e-9]
        return next(iter(near), None)
