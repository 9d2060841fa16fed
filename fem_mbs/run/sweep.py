"""Many runs of one function: a parameter study from a laptop to a cluster.

docs/sweep.md.
"""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import json
import os
import signal
import sys
import threading
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import BrokenExecutor, Executor, Future, as_completed
from pathlib import Path as FilePath
from types import FunctionType
from typing import Annotated, Any, NoReturn, TypeAlias

import numpy as np

from fem_mbs.contracts import Path, checked, shown
from fem_mbs.contracts.arguments import name_of
from fem_mbs.errors import LOG, ModelError, StoreError, progress_bar
from fem_mbs.linear.direct import one_thread

Function: TypeAlias = Callable[..., Mapping[str, Any]]
Row: TypeAlias = dict[str, Any]
SEED_BITS, DIGITS = 53, 16
RESERVED = ("error", "sweep")
"""Names of what failed, and of what the store says of a row; neither cases nor results may have them."""
VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
DIED = (
    "a worker ended abruptly, and its pool with it: it was killed, ran out of memory, crashed in compiled code, or "
    "could not import the function: write it with def in a file that has `if __name__ == '__main__':` around what it "
    "runs. With a store, the same sweep in a new pool goes on"
)
PLAIN = (
    ". What goes to other processes and comes back from them has no lambdas and no functions within functions: write "
    "these with def at the top of a file, functions of time as laws (Ramp, Table, ...), or return numbers and arrays"
)


def _executor(value: object, label: object) -> Executor | None:
    if value is None or isinstance(value, Executor):
        return value
    hint = "client.get_executor()" if type(value).__module__.startswith("distributed") else "ProcessPoolExecutor(4)"
    raise ModelError(f"{label} must be an Executor as in concurrent.futures, such as {hint}, received {shown(value)}")


@checked
def sweep(
    function: Function,
    cases: Iterable[dict[str, Any]],
    executor: Annotated[Executor | None, _executor] = None,
    *,
    store: Path | None = None,
    seed: int | None = None,
    progress: bool = False,
) -> list[dict[str, Any]]:
    """Call a function for many cases, one after the other or wherever an executor runs them.

    A case that fails does not end the sweep: its row says why. BLAS gets one thread in each worker. Models, laws and
    solutions can travel to processes and back where no lambdas are in them; it costs less to let the function build the
    model, run it and return numbers.

    Parameters
    ----------
    function : function
        Takes the values of a case as keyword arguments; returns a dict of results.
    cases : list of dict
        The arguments of each case. Equal cases run as often as they are given.
    executor : concurrent.futures.Executor, optional
        Threads or processes of :mod:`concurrent.futures`, ``dask.distributed.Client.get_executor()``,
        ``mpi4py.futures.MPIPoolExecutor``; by default one case after the other in this process. Where a worker of a
        process pool dies, all rows that are not finished have its error.
    store : str or Path, optional
        File of JSON lines, ``.jsonl``, that receives the rows as they come. Cases that it has results of are not run
        again; those that failed are. The function then is one with a name, and cases and results consist of numbers,
        texts, truth values, None, and lists, arrays and dicts of these; arrays become lists.
    seed : int, optional
        Gives each case an argument ``seed`` of its own, a whole number that depends on ``seed``, the case, and how
        often it was given before, not on the executor or on other cases.
    progress : bool
        Show a progress bar (needs tqdm, ``pip install fem_mbs[progress]``).

    Returns
    -------
    list of dict
        A row for each case, in the order of the cases: its arguments and its results; or its arguments and "error", the
        error as a text, if it failed.

    Raises
    ------
    ModelError
        Before anything is run: if an argument is not valid, or the store holds something else.
    StoreError
        If a row cannot be written; those before are in the store, and the same call goes on.
    KeyboardInterrupt
        On Ctrl-C; what is in the store by then stays there.

    Examples
    --------
    >>> import fem_mbs as mbs
    >>> def sag(length, load):
    ...     return {"sag": load * length**3 / 3}
    >>> mbs.sweep(sag, [{"length": 1.0, "load": 3.0}, {"length": 2.0, "load": "heavy"}])[0]
    {'length': 1.0, 'load': 3.0, 'sag': 1.0}
    """
    own = _with_seeds(list(cases), seed)
    for number, case in enumerate(own):
        for key in case.keys() & RESERVED:
            raise ModelError(f"sweep: cases[{number}] has the name {key!r}, which rows have of their own; rename it")
    table = None if store is None else CaseTable(FilePath(store), function, _keys(own))
    rows: dict[int, Row] = {} if table is None else dict(table.finished)
    left = {k: case for k, case in enumerate(own) if k not in rows}
    LOG.info("sweep: %d cases of %s, %d of them in the store", len(own), name_of(function), len(rows))
    show = progress_bar(progress, len(rows), len(own), "sweep", "case")

    def receive(number: int, result: Row) -> None:
        case = own[number]
        rows[number] = {**case, **result} if table is None else table.add(number, case, result)
        if show is not None:
            show(len(rows))

    try:
        if executor is None:
            for number, case in left.items():
                receive(number, run_case(function, case))
        else:
            _run_by(executor, function, left, receive)
    except KeyboardInterrupt:
        kept = "nothing is kept without a store" if table is None else f"they are in '{store}'"
        LOG.warning("sweep: interrupted after %d of %d cases; %s", len(rows), len(own), kept)
        raise
    finally:
        if table is not None:
            table.close()
        if show is not None:
            show(None)
    result = [rows[k] for k in range(len(own))]
    if failed := [row for row in result if "error" in row]:
        LOG.warning("sweep: %d of %d cases failed, the first: %s", len(failed), len(result), failed[0])
    return result


