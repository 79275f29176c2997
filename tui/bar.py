"""A number as a bar, wherever the terminal draws one."""

BAR = 24
"""Cells of the longest bar where there is room."""
_EIGHTHS = " ▏▎▍▌▋▊▉█"


def bar(value: float | None, most: float, width: int = BAR) -> str:
    """A bar of eighths of cells; empty for what was not measured."""
    if value is None or most <= 0:
        return ""
    eighths = round(8 * width * value / most)
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()
