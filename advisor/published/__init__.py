"""Published experiments: replay them on simulated hardware, and put the two tables side by side."""

from advisor.published.claims import NO_FIGURES, Verdict
from advisor.published.experiment import Experiment
from advisor.published.experiments import EXPERIMENTS, experiment, experiments
from advisor.published.replay import Progress, Replay, Row, replay, replay_all, unreplayed
from advisor.published.scorecard import scorecard, shipped_summary
from advisor.published.spec import Budget

__all__ = [
    "EXPERIMENTS",
    "NO_FIGURES",
    "Budget",
    "Experiment",
    "Progress",
    "Replay",
    "Row",
    "Verdict",
    "experiment",
    "experiments",
    "replay",
    "replay_all",
    "scorecard",
    "shipped_summary",
    "unreplayed",
]
