"""A robustness in sentences and cells, as terminal, report and page show it."""

from __future__ import annotations

from advisor.goal import described
from advisor.recommend import Comparison, wording
from advisor.robust.neighbours import NOMINAL
from advisor.robust.outcome import MOST_LOSS, Robustness
from advisor.robust.tried import Tried
from advisor.sizes import format_factor

OUT = "breaks a limit"


def cell(found: Robustness, one: Tried, point: int) -> str:
    """What a candidate has of the best at a point: `98%`, or why it counts as the worst."""
    if why := one.why_not(point):
        return why.partition(":")[0]
    return OUT if found.is_out(one, point) else wording.percent(found.part(one, point))


def worst_cell(found: Robustness, one: Tried) -> str:
    """The worst of a row, and where it is."""
    point = found.worst(one)
    return f"{cell(found, one, point)} {_at(found, point)}"


def head(found: Robustness) -> str:
    """What the cells are, and how they came about."""
    runs = len(found.recommended.runs[0])
    metric = found.goal.metric
    return (
        f"{metric} ({described(metric).unit}), as a part of the best at each point: {_runs(runs)} "
        f"of each with seeds of their own, simulated, at {format_factor(found.scale)} of the data"
    )


def sentences(found: Robustness) -> list[str]:
    """The worst case of what is recommended, the robust choice, what that loses and gains, and what
    was not run."""
    told = [f"Recommended: {_worst(found, found.recommended)}."]
    elsewhere = [
        point.name
        for at, point in enumerate(found.points)
        if at != found.worst(found.recommended) and found.recommended.why_not(at)
    ]
    if elsewhere:
        told.append(f"It does not run at {' and '.join(elsewhere)} either.")
    told += [_out_of_reach(found, point) for point in found.out_of_reach]
    for one in found.refuted:
        told.append(
            f"{one.contender.name} looked better; against the recommended settings, "
            f"{_kind(one)}, it is not (a loss of at most {wording.percent(MOST_LOSS)} {NOMINAL}, "
            f"a gain at the worst neighbour): {'; '.join(_held(found, one))}."
        )
    choice = found.choice
    if choice is found.recommended:
        told.append(
            f"They are the robust choice: nobody who loses at most {wording.percent(MOST_LOSS)} "
            f"{NOMINAL} has a worst case that is better by more than noise"
            f"{' and borne out' if found.refuted else ''}."
        )
    else:
        told.append(
            f"Robust choice: {choice.contender.name}; {_worst(found, choice)}. Against the "
            f"recommended settings, {_kind(choice)}:"
        )
        told += [f"{sentence}." for sentence in _held(found, choice)]
    rival = found.minimax
    if found.nominal_loss(rival) > MOST_LOSS:
        told.append(
            f"{rival.contender.name} has the best worst case ({worst_cell(found, rival)}), but "
            f"loses {wording.percent(found.nominal_loss(rival))} {NOMINAL}, more than "
            f"{wording.percent(MOST_LOSS)}."
        )
    told.append(_noise(found))
    if found.no_mix:
        told.append(f"No neighbour has another mix: {found.no_mix}.")
    told += [
        f"{point.name} is at a divergence of {point.divergence:.2f} from the mix {NOMINAL}, of "
        f"at most {found.radius:g}."
        for point in found.points
        if point.divergence is not None
    ]
    return [*told, *_not_run(found)]


def in_short(found: Robustness) -> list[str]:
    """What the head of a written file says of the robust choice."""
    name = found.choice.contender.name
    told = [f"Robust choice: {name}. Against the recommended settings:"]
    return told + [f"{sentence}." for sentence in _held(found, found.choice)]


def _held(found: Robustness, one: Tried) -> list[str]:
    """A candidate against what is recommended, point by point."""
    told = []
    for at in found.decisive(one):
        where = ", where these are worst" if at == found.stake(one) else ""
        told.append(f"{found.points[at].name}{where}: {_against(found, one, at)}")
    return told


