"""How well the first tier of a search predicts simulated trials, and what its proposals are worth:
`python -m tests.calibration.first_tier FOLDER [PROFILE ...]`.

For each profile and engine, 60 random settings are simulated and kept in FOLDER. The closed forms
are corrected by 12 of them and asked to rank the other 48; their best of 6 proposals stands beside
the best of 6 and of 48 random ones.
"""

from __future__ import annotations

import json
import random
import statistics
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np

from advisor import profile as profiles
from advisor.analytic import FirstTier
from advisor.evaluate import Setup, choose_scale, evaluate
from advisor.goal import Goal, parse_goal
from advisor.knobs import ENGINES, Engine, Settings
from advisor.profile import Profile
from advisor.search import Question
from advisor.search.fit import space_of
from advisor.search.plan import Bounds
from advisor.search.seeds import seeds
from advisor.search.space import Space
from advisor.trial import Trial

DRAWN, LEARNT, PROPOSED = 60, 12, 6
SECONDS = 1.25
PROFILES = ("linkbench", "ycsb-a", "ycsb-b", "fillrandom")
MACHINE = "nvme-2024"
METRICS = ("ops_per_s", "write_kb_per_op", "reads_per_op", "cpu_us_per_op")
AT_ONCE = 2


def main() -> None:
    folder, *names = sys.argv[1:]
    for name in names or PROFILES:
        profile = profiles.load(name).with_changes(hardware=MACHINE)
        for engine in ENGINES:
            judge(profile, engine, Path(folder))


def judge(profile: Profile, engine: Engine, folder: Path) -> None:
    """Prints what the first tier is worth on one profile and engine."""
    space, setup = space_for(profile, engine), setup_for(profile)
    path = folder / f"{profile.name}-{engine}.json"
    trials = [one for one in simulated(setup, engine, draws(space, DRAWN, 1), path) if one.finished]
    learnt, others = trials[:LEARNT], trials[LEARNT:]
    tier = FirstTier.of(profile, engine)
    assert tier is not None
    print(f"{profile.name} {engine}: {len(trials)} of {DRAWN} finished")
    for metric in METRICS:
        own = FirstTier(tier.model, Goal(metric))
        corrections = own._corrections(learnt)
        if metric not in corrections:
            continue
        found = corrections[metric]
        told = [one for one in others if metric in one.metrics]
        seen = [one.metrics[metric] for one in told]
        raw = own._predicted(told)
        error = own.error(learnt)
        print(
            f"  {metric}: raw {spearman(raw[metric].tolist(), seen):.2f},"
            f" corrected {spearman(found.log(raw).tolist(), seen):.2f},"
            f" left out: median {error.median:.0%} worst {error.worst:.0%}"
            f" rms {error.rms:.2f} of {error.blind:.2f}, telling {error.is_telling}"
        )
    goal = parse_goal("maximize ops_per_s")
    tier = FirstTier(tier.model, goal)
    values = {axis.name: axis.values for axis in space.axes}
    proposals = tier.propose(values, learnt, count=PROPOSED, seed=1)
    path = folder / f"{profile.name}-{engine}-proposed.json"
    asked = [space.raised(one) for one in proposals.settings]
    tried = [one for one in simulated(setup, engine, asked, path) if one.finished]

    def score(trial: Trial) -> float:
        return trial.metrics["ops_per_s"]

    random_best = [max(map(score, random.Random(i).sample(others, PROPOSED))) for i in range(200)]
    print(
        f"  proposals: best {max(map(score, tried), default=0):.0f} of"
        f" {[round(score(one)) for one in tried]}; random: best of 6 "
        f"{statistics.median(random_best):.0f}, of {len(others)} {max(map(score, others)):.0f},"
        f" of the {len(learnt)} learnt from {max(map(score, learnt)):.0f}",
        flush=True,
    )


def space_for(profile: Profile, engine: Engine) -> Space:
    """The space of a study."""
    question = Question(profile, engines=(engine,), clock="simulated").settled(Bounds(), None)
    return space_of(question, engine, seeds(question), choose_scale(profile))


def setup_for(profile: Profile) -> Setup:
    return Setup(profile, choose_scale(profile), SECONDS, "simulated")


def draws(space: Space, count: int, seed: int) -> list[Settings]:
    """Random settings that fit the memory."""
    draw, found = random.Random(seed), []
    while len(found) < count:
        places = {axis.name: draw.randrange(len(axis.values)) for axis in space.axes}
        settings = space.decode(places)
        if space.memory_excess(settings) <= 0:
            found.append(settings)
    return found


def simulated(
    setup: Setup, engine: Engine, settings: Sequence[Settings], path: Path
) -> list[Trial]:
    """Trials of these settings, in their order; those that a file holds are not made again."""
    known = json.loads(path.read_text()) if path.exists() else []
    kept = {json.dumps(one["settings"], sort_keys=True): one for one in known}

    def made(own: Settings) -> dict[str, object]:
        key = json.dumps(dict(own), sort_keys=True)
        if key not in kept:
            trial = evaluate(setup, engine, own, seed=1)
            kept[key] = {
                "settings": dict(own),
                "outcome": trial.outcome,
                "metrics": dict(trial.metrics),
                "steady": trial.steady,
                "wall_seconds": trial.wall_seconds,
            }
        return kept[key]

    with ThreadPoolExecutor(AT_ONCE) as threads:
        found = list(threads.map(made, settings))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(list(kept.values())))
    blank = Trial(engine, {}, "search", "finished", 1, "simulated", SECONDS, setup.scale.factor)
    return [replace(blank, **one) for one in found]


def spearman(first: Sequence[float], second: Sequence[float]) -> float:
    """Correlation of ranks."""
    ranks = [np.argsort(np.argsort(np.asarray(own))) for own in (first, second)]
    return float(np.corrcoef(ranks)[0, 1])


if __name__ == "__main__":
    main()
