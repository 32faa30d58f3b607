"""The catalog in a schema of a PostgreSQL database, for processes of many machines.

**Turns.** Every transaction begins with an exclusive lock on the table ``meta``, which it holds until its end; plain
reads do not wait for it. So transactions of one store run one after another, as in SQLite. That is enough for fencing
at the usual isolation (read committed): a statement behind the lock sees all that was committed before it, so the
check of the lease is up to date, and nobody can take the lease between that check and the commit. The server lets the
next one in only when the commit can be seen. A transaction whose client falls silent is ended by the server after
``SILENCE`` seconds, so a process that hangs holds nobody up and finds, when it wakes, that nothing was committed.

**Lost answers.** Each transaction also writes its number into the row of this process in ``writers``. When the
connection breaks, the next one first waits for its turn, which the broken one must have left, and reads that number:
it says whether the commit whose answer was lost has happened. What has not happened is done again, what has is not.

**Durability.** Every commit is synced, also those that need not be. The process outlives its server, so a crash of the
server must not take back what the process has seen. If it does (a failover to a copy that was behind), the numbers
tell, and that is an error.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.errors import DiskFull, InsufficientPrivilege

from waterclock.catalog.database import Database, Interrupted
from waterclock.errors import ConfigError, StoreError

WAIT = 60.0
"""So many seconds a server may be away before its absence is an error."""
OPENING = 5.0
"""The same when a store is opened. That of a new store must be there at once: its URL may be wrong."""
PAUSES = (0.05, 0.1, 0.2, 0.5, 1.0)
"""Between tries to connect; the last one from then on. Shorter than ``keeper.GRACE``: see there."""
SILENCE = 10
"""Seconds after which the server ends a transaction whose client says nothing."""
FORGET = "30 days"
"""Numbers of processes that were not heard of for so long are removed."""
DEFAULTS = {
    "connect_timeout": 5, "keepalives_idle": 5, "keepalives_interval": 2, "keepalives_count": 3,
    "tcp_user_timeout": 15_000, "application_name": "waterclock",
}  # fmt: skip
"""Settings of the connection where the URL says nothing: a machine that is gone is noticed."""

_LOST = {"57P01", "57P02", "57P03", "57P05", "25P03"}
"""The server ends the connection: shut down, crashed, starting, silent for too long."""
_HOPELESS = ("does not exist", "authentication failed", "no password supplied", "pg_hba.conf")
"""What a server says that will say the same again."""
T = TypeVar("T")
Connection = psycopg.Connection[tuple[Any, ...]]
log = logging.getLogger("waterclock")


class Postgres(Database):
    def __init__(self, root: Path, url: str, schema: str, create: bool = False) -> None:
        super().__init__(root)
        self.url = url
        self.schema = schema
        self._writer = uuid.uuid4().hex
        self._tried = 0
        """The number of the newest transaction."""
        self._done = 0
        """The number of the newest one that is known to be committed."""
        self._away_since: float | None = None
        self._patience = 0.0 if create else OPENING
        self._closed = False
        self._connection: Connection | None = None
        try:
            self._open()
            if create:
                self._create()
            elif not self._is_there():
                raise StoreError("STORE.NO_CATALOG", url=url, store=root, schema=schema)
            self._migrate()
        except BaseException:
            self._drop_connection()
            raise
        self._patience = WAIT

    def now(self) -> int:
        return int(self.query("SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT)")[0][0])

    def close(self) -> None:
        with self._lock:
            self._closed = True
            try:
                if self._connection is not None and self._done:
                    self._connection.execute(
                        f"DELETE FROM writers WHERE id = %s OR seen < now() - interval '{FORGET}'", [self._writer]
                    )
            except psycopg.Error:
                pass  # another process forgets it later
            self._drop_connection()

    def drop(self) -> None:
        """Removes the catalog: another process was faster to make that of the store."""
        self._answered(lambda: self._open().execute(f"DROP SCHEMA {self.schema} CASCADE"))
        self._drop_connection()

    def server(self) -> tuple[str, bool]:
        version, synced = self.query("SELECT current_setting('server_version'), current_setting('fsync')")[0]
        return f"PostgreSQL {version.split()[0]} at {self.url}", synced == "on"

    # -- statements ----------------------------------------------------------------------------------------

    def _execute(self, sql: str, values: tuple[Any, ...]) -> int:
        return self._answered(lambda: self._open().execute(translated(sql), values).rowcount)

    def _query(self, sql: str, values: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        while True:
            try:
                return self._answered(lambda: self._open().execute(translated(sql), values).fetchall())
            except Interrupted:
                if self._depth:
                    raise

    def _begin(self, durable: bool) -> None:
        self._tried += 1
        # One message, so one round trip.
        text = f"""BEGIN; LOCK TABLE meta IN EXCLUSIVE MODE;
            INSERT INTO writers VALUES ('{self._writer}', {self._tried}, now())
            ON CONFLICT (id) DO UPDATE SET number = excluded.number, seen = excluded.seen"""
        while True:
            try:
                self._answered(lambda: self._open().execute(text))
                return
            except Interrupted:
                pass

    def _begin_to_read(self) -> None:
        self._answered(lambda: self._open().execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"))

    def _commit(self) -> None:
        try:
            answer = self._answered(lambda: self._open().execute("COMMIT").statusmessage)
            assert answer == "COMMIT", "an error in the transaction was passed over"
            self._done = self._tried
        except Interrupted:
            self._open()  # looks whether it happened
            if self._done != self._tried:
                raise
            self._away_since = None

    def _roll_back(self) -> None:
        if self._connection is not None:
            try:
                self._connection.execute("ROLLBACK")
            except psycopg.Error:
                self._drop_connection()

    def _answered(self, ask: Callable[[], T]) -> T:
        """What the server answers; ``Interrupted`` if it is gone."""
        if self._depth and self._connection is None:
            raise Interrupted(url=self.url)  # the rest of a transaction that is lost
        try:
            answer = ask()
            self._away_since = None
            return answer
        except psycopg.Error as error:
            connection = self._connection
            if connection is None or connection.closed or error.sqlstate in _LOST or (error.sqlstate or "")[:2] == "08":
                self._drop_connection()
                self._away_since = self._away_since or time.monotonic()
                if time.monotonic() - self._away_since > self._patience:  # it comes and goes
                    raise self._no_server(error) from error
                raise Interrupted(url=self.url) from error
            raise self._refused(error) from error

    # -- connections ---------------------------------------------------------------------------------------

    def _open(self) -> Connection:
        """The connection; a new one, once the server is back, if it was lost."""
        if self._connection is not None:
            return self._connection
        if self._closed:
            raise StoreError("STORE.NO_SERVER", url=self.url, reason="it was closed")
        began = self._away_since = self._away_since or time.monotonic()
        tries = 0
        while True:
            try:
                connection = self._connect()
                break
            except psycopg.OperationalError as error:
                hopeless = self._patience < WAIT and any(words in str(error) for words in _HOPELESS)
                if hopeless or time.monotonic() - began >= self._patience:
                    raise self._no_server(error) from error
                if tries == 0:
                    log.warning("The catalog at %s is away (%s); waiting for it.", self.url, _reason(error))
                time.sleep(PAUSES[min(tries, len(PAUSES) - 1)])
                tries += 1
            except psycopg.Error as error:
                raise self._refused(error) from error
        if tries:
            log.warning("The catalog at %s is back after %.1f s.", self.url, time.monotonic() - began)
        self._connection = connection
        self.reachable_since = time.monotonic()
        return connection

    def _look_up(self, connection: Connection) -> None:
        """Whether the last transaction happened, and that those before it are still there."""
        if not self._tried:
            return
        with connection.transaction():
            connection.execute("LOCK TABLE meta IN EXCLUSIVE MODE")
            row = connection.execute("SELECT number FROM writers WHERE id = %s", [self._writer]).fetchone()
        found = int(row[0]) if row else 0
        if found < self._done:
            raise StoreError("STORE.WENT_BACK", url=self.url)
        self._done = found

    def _connect(self) -> Connection:
        settings = {**DEFAULTS, **conninfo_to_dict(self.url), "client_encoding": "utf8"}
        connection = psycopg.connect(**settings, autocommit=True)  # type: ignore[arg-type]
        try:
            connection.execute(
                f"""SET search_path TO {self.schema}; SET idle_in_transaction_session_timeout TO '{SILENCE}s';
                    SELECT set_config('synchronous_commit', 'on', false)
                    WHERE current_setting('synchronous_commit') = 'off'"""
            )
            self._look_up(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _drop_connection(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    # -- the schema ----------------------------------------------------------------------------------------

    def _is_there(self) -> bool:
        return bool(self.query("SELECT 1 FROM pg_tables WHERE schemaname = ? AND tablename = 'meta'", self.schema))

    def _create(self) -> None:
        self._answered(
            lambda: self._open().execute(
                f"""BEGIN; CREATE SCHEMA {self.schema};
                    CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
                    CREATE TABLE writers (id TEXT PRIMARY KEY, number BIGINT NOT NULL, seen TIMESTAMPTZ NOT NULL);
                    COMMIT"""
            )
        )

    # -- errors --------------------------------------------------------------------------------------------

    def _no_server(self, error: psycopg.Error) -> StoreError:
        return StoreError("STORE.NO_SERVER", url=self.url, reason=_reason(error))

    def _refused(self, error: psycopg.Error) -> StoreError:
        if isinstance(error, DiskFull):
            return StoreError("STORE.FULL", path=self.url)
        fix = "Restore the database from a copy, or start a new store."
        if isinstance(error, InsufficientPrivilege):
            fix = "Let the user make schemas there (GRANT CREATE ON DATABASE), or name another user or database."
        return StoreError("STORE.REFUSED", url=self.url, reason=_reason(error), fix=fix)


@cache
def translated(sql: str) -> str:
    """The catalog's SQL as PostgreSQL has it. Texts sort by their code points, as in SQLite."""
    if sql.startswith(("CREATE TABLE", "ALTER TABLE")):
        sql = sql.replace("INTEGER PRIMARY KEY", "BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY")
        return sql.replace("INTEGER", "BIGINT").replace("TEXT", 'TEXT COLLATE "C"')
    return sql.replace("%", "%%").replace("?", "%s")


