"""The tables of the results file, as numbered migrations.

Rows are appended, and removed only with their whole study. A change of the tables is a new entry at
the end of `MIGRATIONS`; an entry that has shipped is never edited. Times are UTC without a zone,
sizes bytes, settings and other open-ended maps JSON.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        """ CREATE TABLE study ( name VARCHAR NOT NULL, created TIMESTAMP NOT NULL, workload VARCHAR
        NOT NULL, goal VARCHAR NOT NULL, engines VARCHAR[] NOT NULL, clock VARCHAR NOT NULL, seed
        BIGINT NOT NULL, identity JSON NOT NULL, core_version VARCHAR NOT NULL, host VARCHAR NOT
        NULL) """,
        """ CREATE TABLE trial ( id UUID NOT NULL, study VARCHAR, number INTEGER NOT NULL, engine
        VARCHAR NOT NULL, role VARCHAR NOT NULL, outcome VARCHAR NOT NULL, error VARCHAR, workload
        VARCHAR NOT NULL, settings JSON NOT NULL, seed BIGINT NOT NULL, clock VARCHAR NOT NULL,
        seconds DOUBLE NOT NULL, scale DOUBLE NOT NULL, budget_bytes BIGINT, wall_seconds DOUBLE NOT
        NULL, started TIMESTAMP NOT NULL, core_version VARCHAR NOT NULL, host VARCHAR NOT NULL,
        notes VARCHAR[] NOT NULL) """,
        """
        CREATE TABLE trial_metric (
            trial UUID NOT NULL, metric VARCHAR NOT NULL, value DOUBLE NOT NULL)
        """,
        """ CREATE TABLE trial_operation ( trial UUID NOT NULL, operation VARCHAR NOT NULL, metric
        VARCHAR NOT NULL, value DOUBLE NOT NULL) """,
        """ CREATE TABLE trial_bytes ( trial UUID NOT NULL, purpose VARCHAR NOT NULL, metric VARCHAR
        NOT NULL, value DOUBLE NOT NULL) """,
        """ CREATE TABLE trial_interval ( trial UUID NOT NULL, sequence INTEGER NOT NULL, phase
        VARCHAR, t_s DOUBLE, seconds DOUBLE, operations BIGINT, ops_per_s DOUBLE, p99_us DOUBLE,
        read_kb_per_op DOUBLE, write_kb_per_op DOUBLE, cache_hit_ratio DOUBLE, stall_s DOUBLE,
        disk_bytes BIGINT, memory_bytes BIGINT) """,
        """ CREATE VIEW run AS SELECT trial.*, m.ops_per_s, m.p50_us, m.p95_us, m.p99_us, m.p999_us,
        m.max_us, m.reads_per_op, m.read_kb_per_op, m.write_kb_per_op, m.write_amp, m.read_amp,
        m.space_amp, m.cpu_us_per_op, m.cache_hit_ratio, m.bloom_false_positive_ratio, m.flash_waf,
        m.stall_s, m.disk_bytes, m.memory_bytes FROM trial LEFT JOIN ( PIVOT trial_metric ON metric
        IN ( 'ops_per_s', 'p50_us', 'p95_us', 'p99_us', 'p999_us', 'max_us', 'reads_per_op',
        'read_kb_per_op', 'write_kb_per_op', 'write_amp', 'read_amp', 'space_amp', 'cpu_us_per_op',
        'cache_hit_ratio', 'bloom_false_positive_ratio', 'flash_waf', 'stall_s', 'disk_bytes',
        'memory_bytes') USING any_value(value) GROUP BY trial) AS m ON m.trial = trial.id """,
    ),
    (
        "ALTER TABLE trial ADD COLUMN hardware VARCHAR",
        "ALTER TABLE trial ADD COLUMN steady BOOLEAN",
        # A view keeps the columns that its tables had when it was made.
        """ CREATE OR REPLACE VIEW run AS SELECT trial.*, m.* EXCLUDE (trial) FROM trial LEFT JOIN (
        PIVOT trial_metric ON metric IN ( 'ops_per_s', 'p50_us', 'p95_us', 'p99_us', 'p999_us',
        'max_us', 'reads_per_op', 'read_kb_per_op', 'write_kb_per_op', 'write_amp', 'read_amp',
        'space_amp', 'cpu_us_per_op', 'cache_hit_ratio', 'bloom_false_positive_ratio', 'stall_s',
        'disk_bytes', 'memory_bytes', 'device_bytes', 'nand_bytes', 'erases', 'flash_waf',
        'drive_years') USING any_value(value) GROUP BY trial) AS m ON m.trial = trial.id """,
        *(
            f"CREATE VIEW run_{part} AS SELECT trial.study, trial.engine, trial.clock, "
            f"trial.hardware, part.* FROM trial_{part} AS part JOIN trial ON trial.id = part.trial"
            for part in ("operation", "bytes", "interval")
        ),
    ),
    (
        """ CREATE OR REPLACE VIEW run AS SELECT trial.*, m.* EXCLUDE (trial) FROM trial LEFT JOIN (
        PIVOT trial_metric ON metric IN ( 'ops_per_s', 'p50_us', 'p95_us', 'p99_us', 'p999_us',
        'max_us', 'reads_per_op', 'read_kb_per_op', 'write_kb_per_op', 'write_amp', 'read_amp',
        'space_amp', 'cpu_us_per_op', 'cache_hit_ratio', 'bloom_false_positive_ratio', 'stall_s',
        'disk_bytes', 'memory_bytes', 'device_bytes', 'trimmed_bytes', 'nand_bytes', 'erases',
        'flash_waf', 'drive_years') USING any_value(value) GROUP BY trial) AS m
        ON m.trial = trial.id """,
    ),
    # Trials once counted from 0.
    ("UPDATE trial SET number = number + 1",),
)

_FIRST_TABLES = (
    "study", "trial", "trial_metric", "trial_operation", "trial_bytes", "trial_interval",
)  # fmt: skip
_VERSION_COLUMNS = [("version", "INTEGER"), ("applied", "TIMESTAMP")]
_EVERYTHING = """
    SELECT table_name FROM duckdb_tables() WHERE database_name = current_database()
    UNION ALL SELECT view_name FROM duckdb_views()
        WHERE database_name = current_database() AND NOT internal
    UNION ALL SELECT sequence_name FROM duckdb_sequences() WHERE database_name = current_database()
