"""The shipped tables in a few lines, for those who will not run a command to see them."""

from __future__ import annotations

from collections.abc import Iterator

from advisor.validation.agreement import agreement, wrong_winners
from advisor.validation.cases import SUITES, Suite
from advisor.validation.dataset import shipped

_ALSO = {"rocksdb": "write_amp", "innodb": "write_kb_per_op", "myrocks": "write_kb_per_op"}
"""What is told besides the metric that decides a case."""
_HEAD = (
    "product", "workload", "settings", "metric", "Spearman", "predicted/real", "worst", "winner",
)  # fmt: skip


def shipped_summary() -> str:
    """A Markdown table, of each product the cases whose predicted winner loses most first."""
    table = [_HEAD, ("---",) * len(_HEAD)]
    for suite in SUITES.values():
        table += _rows(suite)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in table)


def _rows(suite: Suite) -> Iterator[tuple[str, ...]]:
    rows = shipped(suite.file)
    found = {(one.case, one.metric): one for one in agreement(rows)}
    for winner in wrong_winners(rows):
        for metric in dict.fromkeys((winner.metric, _ALSO[suite.product])):
            one = found.get((winner.case, metric))
            if one is None:
                continue
            told = f"{winner.verdict}: loses {100 * winner.loss:.0f}%"
            loss = told if metric == winner.metric else ""
            ranks = "-" if one.spearman is None else f"{one.spearman:.2f}"
            ratios = (f"{one.median_ratio:.2f}x", f"{one.worst_ratio:.2f}x")
            where = (suite.product, winner.case, str(one.configurations), metric)
            yield (*where, ranks, *ratios, loss)
