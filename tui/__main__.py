"""`python -m tui` is the `tunebench` command."""

from tui.cli import main

if __name__ == "__main__":
    main()
