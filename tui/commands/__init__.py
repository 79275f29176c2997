"""One module per command; what they share sits in `tui.options`, `tui.narration` and `tui.tables`."""
