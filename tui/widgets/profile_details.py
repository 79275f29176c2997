"""What a profile describes, in a few lines."""

from rich.table import Table
from rich.text import Text
from textual.widgets import Static

from advisor.sizes import format_size
from tui import format as fmt
from tui.views import ProfileView


class ProfileDetails(Static):
    """The chosen profile: its story, its sizes, its goal."""

    def show(self, profile: ProfileView) -> None:
        """Describe this profile."""
        self.border_title = profile.name
        variables = self.app.theme_variables
        if profile.problem:
            self.update(Text(profile.problem, style=variables["text-error"]))
            return
        table = Table.grid(padding=(0, 3, 0, 0))
        table.add_column(style=variables["secondary"], width=12)
        table.add_column()
        for name, text in _lines(profile):
            table.add_row(name, text)
        whole = Table.grid()
        whole.add_row(Text(profile.text))
        whole.add_row("")
        whole.add_row(table)
        self.update(whole)


def _lines(profile: ProfileView) -> list[tuple[str, str]]:
    lines = [("workload", profile.workload)]
    sizes = []
    if profile.data_bytes is not None:
        sizes.append(f"{format_size(profile.data_bytes)} of data")
    if profile.memory_bytes is not None:
        sizes.append(f"{format_size(profile.memory_bytes)} of memory")
    if profile.clients is not None:
        sizes.append("1 client" if profile.clients == 1 else f"{profile.clients} clients")
    lines.append(("size", " · ".join(sizes)))
    lines.append(("hardware", profile.hardware))
    lines.append(("goal", profile.goal))
    lines.append(("engines", ", ".join(fmt.ENGINE_TITLES.get(e, e) for e in profile.engines)))
    return [(name, text) for name, text in lines if text]
