"""One module per command; what they share is in `tui.options`, `tui.problem`, `tui.output`."""
