"""What the reports draw of single runs. A study that is taken up reads no intervals: they may be by
far the most of what it has stored."""

from __future__ import annotations

from dataclasses import replace

from advisor.recommend.recommendation import Recommendation
from advisor.store import Store
from advisor.trial import Trial, settings_key


def with_intervals(advice: Recommendation, store: Store) -> Recommendation:
    """The advice, its trials of what is compared with the intervals that they measured."""
    compared = {settings_key(one.engine, one.settings) for one in advice.columns}
    shown = [one for one in advice.trials if settings_key(one.engine, one.settings) in compared]
    shown += [trial for column in advice.columns for trial in column.trials]
    whole = store.intervals([trial.id for trial in shown if not trial.intervals])

    def full(trials: tuple[Trial, ...]) -> tuple[Trial, ...]:
        return tuple(
            replace(one, intervals=whole[one.id]) if one.id in whole else one for one in trials
        )

    columns = tuple(replace(column, trials=full(column.trials)) for column in advice.columns)
    return replace(advice, trials=full(advice.trials), columns=columns)
