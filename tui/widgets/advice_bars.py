"""What knobs weigh in a search, and what each line of an answer buys, as bars."""

from collections.abc import Sequence

from tui.theme import colour
from tui.views import Change
from tui.widgets.bars import Bar, Bars


class Importance(Bars):
    """A bar for each knob."""

    HELP = """\
    ## Importance

    Which knobs tell the better quarter of the trials from the others (PED-ANOVA): the share of each
    knob of the recommended engine. A knob of little weight may be left as it is.
    """

    def show_shares(self, shares: Sequence[tuple[str, float]]) -> None:
        """Draw the shares by knob."""
        style = colour(self.app.theme_variables, "best")
        self.show([(knob, [Bar(share, _percent(share), style)]) for knob, share in shares])


class Gains(Bars):
    """Two bars for each line: on its own, and in company of the others."""

    HELP = """\
    ## What each line buys

    The upper bar is what the line buys of the goal's metric on its own, the lower one what it buys
    in company of all other lines. A line that buys little alone may need the others; one that buys
    little in company shares its gain with them.
    """

    def show_gains(self, changes: Sequence[Change], less_is_better: bool) -> None:
        """Draw what was measured of each line."""
        variables = self.app.theme_variables
        own, beside = colour(variables, "best"), variables["secondary"]

        def told(gain: float | None, style: str, how: str) -> Bar:
            if gain is None:
                return Bar(None, f"{how} not measured", style)
            sign = "+" if (gain >= 0) != less_is_better else "-"
            shown = variables["text-error"] if gain < 0 else style
            return Bar(abs(gain), f"{sign}{100 * abs(gain):.0f} % {how}", shown)

        self.show(
            [
                (one.knob, [told(one.alone, own, "alone"), told(one.company, beside, "in company")])
                for one in changes
                if (one.alone, one.company) != (None, None)
            ]
        )


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share >= 0.005 else "<1 %"
