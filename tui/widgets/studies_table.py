"""Every stored study, the newest first."""

from collections.abc import Iterable, Sequence

from rich.text import Text

from tui.theme import colour
from tui.views import StudyView
from tui.widgets.sorted_table import Line, SortedTable
from tui.widgets.wrapping_table import Heading

HEADINGS = (
    Heading("study"),
    Heading("workload", optional=True),
    Heading("created"),
    Heading("trials", right=True),
    Heading("clock"),
    Heading("tags", optional=True),
    Heading("verified on", optional=True),
    Heading("goal"),
)
FALLING = frozenset({2, 3})
"""The newest and the largest first."""
MARK = "●"


class StudiesTable(SortedTable):
    """One line per stored study; those to be compared are marked."""

    HELP = """\
    ## Studies

    Every study of this results file, the newest first. Its trials are shown below; Enter opens
    its advice, d deletes it. / leaves only those whose name, workload, tags or goal have what you
    type. Space marks studies, and c sets the marked ones side by side, the first one marked first.
    t writes a tag on a study, or takes it off. o sorts by the next column, O turns that round.
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(HEADINGS, falling=FALLING, id=id)

    def show(self, studies: Iterable[StudyView], marked: Sequence[str]) -> None:
        """Put these studies in the place of all others."""
        self.show_lines({one.name: self._line(one, one.name in marked) for one in studies})

    def _line(self, study: StudyView, is_marked: bool) -> Line:
        name = Text(study.name)
        if is_marked:
            name.append(f" {MARK}", style=colour(self.app.theme_variables, "best"))
        tags = ", ".join(study.tags)
        cells = (
            name,
            Text(study.workload),
            Text(study.created),
            Text(str(study.trials), justify="right"),
            Text(study.clock),
            Text(tags, style=self.app.theme_variables["secondary"]),
            Text(study.verified),
            Text(study.goal),
        )
        values = (
            study.name, study.workload, study.created, study.trials, study.clock,
            tags or None, study.verified or None, study.goal,
        )  # fmt: skip
        return Line(cells, values)
