"""Where a store has its catalog: in its directory, or in the database that a file there names."""

from __future__ import annotations

import os
import re
import uuid
from pathlib import Path
from types import ModuleType

from waterclock.catalog import sqlite
from waterclock.catalog.database import Database
from waterclock.errors import StoreError
from waterclock.storage.blobs import sync_new

FILE = "catalog.url"
"""Two words: the URL of the database, without a password, and the schema of this store in it."""
VARIABLE = "WATERCLOCK_CATALOG"
_SCHEMA = re.compile(r"waterclock_[0-9a-f]{32}")


def is_in(root: Path) -> bool:
    return (root / FILE).exists() or (root / sqlite.FILE).exists()


def connected(root: Path, url: str | None) -> Database:
    """The database of the store in ``root``, made if there is none. ``url`` must be that of a store that is there."""
    if (root / FILE).exists():
        return _recorded(root, url)
    if (root / sqlite.FILE).exists():
        if url is not None:
            raise _other(root, str(root / sqlite.FILE), url)
        return sqlite.Sqlite(root)
    url = url or os.environ.get(VARIABLE) or None
    return sqlite.Sqlite(root) if url is None else _made(root, url)


def _recorded(root: Path, given: str | None) -> Database:
    postgres = _postgres(root)
    words = (root / FILE).read_text().split()
    if len(words) != 2 or not _SCHEMA.fullmatch(words[1]):
        fix = (
            "Write the URL of the database and the store's schema in it: postgresql://user@host/database waterclock_..."
        )
        reason = "it does not name a database and a schema"
        raise StoreError("STORE.DAMAGED", what=str(root / FILE), reason=reason, fix=fix)
    url, schema = words
    settings = postgres.checked(url)
    if given is not None and postgres.checked(given) != settings:
        raise _other(root, url, given)
    database: Database = postgres.Postgres(root, url, schema)
    return database


def _made(root: Path, url: str) -> Database:
    """The schema first, then the file that names it: a store never names what is not there."""
    postgres = _postgres(root)
    postgres.checked(url)
    schema = f"waterclock_{uuid.uuid4().hex}"
    database: Database = postgres.Postgres(root, url, schema, create=True)
    draft = root / f"{FILE}.{schema}"
    try:
        draft.write_text(f"{url}\n{schema}\n")
        os.link(draft, root / FILE)  # fails if another process was faster
        sync_new(root / FILE)
    except FileExistsError:
        postgres.Postgres.drop(database)
        return _recorded(root, url)
    except OSError as error:
        postgres.Postgres.drop(database)
        raise StoreError("STORE.NOT_WRITABLE", store=root, reason=error.strerror) from error
    finally:
        draft.unlink(missing_ok=True)
    return database


def _postgres(root: Path) -> ModuleType:
    """Only a store that has its catalog there needs the library."""
    try:
        from waterclock.catalog import postgres
    except ImportError as error:
        raise StoreError("STORE.NO_LIBRARY", store=root, reason=error) from error
    return postgres


def _other(root: Path, found: str, given: str) -> StoreError:
    return StoreError("STORE.OTHER_CATALOG", store=root, found=found, given=given, file=root / FILE)
