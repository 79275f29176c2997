-- Latencies of the statements of a workload on a SQL server, in long form; trials of other engines
-- have none.
CREATE TABLE trial_statement (
    trial UUID NOT NULL,
    statement VARCHAR NOT NULL,
    metric VARCHAR NOT NULL,
    value DOUBLE NOT NULL
);
