"""The terminal of tunebench: commands and the full-screen workbench. It computes nothing."""
