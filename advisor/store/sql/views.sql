-- What is asked. A view keeps the columns that its tables had when it was made, so all are made anew
-- after each migration.

CREATE OR REPLACE VIEW run AS
SELECT trial.*, metrics.* EXCLUDE (trial)
FROM trial
LEFT JOIN (
    PIVOT trial_metric
    ON metric IN (
        'ops_per_s', 'p50_us', 'p95_us', 'p99_us', 'p999_us', 'max_us',
        'reads_per_op', 'read_kb_per_op', 'write_kb_per_op', 'file_system_kb_per_op',
        'write_amp', 'read_amp', 'space_amp',
        'cpu_us_per_op', 'cost', 'cache_hit_ratio', 'bloom_false_positive_ratio', 'stall_s', 'debt_s',
        'backlog_s',
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
SELECT trial.study, trial.engine, trial.clock, trial.hardware, part.* EXCLUDE (shape)
FROM trial_interval AS part
JOIN trial ON trial.id = part.trial;

-- How the engine looked from within at the end of each interval, a row for each number.
CREATE OR REPLACE VIEW run_shape AS
SELECT trial.study, trial.engine, trial.clock, trial.hardware,
    part.trial, part.sequence, part.phase, part.t_s, gauge.key AS gauge, gauge.value::DOUBLE AS value
FROM trial_interval AS part
JOIN trial ON trial.id = part.trial, json_each(part.shape) AS gauge;

-- Predicted beside real, by session of `tunebench verify`, contender and metric. Ratios are to the session's base
-- of comparison: geometric means over the rounds that both finished. No counter of a real engine has what the file
-- system writes on its own account, so predictions are without it.
CREATE OR REPLACE VIEW verified AS
WITH of_files AS (
    SELECT own.trial, 1 - own.value / written.value AS part
    FROM trial_metric AS own
    JOIN trial_metric AS written ON written.trial = own.trial
    WHERE own.metric = 'file_system_kb_per_op' AND written.metric = 'write_kb_per_op' AND written.value > own.value
),
value AS (
    SELECT verification.*, trial.product, trial.hardware, trial_metric.metric,
        trial_metric.value * coalesce(of_files.part, 1) AS value
    FROM verification
    JOIN trial ON trial.id = verification.trial
    JOIN trial_metric ON trial_metric.trial = trial.id
    LEFT JOIN of_files
        ON of_files.trial = trial.id AND trial_metric.metric IN ('write_kb_per_op', 'write_amp')
    WHERE trial_metric.value > 0
)
SELECT
    value.session, value.study, value.place, value.contender, value.metric,
    max(value.product) AS product,
    any_value(value.hardware) FILTER (value.round = 0) AS predicted_on,
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

-- Medians of the runs at each place of a sweep, by engine and metric. `across` is the second axis of a map, NULL along
-- a single one.
CREATE OR REPLACE VIEW swept AS
SELECT
    sweep_run.sweep, sweep.axis, sweep_run.value, sweep_run.label,
    sweep.across, sweep_run.across_value, sweep_run.across_label, trial.engine, trial.clock,
    trial_metric.metric, median(trial_metric.value) AS median, count(*) AS runs
FROM sweep_run
JOIN sweep ON sweep.name = sweep_run.sweep
JOIN trial ON trial.id = sweep_run.trial
JOIN trial_metric ON trial_metric.trial = trial.id
GROUP BY ALL;

-- Medians of the runs at what was asked and at each of its neighbours, by candidate and metric; `again` tells those that
-- were made after the choice.
CREATE OR REPLACE VIEW robust AS
SELECT
    robust_run.session, robust_run.study, robust_run.place, robust_run.candidate, robust_run.point,
    robust_point.name AS neighbour, robust_run.again, trial.engine, trial_metric.metric,
    median(trial_metric.value) AS median, count(*) AS runs
FROM robust_run
JOIN robust_point ON robust_point.session = robust_run.session AND robust_point.point = robust_run.point
JOIN trial ON trial.id = robust_run.trial
JOIN trial_metric ON trial_metric.trial = trial.id
GROUP BY ALL;

-- What each run of a study means for a flash drive whose wear is known: at the rate that the profile holds its clients to
-- (`requests_per_second`, where no client writes at a rate of its own), else at the rate that the run reached.
-- A KB of `write_kb_per_op` is 1024 bytes; drive writes per day are of the capacity that the host may address.
CREATE OR REPLACE VIEW endurance AS
WITH question AS (
    SELECT
        name AS study,
        (identity ->> '$.profile.hardware.device.capacity_bytes')::DOUBLE AS capacity_bytes,
        coalesce((identity ->> '$.profile.workload.requests_per_second')::DOUBLE, 0) AS asked_per_s,
        coalesce((identity ->> '$.profile.workload.writers')::DOUBLE, 0)
            + coalesce((identity ->> '$.profile.workload.inserts_per_second')::DOUBLE, 0)
            + coalesce((identity ->> '$.profile.workload.write_rate')::DOUBLE, 0) > 0 AS has_own_rates
    FROM study
), counted AS (
    SELECT run.*, question.capacity_bytes, asked_per_s > 0 AND NOT has_own_rates AS is_paced,
        CASE WHEN is_paced THEN asked_per_s ELSE run.ops_per_s END AS rate_per_s,
        run.write_kb_per_op * 1024 * 86400 * rate_per_s AS written_bytes_per_day
    FROM run
    JOIN question ON question.study = run.study
    WHERE run.drive_years IS NOT NULL
)
SELECT
    id AS trial, study, engine, is_paced, ops_per_s, rate_per_s, written_bytes_per_day,
    written_bytes_per_day / capacity_bytes AS drive_writes_per_day,
    drive_years * ops_per_s / rate_per_s AS years
FROM counted;
