"""A product's file, to be read and not changed."""

from rich.text import Text
from textual.widgets import TextArea


class FilePreview(TextArea):
    """Comments stand back, sections and values come forward."""

    HELP = """\
    ## The file

    This is the text that `Write` writes, in the product's own words. A comment before a line says
    what the line buys.
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id, read_only=True, show_cursor=False, highlight_cursor_line=False)

    def show(self, text: str) -> None:
        """Show this text from its beginning."""
        # `load_text` keeps lines that were drawn where only their text differs.
        self.replace(text, (0, 0), self.document.end)
        self.move_cursor((0, 0))

    def get_line(self, line_index: int) -> Text:
        line = super().get_line(line_index)
        variables = self.app.theme_variables
        stripped = line.plain.strip()
        if stripped.startswith("#"):
            line.stylize(variables["secondary"])
        elif stripped.startswith("["):
            line.stylize(f"bold {variables['primary']}")
        elif "=" in stripped:
            line.stylize("bold", line.plain.index("=") + 1)
        return line
