-- Sweeps over two axes (`tunebench sweep` with a second `--over`): the second one by its name, and its value at each
-- run and point. NULL along a single axis.
ALTER TABLE sweep ADD COLUMN across VARCHAR;
ALTER TABLE sweep_run ADD COLUMN across_value DOUBLE;
ALTER TABLE sweep_run ADD COLUMN across_label VARCHAR;
ALTER TABLE sweep_point ADD COLUMN across_value DOUBLE;
