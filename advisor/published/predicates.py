"""What a claim may ask of the simulated figures, in pieces. Each answers None where one
is missing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise

from advisor.published.experiment import label

Values = Mapping[str, float | None]
"""Simulated figures by the name of their row."""
Predicate = Callable[[Values], bool | None]

NEAR = 0.2
"""How far off a figure may be that a post gives as `about`: no post says how far it means."""
NOISE = 0.02
"""Of a rate that is said to stay or to fall: no step of less is one."""


def over(test: Callable[..., bool], *rows: str) -> Predicate:
    """The test over these rows' figures, or None where one of them is missing."""

    def asked(values: Values) -> bool | None:
        figures = [values.get(row) for row in rows]
        return None if None in figures else test(*figures)

    return asked


def every(*predicates: Predicate) -> Predicate:
    """False if one fails, None if none fails and one has no answer."""

    def asked(values: Values) -> bool | None:
        answers = [predicate(values) for predicate in predicates]
        if False in answers:
            return False
        return None if None in answers else True

    return asked


def between(low: float, high: float, *rows: str) -> Predicate:
    """Each of the rows."""
    return over(lambda *figures: all(low <= figure <= high for figure in figures), *rows)


def near(wanted: float, row: str) -> Predicate:
    """About so much."""
    return between(wanted * (1 - NEAR), wanted * (1 + NEAR), row)


def ahead_by(share: float, row: str) -> Predicate:
    """A ratio above 1 by about this share: it is the share that is judged, since a fifth of the
    whole ratio would be most of it."""
    return between(1 + share * (1 - NEAR), 1 + share * (1 + NEAR), row)


def at_least(low: float, row: str) -> Predicate:
    """No less."""
    return over(lambda figure: figure >= low, row)


def more_than(low: float, row: str) -> Predicate:
    """More, and not as much."""
    return over(lambda figure: figure > low, row)


def of(metric: str, *runs: str) -> tuple[str, ...]:
    """The rows of a metric for these runs."""
    return tuple(label(metric, run) for run in runs)


def descending(*rows: str) -> Predicate:
    """Strictly from the first to the last."""
    return over(lambda *figures: all(one > two for one, two in pairwise(figures)), *rows)


def smallest(metric: str, run: str, *others: str) -> Predicate:
    """The run has less of it than each other one."""
    return every(*(descending(*of(metric, other, run)) for other in others))


def largest(metric: str, run: str, *others: str) -> Predicate:
    """The run has more of it than each other one."""
    return every(*(descending(*of(metric, run, other)) for other in others))


def rising(*figures: float) -> bool:
    """At each step."""
    return all(two > one for one, two in pairwise(figures))


def falling(*figures: float) -> bool:
    """All in all, and at no step up by more than noise."""
    steps = pairwise(figures)
    return figures[-1] < figures[0] and all(two <= (1 + NOISE) * one for one, two in steps)


def saturated(first: float, *rest: float) -> bool:
    """No level is above the first by more than `about` hides."""
    return max(rest) <= first * (1 + NEAR)


def growing(first: float, *rest: float) -> bool:
    """At each step, and in all by more than a series that is saturated may."""
    return rising(first, *rest) and not saturated(first, *rest)


def peaks_at(place: int) -> Callable[..., bool]:
    """The largest figure is the one at this place."""
    return lambda *figures: figures.index(max(figures)) == place
