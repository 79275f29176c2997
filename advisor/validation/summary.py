"""The shipped table in a few lines, for those who will not run a command to see it."""

from __future__ import annotations

from advisor.validation.agreement import agreement, wrong_winners
from advisor.validation.dataset import shipped

_ALSO = "write_amp"
"""What is told besides the metric that decides a case."""
_HEAD = ("workload", "settings", "metric", "Spearman", "predicted/real", "worst", "winner")


def shipped_summary() -> str:
    """A Markdown table, the cases whose predicted winner loses most first."""
    rows = shipped()
    found = {(one.case, one.metric): one for one in agreement(rows)}
    table = [_HEAD, ("---",) * len(_HEAD)]
    for winner in wrong_winners(rows):
        for metric in dict.fromkeys((winner.metric, _ALSO)):
            one = found.get((winner.case, metric))
            if one is None:
                continue
            told = f"{winner.verdict}: loses {100 * winner.loss:.0f}%"
            loss = told if metric == winner.metric else ""
            ranks = "-" if one.spearman is None else f"{one.spearman:.2f}"
            ratios = (f"{one.median_ratio:.2f}x", f"{one.worst_ratio:.2f}x")
            table.append((winner.case, str(one.configurations), metric, ranks, *ratios, loss))
    return "\n".join(f"| {' | '.join(cells)} |" for cells in table)
