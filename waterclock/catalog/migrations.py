"""The schema of the catalog, as numbered steps. A step that has shipped is never edited."""

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        "CREATE TABLE leases (name TEXT PRIMARY KEY, owner TEXT NOT NULL, token BIGINT NOT NULL, expires BIGINT NOT NULL)",
        """CREATE TABLE streams (
            name TEXT PRIMARY KEY, declaration TEXT NOT NULL, owner TEXT,
            first_seq BIGINT NOT NULL, next_seq BIGINT NOT NULL, durable_seq BIGINT NOT NULL,
            cti BIGINT NOT NULL, ended INTEGER NOT NULL,
            position TEXT NOT NULL, counters TEXT NOT NULL)""",
        """CREATE TABLE segments (
            id INTEGER PRIMARY KEY, stream TEXT NOT NULL, first BIGINT NOT NULL, rows BIGINT NOT NULL, cti BIGINT NOT NULL,
            path TEXT, at BIGINT, length BIGINT, checksum BIGINT, format TEXT,
            least_vs BIGINT NOT NULL, greatest_vs BIGINT NOT NULL, level INTEGER NOT NULL, external TEXT)""",
        "CREATE INDEX segments_by_stream ON segments (stream, first, id)",
        """CREATE TABLE vertices (
            name TEXT PRIMARY KEY, app TEXT NOT NULL, identity TEXT NOT NULL, plan TEXT NOT NULL, inputs TEXT NOT NULL,
            epoch BIGINT NOT NULL, durable_epoch BIGINT NOT NULL)""",
        """CREATE TABLE epochs (
            vertex TEXT NOT NULL, epoch BIGINT NOT NULL, intent TEXT NOT NULL, snapshot TEXT, expected TEXT,
            PRIMARY KEY (vertex, epoch))""",
        """CREATE TABLE runs (
            id INTEGER PRIMARY KEY, vertex TEXT NOT NULL, operator TEXT NOT NULL, kind TEXT NOT NULL,
            added BIGINT NOT NULL, removed BIGINT,
            path TEXT NOT NULL, at BIGINT NOT NULL, length BIGINT NOT NULL, checksum BIGINT NOT NULL, rows BIGINT NOT NULL,
            least_hash BIGINT NOT NULL, greatest_hash BIGINT NOT NULL, least_vs BIGINT NOT NULL, greatest_ve BIGINT NOT NULL,
            level INTEGER NOT NULL)""",
        "CREATE INDEX runs_by_vertex ON runs (vertex, removed)",
        """CREATE TABLE sinks (
            name TEXT PRIMARY KEY, delivered BIGINT NOT NULL, pending BIGINT, position TEXT NOT NULL)""",
    ),
    (
        "ALTER TABLE vertices ADD COLUMN tasks BIGINT",
        """CREATE TABLE filters (
            id BIGINT PRIMARY KEY, vertex TEXT NOT NULL, stream TEXT NOT NULL, predicate TEXT NOT NULL,
            added BIGINT NOT NULL, since BIGINT, until BIGINT, removed BIGINT NOT NULL)""",
    ),
    (  # for metrics: when something last happened, in microseconds, and how often things went wrong
        "ALTER TABLE segments ADD COLUMN arrived BIGINT",
        "ALTER TABLE streams ADD COLUMN arrived BIGINT",
        "ALTER TABLE streams ADD COLUMN moved BIGINT",
        "ALTER TABLE streams ADD COLUMN stalled BIGINT",
        "ALTER TABLE vertices ADD COLUMN durable_at BIGINT",
        "ALTER TABLE vertices ADD COLUMN counters TEXT NOT NULL DEFAULT '{}'",
        "ALTER TABLE sinks ADD COLUMN counters TEXT NOT NULL DEFAULT '{}'",
    ),
    (  # for strategies of recovery, drivers that share an app, global snapshots, pins and time travel
        "ALTER TABLE vertices ADD COLUMN stored_epoch BIGINT NOT NULL DEFAULT -1",
        "UPDATE vertices SET stored_epoch = durable_epoch",
        "ALTER TABLE vertices ADD COLUMN strategy TEXT",
        "ALTER TABLE vertices ADD COLUMN base TEXT",
        "ALTER TABLE vertices ADD COLUMN lost TEXT",
        "ALTER TABLE vertices ADD COLUMN hosts TEXT",
        "ALTER TABLE vertices ADD COLUMN moving TEXT",
        "ALTER TABLE vertices ADD COLUMN generation BIGINT NOT NULL DEFAULT 0",
        "ALTER TABLE vertices ADD COLUMN history BIGINT NOT NULL DEFAULT 0",
        "ALTER TABLE leases ADD COLUMN ttl BIGINT NOT NULL DEFAULT 10000000",
        "ALTER TABLE leases ADD COLUMN driver TEXT NOT NULL DEFAULT ''",
        """CREATE TABLE snapshots (
            id BIGINT PRIMARY KEY, app TEXT NOT NULL, name TEXT, requested BIGINT NOT NULL, barrier TEXT NOT NULL,
            parts TEXT NOT NULL, state TEXT NOT NULL, finished BIGINT)""",
        "CREATE INDEX epochs_to_do ON epochs (vertex, epoch) WHERE snapshot IS NULL",
        "CREATE TABLE makings (vertex TEXT NOT NULL, epoch BIGINT NOT NULL, making TEXT NOT NULL, PRIMARY KEY (vertex, epoch))",
        """CREATE TABLE arrivals (
            stream TEXT NOT NULL, seq BIGINT NOT NULL, cti BIGINT NOT NULL, at BIGINT NOT NULL, until BIGINT,
            PRIMARY KEY (stream, seq))""",
        "ALTER TABLE vertices ADD COLUMN starts TEXT NOT NULL DEFAULT '{}'",
        """CREATE TABLE pins (
            name TEXT NOT NULL, stream TEXT NOT NULL, seq BIGINT NOT NULL, added BIGINT NOT NULL,
            PRIMARY KEY (name, stream))""",
        """CREATE TABLE batches (
            writer TEXT NOT NULL, stream TEXT NOT NULL, batch BIGINT NOT NULL, taken BIGINT NOT NULL,
            PRIMARY KEY (writer, stream))""",
    ),
)
