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
        'disk_bytes', 'memory_bytes',
        'device_bytes', 'trimmed_bytes', 'nand_bytes', 'erases', 'flash_waf', 'drive_years'
    )
    USING any_value(value)
    GROUP BY trial
) AS metrics ON metrics.trial = trial.id;

CREATE OR REPLACE VIEW run_operation AS
SELECT trial.study, trial.engine, trial.clock, trial.hardware, part.*
FROM trial_operation AS part
JOIN trial ON trial.id = part.trial;

CREATE OR REPLACE VIEW run_bytes AS
SELECT trial.study, trial.engine, trial.clock, trial.hardware, part.*
FROM trial_bytes AS part
JOIN trial ON trial.id = part.trial;

CREATE OR REPLACE VIEW run_interval AS
SELECT trial.study, trial.engine, trial.clock, trial.hardware, part.*
FROM trial_interval AS part
JOIN trial ON trial.id = part.trial;
