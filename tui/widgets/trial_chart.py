"""The study as a picture: a dot per trial, a line for the best so far.

The drawing library brings NumPy with it, so this module is imported after the first paint only.
"""

from collections.abc import Sequence

from textual_hires_canvas import Canvas
from textual_plot import HiResMode, NumericAxisFormatter, PlotWidget

from tui import format as fmt
from tui.theme import colour

Point = tuple[int, str, float, bool]
"""Trial number, engine, value, and whether the trial kept the limits of the goal."""


class CountAxis(NumericAxisFormatter):
    """Axis labels as `48k`; the library's own write `48000.0`."""

    def __init__(self, most_ticks: int) -> None:
        super().__init__()
        self._most_ticks = most_ticks

    def get_ticks(self, min_: float, max_: float, max_ticks: int = 8) -> list[float]:
        return super().get_ticks(min_, max_, min(max_ticks, self._most_ticks))

    def get_labels_for_ticks(self, ticks: Sequence[float]) -> list[str]:
        return [fmt.short_count(tick) for tick in ticks]


class TrialChart(PlotWidget):
    """Dots coloured by engine and a step line of the best value. It takes no keys: there is nothing
    to edit in it."""

    can_focus = False

    def __init__(self, *, id: str | None = None, less_is_better: bool = False) -> None:  # noqa: A002
        super().__init__(id=id, allow_pan_and_zoom=False)
        self._points: Sequence[Point] = ()
        self._less_is_better = less_is_better

    def on_mount(self) -> None:
        super().on_mount()
        self.margin_top = 1
        self.margin_bottom = 2
        self.set_x_formatter(CountAxis(8))
        self.set_y_formatter(CountAxis(4))
        self.app.theme_changed_signal.subscribe(self, lambda _theme: self._draw())

    def show(self, points: Sequence[Point]) -> None:
        """Draw these trials."""
        self._points = points
        self._draw()

    def _render_plot(self) -> None:
        # A refresh of the whole widget tree for each dot takes ten times what the dots take.
        with self.query_one("#plot", Canvas).batch_refresh():
            super()._render_plot()

    def _draw(self) -> None:
        variables = self.app.theme_variables
        self.clear()
        steps = best_steps(self._points, less_is_better=self._less_is_better)
        if steps:
            xs, ys = zip(*steps, strict=True)
            self.plot(xs, ys, line_style=colour(variables, "best"), hires_mode=HiResMode.BRAILLE)
        for engine in sorted({engine for _, engine, _, _ in self._points}):
            for within, marker in ((True, "●"), (False, "·")):
                dots = [(n, v) for n, e, v, ok in self._points if e == engine and ok == within]
                if dots:
                    xs, ys = zip(*dots, strict=True)
                    self.scatter(xs, ys, marker=marker, marker_style=colour(variables, engine))
        if self._points:
            numbers = [number for number, _, _, _ in self._points]
            self.set_xlimits(min(numbers) - 1, max(max(numbers) + 1, min(numbers) + 9))
            self.set_ylimits(0, 1.1 * max(value for _, _, value, _ in self._points) or 1.0)
        self.refresh()


def best_steps(points: Sequence[Point], *, less_is_better: bool) -> list[tuple[int, float]]:
    """Corners of the line that follows the best trial so far; trials outside the limits do not
    count."""
    steps: list[tuple[int, float]] = []
    last = 0
    for number, _, value, within in points:
        if not within:
            continue
        known = steps[-1][1] if steps else value
        if not steps:
            steps.append((number, value))
        elif (value < known) if less_is_better else (value > known):
            steps += [(number, known), (number, value)]
        last = number
    return [*steps, (last, steps[-1][1])] if steps and steps[-1][0] != last else steps
