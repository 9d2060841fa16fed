"""Many runs of one function: a parameter study from a laptop to a cluster.

docs/sweep.md.
"""

from __future__ import annotations

import inspect
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Executor
from contextlib import nullcontext
from pathlib import Path as FilePath
from typing import Annotated, Any

from fem_mbs.contracts import Path, checked, shown
from fem_mbs.errors import ModelError
from fem_mbs.run.output import progress_bar
from fem_mbs.studies.sweep_table import CaseTable, Row, digest, name_of, plain
from fem_mbs.studies.sweep_workers import RESERVED, Answer, Case, answers, check_travels

LOG = logging.getLogger("fem_mbs")
SEED_BITS = 53


def _executor(value: object, label: object) -> Executor | None:
    if value is None or isinstance(value, Executor):
        return value
    hint = "client.get_executor()" if type(value).__module__.startswith("distributed") else "ProcessPoolExecutor(4)"
    raise ModelError(f"{label} must be an Executor as in concurrent.futures, such as {hint}, received {shown(value)}")


@checked
def sweep(
    function: Callable[..., Mapping[str, Any]],
    cases: Iterable[dict[str, Any]],
    executor: Annotated[Executor | None, _executor] = None,
    *,
    store: Path | None = None,
    seed: int | None = None,
    progress: bool = False,
) -> list[dict[str, Any]]:
    """Call a function for many cases, one after the other or wherever an executor runs them.

    A case that fails does not end the sweep, nor does a worker that dies: its row says why. BLAS gets one thread in
    each worker. Models, laws and solutions can travel to processes and back where no lambdas are in them; it costs less
    to let the function build the model, run it and return numbers.

    Parameters
    ----------
    function : function
        Takes the values of a case as keyword arguments; returns a dict of results.
    cases : list of dict
        The arguments of each case. Equal cases run as often as they are given.
    executor : concurrent.futures.Executor, optional
        Threads or processes of :mod:`concurrent.futures`, ``dask.distributed.Client.get_executor()``,
        ``mpi4py.futures.MPIPoolExecutor``; by default one case after the other in this process.
    store : str or Path, optional
        File of JSON lines, ``.jsonl``, that receives the rows as they come. Cases that it has results of are not run
        again; those that failed are. Cases and results then consist of numbers, texts, truth values, None, and lists,
        arrays and dicts of these; arrays become lists.
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
        Before anything is run: if a case does not fit the arguments of the function, the function or a case cannot go
        to the processes of the executor, or the store holds something else.
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
    _check(function, own)
    numbered = dict(enumerate(own))
    check_travels(function, numbered, executor)
    keys = _keys(own) if store is not None else []
    with nullcontext() if store is None else CaseTable(FilePath(store), function) as table:
        found = table.finished if table else {}
        rows: dict[int, Row] = {k: found[key] for k, key in enumerate(keys) if key in found}
        left = {k: case for k, case in numbered.items() if k not in rows}
        LOG.info("sweep: %d cases of %s, %d of them in the store", len(own), name_of(function), len(rows))
        show = progress_bar(progress, len(rows), len(own), "sweep", "case")
        try:
            for answer in answers(function, left, executor):
                rows[answer.number] = row = _row(own[answer.number], answer, table is not None)
                if table:
                    table.add(keys[answer.number], row, answer.seconds)
                if show is not None:
                    show(len(rows))
        except KeyboardInterrupt:
            kept = f"they are in '{store}'" if table else "nothing is kept without a store"
            LOG.warning("sweep: interrupted after %d of %d cases; %s", len(rows), len(own), kept)
            raise
        finally:
            if show is not None:
                show(None)
    result = [rows[k] for k in range(len(own))]
    if failed := [row for row in result if "error" in row]:
        LOG.warning("sweep: %d of %d cases failed, the first: %s", len(failed), len(result), failed[0])
    return result


def _row(case: Case, answer: Answer, stored: bool) -> Row:
    if not stored:
        return {**case, **answer.result}
    case = plain(case, "")
    try:
        return case | {key: plain(value, f"{key!r}, with a store,") for key, value in answer.result.items()}
    except ModelError as error:
        return {**case, "error": f"ModelError: sweep: the function returned {error}; solution.save writes whole runs"}


def _with_seeds(cases: list[Case], seed: int | None) -> list[Case]:
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


def _keys(cases: list[Case], *more: int) -> list[str]:
    """What tells the cases apart, also from equal ones that come before."""
    told = [
        digest(plain(case, f"sweep: cases[{number}]: with a store or a seed, a value"), *more)
        for number, case in enumerate(cases)
    ]
    before: Counter[str] = Counter()
    result = []
    for key in told:
        result.append(digest(key, before[key]))
        before[key] += 1
    return result


def _check(function: Callable[..., Any], cases: list[Case]) -> None:
    """Refuse cases that the function does not take."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # of some compiled functions
        signature = None
    for number, case in enumerate(cases):
        for key in RESERVED:
            if key in case:
                raise ModelError(
                    f"sweep: cases[{number}] has the name {key!r}, which rows have of their own; rename it"
                )
        try:
            if signature:
                signature.bind(**case)
        except TypeError as error:
            raise ModelError(
                f"sweep: cases[{number}] does not fit the arguments of {name_of(function)}{signature}: {error}, "
                f"received {shown(case)}"
            ) from None