"""

INTERVAL_COLUMNS: tuple[str, ...] = (
    "phase", "t_s", "seconds", "operations", "ops_per_s", "p99_us", "read_kb_per_op",
    "write_kb_per_op", "cache_hit_ratio", "stall_s", "disk_bytes", "memory_bytes",
)  # fmt: skip


def version_of(connection: duckdb.DuckDBPyConnection) -> int | None:
    """Number of the last migration that this file has seen; 0 for an empty file, None for one whose
    tables are not ours."""
    names = {name for (name,) in connection.execute(_EVERYTHING).fetchall()}
    if not names:
        return 0
    if "schema_version" not in names:
        return None
    steps = connection.execute("SELECT * FROM main.schema_version")
    if [(one[0], str(one[1])) for one in steps.description] != _VERSION_COLUMNS:
        return None
    version = max((row[0] for row in steps.fetchall()), default=0)
    known = 0 < version <= len(MIGRATIONS)
    return None if known and not names.issuperset(_FIRST_TABLES) else version


def columns(connection: duckdb.DuckDBPyConnection) -> list[tuple[str, str, str]]:
    """What can be asked: table or view, column, type; the views first."""
    found = connection.execute(
        "SELECT table_name, column_name, data_type FROM duckdb_columns() WHERE NOT internal "
        "AND database_name = current_database() AND table_name <> 'schema_version' "
        "ORDER BY starts_with(table_name, 'run') DESC, table_name, column_index"
    ).fetchall()
    return [(table, column, kind) for table, column, kind in found]


def migrate(connection: duckdb.DuckDBPyConnection, version: int) -> None:
    """Brings a file from `version` to the newest tables, in one transaction."""
    connection.execute("BEGIN")
    try:
        connection.execute(
            "CREATE TABLE IF NOT EXISTS schema_version ("
            "version INTEGER NOT NULL, applied TIMESTAMP NOT NULL)"
        )
        for number, statements in enumerate(MIGRATIONS[version:], start=version + 1):
            for statement in statements:
                connection.execute(statement)
            connection.execute(
                "INSERT INTO schema_version VALUES (?, now()::TIMESTAMPTZ AT TIME ZONE 'UTC')",
                [number],
            )
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise
