"""A study's file beside random ones on a real RocksDB:
`python -m tests.calibration.random_files STUDY --results FILE --rocksdb JAR`.

The random settings are of the study's own space and fit its memory.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from advisor.evaluate import choose_scale
from advisor.real import judge_of
from advisor.recommend import recommend
from advisor.search import Study
from advisor.search.fit import space_of
from advisor.search.seeds import seeds
from advisor.store import Store
from advisor.verify import Limits, contenders, decided, errors_so_far, verify
from advisor.verify.contenders import Contender
from tests.support.draws import draws
from tui import problem
from tui.verify_report import print_verification

SEED = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("study")
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--rocksdb", type=Path, help="of `tunebench verify`")
    parser.add_argument("--minutes", type=float, default=25.0)
    parser.add_argument("--data", help="of `tunebench verify`")
    parser.add_argument("--count", type=int, default=16)
    asked = parser.parse_args()
    store = Store(asked.results)
    study = Study.load(asked.study, store)
    advice = decided(study, recommend(study, measure=False, engine="lsm"))
    space = space_of(study.question, "lsm", seeds(study.question), choose_scale(study.profile))
    drawn = draws(space, asked.count, SEED)
    verification = verify(
        study.name,
        problem.predictable(study.profile, None),
        [
            *contenders(study, advice, runners_up=0, lines=False),
            *(Contender(f"random {i}", "lsm", one) for i, one in enumerate(drawn, 1)),
        ],
        judge_of("lsm", study.profile.workload, asked.rocksdb, None),
        store,
        Limits(asked.minutes, problem.size_of("--data", asked.data) if asked.data else None),
        on_event=lambda event: print(event.what, event.contender, event.round, flush=True),
    )
    print_verification(verification, errors_so_far(store, "RocksDB"))


if __name__ == "__main__":
    main()
