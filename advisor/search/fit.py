"""Whether a question's memory holds any settings that its study would try, and how much would.

What a study tries is its seeds and the space around them. Where no seed fits, it starts from the
leanest settings of the space: those that need the least memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from advisor.errors import InputError
from advisor.evaluate import choose_scale, fits_memory, needed_memory
from advisor.goal import FLASH_METRICS, REAL_METRICS
from advisor.knobs import Engine, Setting, catalogue
from advisor.memory import MIB
from advisor.scale import Scale
from advisor.search.question import Question
from advisor.search.seeds import Seed, seeds
from advisor.search.space import Space, space
from advisor.sizes import format_size, size_to_type

LEAN = "the least memory"
"""What the leanest settings are called, as a rule of thumb."""


def space_of(question: Question, engine: Engine, own: Sequence[Seed], scale: Scale) -> Space:
    """The space of an engine around the base of a settled question and its seeds."""
    profile = question.profile
    return space(
        engine,
        question.base(engine),
        memory=profile.memory_bytes,
        data=profile.data_bytes,
        need=lambda settings: needed_memory(profile, engine, settings),
        scale=scale,
        opened=[name for name in question.opened if name in catalogue(engine)],
        fixed=question.unsearched(engine),
        anchors=[seed.settings for seed in own if seed.engine == engine],
    )


def leanest(space: Space) -> dict[str, Setting]:
    """The settings of a space that need the least memory: knob after knob takes the value that
    needs least beside the others, until none gives anything more."""
    places = {axis.name: 0 for axis in space.axes}
    need = space.need(space.decode(places))
    while True:
        before = need
        for axis in space.axes:
            for place in range(len(axis.values)):
                other = places | {axis.name: place}
                if (lower := space.need(space.decode(other))) < need:
                    places, need = other, lower
        if need == before:
            return space.decode(places)


def lean_seed(question: Question, engine: Engine, own: Sequence[Seed], space: Space) -> Seed | None:
    """The leanest settings, where they fit the memory and no seed of the engine does."""
    profile = question.profile
    if any(seed.engine == engine and _fits(question, seed) for seed in own):
        return None
    lean = Seed(engine, "rule", leanest(space), LEAN)
    return lean if fits_memory(profile, engine, lean.settings) else None


def smallest_memory(question: Question, engine: Engine) -> int:
    """The least memory, in whole MiB, that holds settings which a study of this engine would
    try."""
    low, high = 0, 1
    while not _answerable(_with_memory(question, high * MIB), engine):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if _answerable(_with_memory(question, middle * MIB), engine):
            high = middle
        else:
            low = middle
    return high * MIB


def refuse_unanswerable(question: Question, source: str = "profile") -> None:
    """Raises `InputError` where no trial would measure the goal, and where an engine of the
    question has no settings that fit the memory, with the smallest memory that would do."""
    metrics = question.profile.goal.metrics
    if of_real := [name for name in metrics if name in REAL_METRICS]:
        found = f"a goal of {of_real[0]}, which real engines alone tell"
        raise InputError(source, "goal", found, "a metric of a study's trials")
    asked = [name for name in metrics if name in FLASH_METRICS]
    if asked and question.clock != "simulated":
        found = f"a goal of {asked[0]} in trials that are {question.clock}"
        raise InputError(source, "goal", found, "trials that are simulated, or another goal")
    engines = question.engines or question.profile.engines
    if all(_answerable(question, engine) for engine in engines):
        return
    least = {engine: smallest_memory(question, engine) for engine in engines}
    each = ", ".join(f"{engine} {size_to_type(size)}" for engine, size in least.items())
    found = f"{format_size(question.profile.memory_bytes)}, in which no settings fit"
    accepted = f"at least {size_to_type(max(least.values()))}"
    raise InputError(
        source, "memory", found, f"{accepted} ({each})" if len(least) > 1 else accepted
    )


def _answerable(question: Question, engine: Engine) -> bool:
    own = seeds(replace(question, engines=(engine,)))
    if any(_fits(question, seed) for seed in own):
        return True
    around = space_of(question, engine, own, choose_scale(question.profile))
    return lean_seed(question, engine, own, around) is not None


def _fits(question: Question, seed: Seed) -> bool:
    return fits_memory(question.profile, seed.engine, seed.settings)


def _with_memory(question: Question, memory: int) -> Question:
    return replace(question, profile=question.profile.with_changes(memory=memory))