def _out_of_reach(found: Robustness, point: int) -> str:
    """What a point that decides nothing would cost."""
    name = found.points[point].name
    known = [one for one in found.tried if found.part(one, point) > 0.0 and one.at(0) is not None]
    if not known:
        return f"{name} decides nothing: nobody runs there."
    cost = wording.percent(min(found.nominal_loss(one) for one in known))
    return (
        f"{name} decides nothing: nobody who loses at most {wording.percent(MOST_LOSS)} {NOMINAL} "
        f"runs there; to run there costs at least {cost}."
    )


def _noise(found: Robustness) -> str:
    """What may be chance at each point."""
    runs = len(found.recommended.runs[0])
    bounds = [
        f"{wording.percent(found.noise(at).bound(runs, runs))} {_at(found, at)}"
        for at in range(len(found.points))
        if any(one.at(at) is not None for one in found.tried)
    ]
    return f"Noise explains differences of up to {', '.join(bounds)}."


def _worst(found: Robustness, one: Tried) -> str:
    point = found.worst(one)
    where = _at(found, point)
    if why := one.why_not(point):
        last = one.runs[point][-1]
        because = f" ({last.error.partition(':')[0]})" if last.error and "fit" in why else ""
        return f"worst {where}, where it {why}{because}"
    if found.is_out(one, point):
        return f"worst {where}, where it {OUT} that others keep"
    return f"worst {where}, with {wording.percent(found.part(one, point))} of the best there"


def _against(found: Robustness, one: Tried, point: int) -> str:
    """A candidate beside what is recommended at a point."""
    comparison = found.against_recommended(one, point)
    if comparison is not None:
        broken = found.is_out(found.recommended, point)
        more = f"; the recommended one {OUT} that others keep" if broken else ""
        return _settled(found, comparison, point) + more
    here = one.after(point) or one.at(point)
    score = here.score(found.goal) if here is not None else None
    why = found.recommended.why_not(point)
    if score is None:
        return "neither runs there" if why else f"it {one.why_not(point)}"
    reached = wording.metric(found.goal.metric, score)
    told = f"{reached} {found.goal.metric}; the recommended one {why}"
    fitted = found.against_fitted(one, point)
    if fitted is None:
        return told
    other, comparison = fitted
    gain = _settled(found, comparison, point)
    return f"{told}; against {other.contender.name}, in the table: {gain}"


def _settled(found: Robustness, comparison: Comparison, point: int) -> str:
    """A comparison, and whether it may be the loss or the gain that it is taken for."""
    told = comparison.words(found.goal)
    if point != 0:
        return f"not settled, {told}" if comparison.within_noise else told
    most = comparison.bound + comparison.scale_error - comparison.gain
    if -comparison.gain <= MOST_LOSS < most:
        told += f"; that it loses no more than {wording.percent(MOST_LOSS)} is not settled"
    return told


def _at(found: Robustness, point: int) -> str:
    name = found.points[point].name
    return name if name == NOMINAL else f"at {name}"


def _kind(one: Tried) -> str:
    made = one.after(0)
    if made is None:
        return "in the same runs"
    scale = format_factor(made.trials[0].scale)
    counts = sorted(len(trials) for trials in one.again.values())
    told = f"{counts[0]} to {_runs(counts[-1])}" if counts[0] < counts[-1] else _runs(counts[0])
    return f"in {told} of each after the choice, at {scale} of the data"


def _not_run(found: Robustness) -> list[str]:
    told = []
    unsteady = sum(
        trial.steady is False for one in found.tried for runs in one.runs for trial in runs
    )
    if unsteady:
        told.append(f"{_runs(unsteady)} of the table were not yet steady.")
    failed = {
        f"{one.contender.name} at {found.points[point].name}: {one.why_not(point)}."
        for one in found.tried
        for point in range(len(found.points))
        if one.why_not(point).startswith("failed")
    }
    told += sorted(failed)
    if found.ending != "complete":
        told.append(f"It was {found.ending}: neighbours that are missing were not run.")
    return told


def _runs(count: int) -> str:
    return "1 run" if count == 1 else f"{count} runs"
