"""The parts the screens are made of, one widget per module."""