def checked(url: str) -> dict[str, Any]:
    """The settings in a URL, which must be one of PostgreSQL and hold no password: it is written down in the store."""
    shown, _, rest = url.rpartition("@")
    shown = f"{shown.rsplit(':', 1)[0]}:...@{rest}" if shown.count(":") > 1 else url
    if not url.startswith(("postgresql://", "postgres://")):
        fix = "Write postgresql://user@host/database, or leave it out to have the catalog in the store's directory."
        raise ConfigError("CONFIG.BAD_CATALOG", url=shown, reason="it is no URL of PostgreSQL", fix=fix)
    try:
        settings = conninfo_to_dict(url)
    except psycopg.ProgrammingError as error:
        fix = "Write postgresql://user@host/database."
        raise ConfigError("CONFIG.BAD_CATALOG", url=shown, reason=_reason(error), fix=fix) from None
    if "password" in settings:
        fix = "Leave it out: it is taken from PGPASSWORD, from ~/.pgpass or from a service file."
        shown = shown if shown != url else url.partition("?")[0]
        raise ConfigError("CONFIG.BAD_CATALOG", url=shown, reason="it holds a password", fix=fix)
    return settings


def _reason(error: BaseException) -> str:
    """Its first line; of a failed connection, what the server or the system said."""
    text = (str(error).strip().splitlines() or [type(error).__name__])[0]
    return text.rpartition("failed: ")[2].removeprefix("FATAL:  ").rstrip(".")
