-- A walk along an axis (`tunebench sweep`), and its runs at each value of it.
CREATE TABLE sweep (
    name     VARCHAR   NOT NULL PRIMARY KEY,
    created  TIMESTAMP NOT NULL,
    axis     VARCHAR   NOT NULL,
    goal     VARCHAR   NOT NULL,
    clock    VARCHAR   NOT NULL,
    seed     BIGINT    NOT NULL
);

CREATE TABLE sweep_run (
    sweep  VARCHAR NOT NULL,
    value  DOUBLE  NOT NULL,
    label  VARCHAR NOT NULL,
    trial  UUID    NOT NULL
);
