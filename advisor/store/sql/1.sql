-- Times are UTC without a zone, sizes bytes; settings and other open-ended maps are JSON.

CREATE TABLE study (
    name          VARCHAR   NOT NULL,
    created       TIMESTAMP NOT NULL,
    workload      VARCHAR   NOT NULL,
    goal          VARCHAR   NOT NULL,
    engines       VARCHAR[] NOT NULL,
    clock         VARCHAR   NOT NULL,
    seed          BIGINT    NOT NULL,
    identity      JSON      NOT NULL,  -- what may not differ when it is resumed
    core_version  VARCHAR   NOT NULL,
    host          VARCHAR   NOT NULL
);

CREATE TABLE trial (
    id            UUID      NOT NULL,
    study         VARCHAR,             -- NULL for a single run
    number        INTEGER   NOT NULL,  -- within its study
    engine        VARCHAR   NOT NULL,
    role          VARCHAR   NOT NULL,
    outcome       VARCHAR   NOT NULL,
    error         VARCHAR,
    workload      VARCHAR   NOT NULL,
    settings      JSON      NOT NULL,  -- complete, at full size
    seed          BIGINT    NOT NULL,
    clock         VARCHAR   NOT NULL,
    seconds       DOUBLE    NOT NULL,
    scale         DOUBLE    NOT NULL,  -- data of the run / data of the profile
    budget_bytes  BIGINT,
    wall_seconds  DOUBLE    NOT NULL,
    started       TIMESTAMP NOT NULL,
    core_version  VARCHAR   NOT NULL,
    host          VARCHAR   NOT NULL,
    notes         VARCHAR[] NOT NULL
);

CREATE TABLE trial_metric (
    trial   UUID    NOT NULL,
    metric  VARCHAR NOT NULL,
    value   DOUBLE  NOT NULL
);

CREATE TABLE trial_operation (
    trial      UUID    NOT NULL,
    operation  VARCHAR NOT NULL,
    metric     VARCHAR NOT NULL,
    value      DOUBLE  NOT NULL
);

CREATE TABLE trial_bytes (
    trial    UUID    NOT NULL,
    purpose  VARCHAR NOT NULL,
    metric   VARCHAR NOT NULL,
    value    DOUBLE  NOT NULL
);

CREATE TABLE trial_interval (
    trial            UUID    NOT NULL,
    sequence         INTEGER NOT NULL,
    phase            VARCHAR,
    t_s              DOUBLE,
    seconds          DOUBLE,
    operations       BIGINT,
    ops_per_s        DOUBLE,
    p99_us           DOUBLE,
    read_kb_per_op   DOUBLE,
    write_kb_per_op  DOUBLE,
    cache_hit_ratio  DOUBLE,
    stall_s          DOUBLE,
    disk_bytes       BIGINT,
    memory_bytes     BIGINT
);
