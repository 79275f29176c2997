"""Calibration: what named pieces of CPU work cost on this machine, from the core's own measured
runs, and what its drive does, from a probe of its own; kept as a hardware profile that a simulated
run can name."""

from advisor.calibration.machine import Calibration, calibrate, off_by, to_toml

__all__ = ["Calibration", "calibrate", "off_by", "to_toml"]
