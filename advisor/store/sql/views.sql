-- What is asked. A view keeps the columns that its tables had when it was made, so all are made anew
-- after each migration.

CREATE OR REPLACE VIEW run AS
SELECT trial.*, metrics.* EXCLUDE (trial)
FROM trial
LEFT JOIN (
    PIVOT trial_metric
    ON metric IN (
        'ops_per_s', 'p50_us', 'p95_us', 'p99_us', 'p999_us', 'max_us',
        'reads_per_op', 'read_kb_per_op', 'write_kb_per_op',
        'write_amp', 'read_amp', 'space_amp',
        'cpu_us_per_op', 'cache_hit_ratio', 'bloom_false_positive_ratio', 'stall_s',
        'disk_bytes', 'memory_bytes', 'process_memory_bytes',
        'kernel_read_kb_per_op', 'kernel_write_kb_per_op',
        'device_bytes', 'trimmed_bytes', 'nand_bytes', 'erases', 'flash_waf', 'drive_years'
    )
    USING any_value(value)
    GROUP BY trial
) AS metrics ON metrics.trial = trial.id;

CREATE OR REPLACE VIEW run_operation AS
SELECT trial.study, trial.engine, trial.clock, trial.hardware, part.*
FROM trial_operation AS part
JOIN trial ON trial.id = part.trial;

CREATE OR REPLACE VIEW run_statement AS
SELECT trial.study, trial.engine, trial.clock, trial.product, part.*
FROM trial_statement AS part
JOIN trial ON trial.id = part.trial;

CREATE OR REPLACE VIEW run_bytes AS
SELECT trial.study, trial.engine, trial.clock, trial.hardware, part.*
FROM trial_bytes AS part
JOIN trial ON trial.id = part.trial;

CREATE OR REPLACE VIEW run_interval AS
SELECT trial.study, trial.engine, trial.clock, trial.hardware, part.*
FROM trial_interval AS part
JOIN trial ON trial.id = part.trial;

-- Predicted beside real, by session of `tunebench verify`, contender and metric. Ratios are to the session's base
-- of comparison: geometric means over the rounds that both finished.
CREATE OR REPLACE VIEW verified AS
WITH value AS (
    SELECT verification.*, trial.product, trial_metric.metric, trial_metric.value
    FROM verification
    JOIN trial ON trial.id = verification.trial
    JOIN trial_metric ON trial_metric.trial = trial.id
    WHERE trial_metric.value > 0
)
SELECT
    value.session, value.study, value.place, value.contender, value.metric,
    max(value.product) AS product,
    exp(avg(ln(value.value)) FILTER (value.round = 0)) AS predicted,
    exp(avg(ln(value.value)) FILTER (value.round > 0)) AS real,
    count(*) FILTER (value.round > 0) AS rounds,
    exp(avg(ln(value.value / base.value)) FILTER (value.round = 0)) AS predicted_ratio,
    exp(avg(ln(value.value / base.value)) FILTER (value.round > 0)) AS real_ratio
FROM value
LEFT JOIN value AS base
    ON base.session = value.session AND base.metric = value.metric AND base.round = value.round
    AND base.place = 0
GROUP BY ALL;
