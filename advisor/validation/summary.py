"""The shipped tables in a few lines, for those who will not run a command to see them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from advisor.validation.agreement import agreement, wrong_winners
from advisor.validation.cases import SUITES, Suite
from advisor.validation.dataset import shipped
from advisor.validation.rivalry import MOST_APART, rivalries

_ALSO = {"rocksdb": "write_amp", "innodb": "write_kb_per_op", "myrocks": "write_kb_per_op"}
"""What is told besides the metric that decides a case."""
_HEAD = (
    "product", "workload", "settings", "metric", "Spearman", "predicted/real", "worst", "winner",
)  # fmt: skip


_BESIDE = (
    "workload", "MyRocks : InnoDB, first settings", "predicted", "pairs of settings",
    f"within {MOST_APART}x", "wrong winners",
)  # fmt: skip


def shipped_summary() -> str:
    """A Markdown table, of each product the cases whose predicted winner loses most first; then
    one of the products beside one another, where they ran the same."""
    tables = [_table(_HEAD, (row for suite in SUITES.values() for row in _rows(suite)))]
    if beside := [*_beside()]:
        tables.append(_table(_BESIDE, beside))
    return "\n\n".join(tables)


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = (head, ("---",) * len(head), *rows)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _beside() -> Iterator[tuple[str, ...]]:
    for one in rivalries(*(shipped(SUITES[product].file) for product in ("myrocks", "innodb"))):
        pairs = (f"{one.first.real:.2f}x", f"{one.first.predicted:.2f}x", str(len(one.ratios)))
        yield (one.case, *pairs, f"{one.near:.0%}", f"{one.wrong} of {one.told}")


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