def _with_seeds(cases: list[Row], seed: int | None) -> list[Row]:
    """Cases with seeds of their own, if there is one for all."""
    if seed is None:
        return cases
    for number, case in enumerate(cases):
        if "seed" in case:
            raise ModelError(
                f"sweep: cases[{number}] has a 'seed' of its own, {shown(case['seed'])}; leave out seed={seed} of the "
                "sweep, or that of the case"
            )
    return [{**case, "seed": int(key, 16) % 2**SEED_BITS} for case, key in zip(cases, _keys(cases, seed), strict=True)]


def _keys(cases: list[Row], *more: int) -> list[str]:
    """What tells the cases apart, also from equal ones that come before."""
    before: Counter[str] = Counter()
    result = []
    for number, case in enumerate(cases):
        key = digest(plain(case, f"sweep: cases[{number}]: with a store or a seed, a value"), *more)
        result.append(digest(key, before[key]))
        before[key] += 1
    return result


@one_thread
def _run_by(executor: Executor, function: Function, cases: dict[int, Row], receive: Callable[[int, Row], None]) -> None:
    """Cases where an executor runs them: their results as they come, and of those that it loses, why."""
    missing = [name for name in VARIABLES if name not in os.environ]
    os.environ.update(dict.fromkeys(missing, "1"))  # for workers that start now, where others have a thread a core
    futures: dict[Future[Row], int] = {}
    try:
        try:
            for number, case in cases.items():
                futures[executor.submit(run_away, function, case, number)] = number
        except RuntimeError as error:  # it is broken, or was shut down
            if not futures:
                raise ModelError(f"sweep: executor {shown(executor)} takes no cases: {error}") from error
        lost = cases.keys() - set(futures.values())
        for future in as_completed(futures):  # once taken, none is kept: dask would compute it again on a loss
            number = futures.pop(future)
            try:
                result = future.result()
            except Exception as error:  # of the executor: what a case raises is part of its result
                plain = PLAIN if "pickle" in str(error) else ""
                told = DIED if isinstance(error, BrokenExecutor) else f"{error}{plain}"
                result = {"error": f"{type(error).__name__}: {told}"}
            receive(number, result)
        for number in lost:
            receive(number, {"error": f"BrokenExecutor: {DIED}"})
    finally:
        for future in futures:
            future.cancel()
        for name in missing:
            os.environ.pop(name, None)


@one_thread
def run_away(function: Function, case: Row, number: int) -> Row:
    """A case in a worker; its number tells it from equal ones, which dask takes for one."""
    return run_case(function, case)


def run_case(function: Function, case: Row) -> Row:
    """What a function returns of a case, or its error as a text, which can travel."""
    try:
        with _interrupts():
            result = function(**case)
        if not (
            isinstance(result, Mapping) and all(isinstance(key, str) for key in result) and not result.keys() & RESERVED
        ):
            raise ModelError(
                f"sweep: the function must return a dict of results by names, none of them {' or '.join(RESERVED)}, it "
                f"returned {shown(result)}"
            )
        for name in result.keys() & case.keys():
            if not np.array_equal(result[name], case[name]):
                raise ModelError(
                    f"sweep: the function returned {shown(result[name])} as '{name}', which is the name of its "
                    f"argument, {shown(case[name])}: a row has both; give the result a name of its own"
                )
        return dict(result)
    except (Exception, SystemExit) as error:
        return {"error": f"{type(error).__name__}: {error}{_place(error)}"}


