"""The file of a run: a database of SQLite, written in transactions and opened as if someone meant harm.

Its tables are of one form, numbered contents with check sums: ``model`` (what was asked for), ``steps`` (blocks of
rows, numbered by their first one) and ``checkpoints`` (where the run stands, number 0, the states of events, and,
numbered -1 - k, rows of states just before those of the rows k, at which something jumps).
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import stat
import threading
import weakref
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from fem_mbs.contracts import shown
from fem_mbs.errors import FemMbsError, StoreError

APPLICATION, VERSION = 0x464D4253, 2
TABLES = ("model", "steps", "checkpoints")
SCHEMA = {
    name: f"CREATE TABLE {name} (number INTEGER PRIMARY KEY, content BLOB NOT NULL, crc32 INTEGER NOT NULL)"
    for name in TABLES
}
WAIT = 600
"""Seconds that a writer waits for readers, and they for it."""
BLOCK = 2**18
"""Bytes of a block, unless one row is larger."""
TAKEN = "'{}' is being written to by another run, which goes on"
HDF5 = b"\x89HDF\r\n\x1a\n"


class Database:
    """A file of a run that is open: to be read, or to be written to by this run alone."""

    def __init__(self, path: Path, write: bool = False) -> None:
        self.open(path, write)

    def open(self, path: Path, write: bool = False) -> None:
        """Open a file, as one that was closed."""
        self.path, status = path, os.stat(path)
        if not stat.S_ISREG(status.st_mode):
            what = "a folder" if stat.S_ISDIR(status.st_mode) else "a pipe or a device"
            raise StoreError(f"'{path}' is {what}, and no run")
        if not status.st_size:
            raise StoreError(f"'{path}' is empty")
        mode = "rw" if write or os.access(path, os.W_OK) else "ro"
        self._connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode={mode}",
            timeout=0 if write else WAIT,
            isolation_level=None,
            check_same_thread=False,
            uri=True,
        )
        self.close = weakref.finalize(self, self._connection.close)
        try:
            self._check(write)
        except BaseException:
            self.close()
            raise

    def _check(self, write: bool) -> None:
        """Refuse what is no run, before anything else is read of it."""
        for pragma in ("trusted_schema = OFF", "cell_size_check = ON", "mmap_size = 0", "synchronous = NORMAL"):
            self._ask(f"PRAGMA {pragma}")
        ((application,),), ((version,),) = self._ask("PRAGMA application_id"), self._ask("PRAGMA user_version")
        schema = dict(self._ask("SELECT name, substr(sql, 1, 500) FROM sqlite_master"))
        if application != APPLICATION:
            raise StoreError(f"'{self.path}' is a database of another program")
        if version != VERSION:
            raise StoreError(
                f"'{self.path}' was written by a newer fem_mbs, in version {version} of the format; this one reads "
                f"version {VERSION}. Install the newer fem_mbs"
            )
        if schema != SCHEMA:
            raise StoreError(f"'{self.path}' is damaged: its tables are {shown(list(schema))}")
        if write:
            self._begin()
            self._ask(f"PRAGMA busy_timeout = {1000 * WAIT}")
            return
        self._ask("PRAGMA query_only = ON")
        ((pages,),), ((size,),) = self._ask("PRAGMA page_count"), self._ask("PRAGMA page_size")
        if os.stat(self.path).st_size < pages * size:
            raise StoreError(f"'{self.path}' was cut short: {pages} pages of {size} bytes are expected")
        if (found := self._ask("PRAGMA quick_check(1)")) != [("ok",)]:
            raise StoreError(f"'{self.path}' is damaged: {shown(found[0][0])}")

    def _ask(self, question: str, *values: object) -> list[tuple[Any, ...]]:
        return self._connection.execute(question, values).fetchall()

    def _begin(self) -> None:
        """Reserve the file: others may read it, none may write to it."""
        try:
            self._ask("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error):
                raise
            raise StoreError(TAKEN.format(self.path)) from None

    def sizes(self, table: str) -> list[tuple[int, int]]:
        """Numbers and sizes of the contents of a table, in order, none beyond the size of the file."""
        found = self._ask(f"SELECT number, length(content) FROM {table} ORDER BY number")
        if sum(size for _, size in found) > os.stat(self.path).st_size:
            raise StoreError(f"'{self.path}' is damaged: {table} are larger than the file")
        return found

    def content(self, table: str, number: int) -> bytes:
        """What was written."""
        found = self._ask(f"SELECT content, crc32 FROM {table} WHERE number = ?", number)
        if not found:
            raise StoreError(f"'{self.path}' is damaged: of its {table}, number {number} is missing")
        content, check = found[0]
        if not isinstance(content, bytes) or check != check_sum(table, number, content):
            raise StoreError(f"'{self.path}' is damaged: of its {table}, number {number} is not as it was written")
        return content

    def write(self, contents: Mapping[tuple[str, int], bytes], beyond: Mapping[str, int] | None = None) -> None:
        """Put contents into tables, and take out those from numbers ``beyond`` on: all of it, or nothing.

        Raises
        ------
        sqlite3.Error
            If it cannot be written.
        """
        try:
            for table, number in (beyond or {}).items():
                self._ask(f"DELETE FROM {table} WHERE number >= ?", number)
            for (table, number), content in contents.items():
                check = check_sum(table, number, content)
                self._ask(f"REPLACE INTO {table} VALUES (?, ?, ?)", number, content, check)
            self._ask("COMMIT")
        except BaseException:
            with contextlib.suppress(sqlite3.Error):
                if self._connection.in_transaction:
                    self._ask("ROLLBACK")
                self._begin()
            raise
        self._begin()


def check_sum(table: str, number: int, content: bytes) -> int:
    """Of a content at its place."""
    return zlib.crc32(content, zlib.crc32(f"{table} {number}".encode()))


def create(path: Path) -> None:
    """Make a file with empty tables, anew."""
    for old in (path, journal(path)):
        old.unlink(missing_ok=True)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("BEGIN")
        for text in (f"PRAGMA application_id = {APPLICATION}", f"PRAGMA user_version = {VERSION}", *SCHEMA.values()):
            connection.execute(text)
        connection.execute("COMMIT")


@contextlib.contextmanager
def new_file(path: Path, label: str, keep: bool = False) -> Iterator[Database]:
    """A new file to write to, which takes the place of another once it is complete, unless a run writes to that.

    It stays open to this run alone if ``keep``: of two that begin at once, one wins.

    Raises
    ------
    StoreError
        If it cannot be written; what was there then stays.
    """
    try:
        with _claimed(path) as place:
            with replaced(place) as new:
                create(new)
                database = Database(new, write=True)
                try:
                    yield database
                finally:
                    database.close()
                # of a run that was killed: SQLite would put it into the new file
                journal(place).unlink(missing_ok=True)
            if keep:
                database.open(path, write=True)
    except (OSError, sqlite3.Error) as error:
        why = reason(error) if isinstance(error, OSError) else error
        raise StoreError(f"{label}: cannot write '{path}': {why}; what was there stays") from error


_CLAIMING = threading.Lock()
"""Held by a thread while it claims a place: a file that a thread closes loses the locks of all threads."""


@contextlib.contextmanager
def _claimed(path: Path) -> Iterator[Path]:
    """The place of a file, to which no other run writes, or begins to: a file beside it is reserved meanwhile."""
    place = Path(os.path.realpath(path))
    place.parent.mkdir(parents=True, exist_ok=True)
    beside = place.with_name(f".{place.name}.claim")
    with _CLAIMING:
        if not beside.exists():
            beside.touch()
        number = _number(beside)
        try:
            claim = _reserve(beside, path)
        except sqlite3.OperationalError:
            if number and _number(beside) == number:
                raise
            raise StoreError(TAKEN.format(path)) from None  # another run has just begun, and taken it away
    with contextlib.closing(claim):
        if not number or _number(beside) != number:  # another run has just begun
            raise StoreError(TAKEN.format(path))
        try:
            if place.is_file():
                _reserve(place, path).close()
            yield replaceable(path, APPLICATION.to_bytes(4, "big"), 68)  # where SQLite has the application
        finally:
            with contextlib.suppress(OSError):
                beside.unlink()


def _number(file: Path) -> int:
    """By which the system knows a file; 0 for none."""
    try:
        return file.stat().st_ino
    except FileNotFoundError:
        return 0


def _reserve(file: Path, path: Path) -> sqlite3.Connection:
    """Reserve a file for the run that replaces ``path``, unless another one has."""
    address = f"{file.absolute().as_uri()}?mode=rw"
    connection = sqlite3.connect(address, timeout=0, isolation_level=None, check_same_thread=False, uri=True)
    try:
        connection.execute("BEGIN IMMEDIATE")
    except sqlite3.DatabaseError as error:
        if "locked" in str(error):
            connection.close()
            raise StoreError(TAKEN.format(path)) from None
    return connection


def journal(path: Path) -> Path:
    """Where SQLite keeps what a transaction has changed until it is complete."""
    return path.with_name(f"{path.name}-journal")


@contextlib.contextmanager
def guarded(path: Path, own: bool = True) -> Iterator[None]:
    """Whatever goes wrong in reading a file is an error that names it; of a model that is not its ``own``, its errors.

    Texts and numbers are those of nobody knows whom: what they make of the library may be any exception.
    """
    try:
        yield
    except FileNotFoundError:
        raise StoreError(f"there is no file '{path}'") from None
    except FemMbsError as error:
        if str(path) in str(error) or not (own or isinstance(error, StoreError)):
            raise
        raise StoreError(f"'{path}' cannot be opened: {error}") from error
    except sqlite3.DatabaseError as error:
        raise StoreError(f"'{path}' {_what_it_is(path, error)}") from error
    except Exception as error:
        raise StoreError(
            f"'{path}' cannot be opened: it is not, or no longer, a run as fem_mbs writes it "
            f"({type(error).__name__}: {shown(str(error))})"
        ) from error


def _what_it_is(path: Path, error: sqlite3.Error) -> str:
    """Why SQLite does not open a file."""
    with open(path, "rb") as file:
        content = file.read(4096 + len(HDF5))
    if HDF5 in (content[: len(HDF5)], content[4096:]):
        return (
            "is an HDF5 file: what solution.to_hdf5 writes is for other programs, and runs of fem_mbs 0.1 are read by "
            "fem_mbs 0.1 alone; mbs.load reads what simulate(store=...) and solution.save write"
        )
    if content.startswith(b"SQLite format 3\0"):
        return f"is damaged, or was cut short when it was copied ({error})"
    return "is a file of another kind"


def replaceable(path: Path, kind: bytes, at: int = 0) -> Path:
    """The place of a file, if there is none, or one of its ``kind``, which has these bytes ``at`` one place."""
    place = Path(os.path.realpath(path))  # a link leads to where its file is
    if place.exists() and not (place.is_file() or place.is_dir()):
        raise OSError(f"'{path}' is a pipe or a device")
    if place.is_file() and place.stat().st_size:
        with open(place, "rb") as file:
            if file.read(at + len(kind))[at:] != kind:
                raise OSError("it is a file of another kind, and not replaced: give another name, or remove it")
    place.parent.mkdir(parents=True, exist_ok=True)
    return place


@contextlib.contextmanager
def replaced(place: Path) -> Iterator[Path]:
    """A new file, which takes the place of another once it is complete; what was there stays if not."""
    new = place.with_name(f".{place.name}.{os.getpid()}.{threading.get_ident()}.new")
    try:
        yield new
        os.replace(new, place)
    finally:
        with contextlib.suppress(OSError):
            new.unlink()


def reason(error: OSError) -> str:
    """Why something cannot be written."""
    return os.strerror(error.errno) if error.errno else str(error)
