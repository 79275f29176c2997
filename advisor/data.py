"""Where the files live that ship with the package: `profiles/` and `datasets/`, beside `advisor` in
the checkout and in an installed wheel alike."""

from __future__ import annotations

from importlib import resources
from pathlib import Path


def data_path(*parts: str) -> Path:
    """The path of a shipped file or folder, such as `data_path("profiles", "engines", "lsm.toml")`.

    Raises `FileNotFoundError` when the installation lacks it.
    """
    # `profiles` is a folder without Python: asked for by name, a folder of that name in the working
    # directory could answer instead. `advisor` is a package, so its neighbours are ours.
    path = Path(str(resources.files("advisor"))).parent.joinpath(*parts)
    if not path.exists():
        raise FileNotFoundError(f"{'/'.join(parts)} is missing from this installation: {path}")
    return path
