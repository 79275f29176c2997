-- What a sweep was asked, and each engine at each value of its axis with its settings, or why it has no runs: a sweep is put
-- together again from them. NULL and none for sweeps from before they were kept.
ALTER TABLE sweep ADD COLUMN asked JSON;

CREATE TABLE sweep_point (
    sweep     VARCHAR NOT NULL,
    value     DOUBLE  NOT NULL,
    engine    VARCHAR NOT NULL,
    settings  JSON    NOT NULL,  -- complete, at full size; empty where none fits
    error     VARCHAR NOT NULL
);
