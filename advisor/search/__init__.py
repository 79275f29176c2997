"""The search for the best engine and settings.

question = Question(profile, current={engine: settings})
study = Study("mine", question, Store(), bounds=Bounds(trials=40), watcher=print)
study.run()
"""

from advisor.search.events import (
    BestChanged,
    Ending,
    Event,
    IntervalSeen,
    StudyFinished,
    TrialFinished,
    TrialStarted,
    Watcher,
)
from advisor.search.fit import refuse_unanswerable, smallest_memory
from advisor.search.plan import Bounds
from advisor.search.question import Question, stored_question
from advisor.search.ranking import VERDICT_RUNS, Candidate
from advisor.search.study import Study

__all__ = [
    "VERDICT_RUNS",
    "BestChanged",
    "Bounds",
    "Candidate",
    "Ending",
    "Event",
    "IntervalSeen",
    "Question",
    "Study",
    "StudyFinished",
    "TrialFinished",
    "TrialStarted",
    "Watcher",
    "refuse_unanswerable",
    "smallest_memory",
    "stored_question",
]