def _place(error: BaseException) -> str:
    """Where in the file of the function it failed."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename != __file__]
    own = [frame for frame in frames if frame.filename == frames[0].filename]
    return f" ({FilePath(own[-1].filename).name}, line {own[-1].lineno}, in {own[-1].name})" if own else ""


@contextlib.contextmanager
def _interrupts() -> Iterator[None]:
    """Let Ctrl-C end a case: runs return what they have then, which would pass for the result of a whole run."""
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    came = []

    def note(number: int, frame: Any) -> None:
        came.append(number)
        before(number, frame)

    signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if came:
        raise KeyboardInterrupt


class CaseTable:
    """A file of rows, one JSON line each; beside a row it has, as "sweep", its function and a key of its case.

    Attributes
    ----------
    finished : dict of int to dict
        The rows without errors that were there, by the numbers of their cases.
    """

    def __init__(self, path: FilePath, function: Function, keys: list[str]) -> None:
        if path.suffix != ".jsonl":
            raise ModelError(
                f"sweep: store is a file of JSON lines, give it a name such as '{path.with_suffix('.jsonl')}', "
                f"received '{path}'"
            )
        self._path, self._keys, self._about = path, keys, _about(function)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("a+b", buffering=0)
            rows = self._read()
        except OSError as error:
            raise ModelError(f"sweep: cannot write store '{path}': {error}") from error
        self.finished = {number: rows[key] for number, key in enumerate(keys) if key in rows}
        self.close = self._file.close

    def add(self, number: int, case: Row, result: Row) -> Row:
        """Append the row of a case, and return it.

        Raises
        ------
        StoreError
            If it cannot be written; those before are in the file.
        """
        row: Row = plain(case, "")
        try:
            row |= {key: plain(value, f"{key!r}, with a store,") for key, value in result.items()}
        except ModelError as error:
            row["error"] = f"ModelError: sweep: the function returned {error}; solution.save writes whole runs"
        line = json.dumps({**row, "sweep": {**self._about, "case": self._keys[number]}})
        view, end = memoryview(line.encode() + b"\n"), os.fstat(self._file.fileno()).st_size
        try:
            while len(view):
                view = view[self._file.write(view) :]
        except OSError as error:
            with contextlib.suppress(OSError):
                self._file.truncate(end)  # a part of a row
            raise StoreError(
                f"sweep: cannot write '{self._path}': {error.strerror or error}. The rows so far are in it; with more "
                "space, the same call goes on"
            ) from error
        return row

    def _read(self) -> dict[str, Row]:
        """Rows that are there, up to where the last one was cut, by the keys of their cases."""
        self._file.seek(0)
        lines = self._file.read().split(b"\n")
        rows: dict[str, Row] = {}
        changed = 0
        for number, line in enumerate(lines[:-1], 1):
            try:
                row = json.loads(line)
                about = row.pop("sweep")
                name, key, source = about["function"], about["case"], about["source"]
            except (ValueError, KeyError, TypeError, AttributeError):
                self._refuse(f"line {number} is no row of a sweep, received {shown(line)}; give the name of a new file")
            if name != self._about["function"]:
                self._refuse(f"it has rows of {name}, not of {self._about['function']}; give each a file of its own")
            rows.pop(key, None)
            if "error" not in row:
                rows[key] = row
                changed += source != self._about["source"]
        if lines[-1]:
            LOG.warning("sweep: the last line of '%s' was cut, its case runs again", self._path)
            self._file.truncate(sum(map(len, lines[:-1])) + len(lines) - 1)
        if changed:
            LOG.warning(
                "sweep: the file of %s has changed since %d rows of '%s' were computed; they are taken as they are, "
                "remove the file to compute them again",
                *(self._about["function"], changed, self._path),
            )
        return rows

    def _refuse(self, why: str) -> NoReturn:
        self._file.close()
        raise ModelError(f"sweep: store '{self._path}': {why}") from None


def _about(function: Function) -> dict[str, str]:
    """What a row says of a function: its name, and a digest of the file that it stands in, where there is one."""
    if not isinstance(function, FunctionType) or "<" in function.__qualname__:
        raise ModelError(
            f"sweep: a store tells rows of one function from those of others by its name, received {shown(function)}; "
            "write it with def at the top of a file, and give what it depends on as cases"
        )
    source = ""
    for place in (function, sys.modules.get(function.__module__)):
        with contextlib.suppress(OSError, TypeError):
            source = digest(inspect.getsource(place))  # type: ignore[arg-type]
    module = FilePath(function.__code__.co_filename).stem if function.__module__ == "__main__" else function.__module__
    return {"function": f"{module.rpartition('.')[2]}.{function.__qualname__}", "source": source}


def plain(value: Any, label: str) -> Any:
    """A value as a table can hold it, or a :class:`ModelError` that begins with a label."""
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [plain(part, label) for part in value]
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {key: plain(part, label) for key, part in value.items()}
    raise ModelError(
        f"{label} must be a number, a text, a truth value, None, or a list, an array or a dict of these, received "
        f"{shown(value)}"
    )


def digest(*parts: Any) -> str:
    """A short text that tells plain values apart."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:DIGITS]
