"""Where the cases of a sweep run: here or by an executor; and what becomes of those whose worker dies.

One thread for linear algebra where several cases run at once; otherwise every worker starts one for each core.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import BrokenExecutor, Executor, Future, as_completed
from contextlib import contextmanager, nullcontext
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from fem_mbs.contracts import is_of, shown
from fem_mbs.errors import ModelError
from fem_mbs.studies.sweep_table import definition

Function: TypeAlias = Callable[..., Mapping[str, Any]]
Case: TypeAlias = dict[str, Any]
VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
RESERVED = ("error", "sweep")
"""Names of what failed, and of what the table says of a row; neither cases nor results may have them."""
HOPELESS = 3
"""So many workers that die one after the other, before any has returned anything, show that none can work."""
DIED = {
    "error": "BrokenProcessPool: the worker that ran it ended abruptly: it was killed, ran out of memory, crashed in "
    "compiled code, or could not import the script, which needs `if __name__ == '__main__':` around what it runs"
}


class Answer(NamedTuple):
    """What became of a case: its number, the result or a dict with nothing but "error", and how long it took in s."""

    number: int
    result: dict[str, Any]
    seconds: float = 0.0


@contextmanager
def one_thread_each() -> Iterator[None]:
    """For workers that start within, by the environment that they inherit, and for threads of this process."""
    missing = [name for name in VARIABLES if name not in os.environ]
    os.environ.update(dict.fromkeys(missing, "1"))
    try:
        with _limits():
            yield
    finally:
        for name in missing:
            os.environ.pop(name, None)


@cache
def one_thread_here() -> Any:
    """For a worker that ran before, from now on."""
    return _limits()


def _limits() -> Any:
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:  # an extra; the environment is enough for processes that are new
        return nullcontext()
    return threadpool_limits(1)


def run_case(number: int, function: Function, case: Case, home: int) -> Answer:
    """The answer of a case, where the executor runs it; ``home`` is the process that sweeps.

    Whatever comes back can travel: an error as its text, a result as what was pickled once.
    """
    away = os.getpid() != home
    if away:
        one_thread_here()
    begun = time.perf_counter()
    try:
        with _interrupts():
            result = _checked(function(**case), away)
    except (Exception, SystemExit) as error:
        result = {"error": f"{type(error).__name__}: {error}{_place(error)}"}
    return Answer(number, result, time.perf_counter() - begun)


def answers(function: Function, cases: Mapping[int, Case], executor: Executor | None) -> Iterator[Answer]:
    """The answers of all cases, as they come.

    A process that dies takes its pool along, and does not say which case it ran. It was one of the first that have no
    answer, as many as there were workers. These run again, each in a pool of its own, and the others in a new pool.
    """
    if executor is None:
        yield from (run_case(number, function, case, os.getpid()) for number, case in cases.items())
        return
    left, dead = dict(cases), 0
    with one_thread_each():
        yield from _submitted(function, left, executor)
        while left and is_pool(executor):
            workers: int = executor._max_workers  # type: ignore[attr-defined]
            for number in list(left)[:workers]:
                one = {number: left.pop(number)}
                with _like(executor, 1) as alone:
                    yield from _submitted(function, one, alone)
                if one:
                    dead += 1
                    yield Answer(number, DIED)
            if dead >= HOPELESS and dead + len(left) == len(cases):
                break
            with _like(executor, workers) as pool:
                yield from _submitted(function, left, pool)
    broken = DIED if dead else {"error": f"BrokenExecutor: {type(executor).__name__} broke before it was its turn"}
    yield from (Answer(number, broken) for number in left)


def _submitted(function: Function, left: dict[int, Case], executor: Executor) -> Iterator[Answer]:
    """Answers of cases that an executor runs; in ``left`` stay those that it takes along as it breaks."""
    home, futures = os.getpid(), dict[Future[Answer], int]()
    try:
        for number, case in left.items():
            futures[executor.submit(run_case, number, function, case, home)] = number
    except BrokenExecutor:
        pass
    except RuntimeError as error:
        raise ModelError(f"sweep: executor {shown(executor)} takes no cases: {error}") from error
    try:
        for future in as_completed(futures):  # once taken, none is kept: dask would compute it again on a loss
            number = futures.pop(future)
            try:
                answer = future.result()
            except BrokenExecutor:
                continue
            except Exception as error:  # of the executor: what a case raises is part of its answer
                answer = Answer(number, {"error": f"{type(error).__name__}: {error}"})
            del left[number]
            yield answer
    finally:
        for future in futures:
            future.cancel()


def is_pool(executor: Any) -> bool:
    """Whether an executor is one whose processes take it along as they die."""
    return is_of(executor, "concurrent.futures.process", "ProcessPoolExecutor")


def _like(pool: Any, workers: int) -> Any:
    """A new pool that starts its workers as another one."""
    return type(pool)(workers, pool._mp_context, pool._initializer, pool._initargs)


def check_travels(function: Function, cases: Mapping[int, Case], executor: Executor | None) -> None:
    """Refuse what cannot go to other processes, where an executor sends it there by pickle alone."""
    if executor is None or not (is_pool(executor) or type(executor).__module__.split(".")[0] == "mpi4py"):
        return
    there = f"cannot go to the processes of {type(executor).__name__}"
    if (reason := _stays(function) or _unknown(function, executor)) is not None:
        raise ModelError(
            f"sweep: function {shown(function)} {there}: {reason}. Write it with def at the top of a file, import it, "
            "and give it what it needs by its cases or functools.partial; threads, and dask's Client.get_executor(), "
            "take lambdas too"
        )
    for number, case in cases.items():
        for key, value in case.items():
            if (reason := _stays(value)) is not None:
                raise ModelError(
                    f"sweep: cases[{number}]: {key!r} {there}, received {shown(value)}: {reason}. Give numbers, and "
                    "let the function build the model"
                )


def _unknown(function: Function, executor: Any) -> str | None:
    """Why a function that can travel is not found where it arrives; None if it is."""
    context = executor._mp_context if is_pool(executor) else None
    forked = context is None or context.get_start_method() == "fork"
    if forked or "__file__" in vars(sys.modules["__main__"]) or definition(function).__module__ != "__main__":
        return None
    return "it was written at a prompt or in a notebook, which new processes do not see"


def _checked(result: Any, away: bool) -> dict[str, Any]:
    """What a function returned, if it is the result of a case."""
    if not isinstance(result, Mapping):
        raise ModelError(f"sweep: the function must return a dict of results by name, it returned {shown(result)}")
    for key, value in result.items():
        if not isinstance(key, str):
            raise ModelError(f"sweep: results need texts as names, the function returned {shown(key)} as one")
        if key in RESERVED:
            raise ModelError(f"sweep: the function returned {key!r}, which rows have of their own; call it otherwise")
        if away and (reason := _stays(value)) is not None:
            raise ModelError(
                f"sweep: the function returned {key!r} = {shown(value)}, which cannot come back from another process: "
                f"{reason}. Return numbers and arrays"
            )
    return dict(result)


def _stays(value: object) -> str | None:
    """Why a value cannot travel between processes; None if it can."""
    try:
        pickle.dumps(value)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


def _place(error: BaseException) -> str:
    """Where in the file of the function it failed."""
    frames = traceback.extract_tb(error.__traceback__)[1:]
    own = [frame for frame in frames if frame.filename == frames[0].filename and frame.filename != __file__]
    return f" ({Path(own[-1].filename).name}, line {own[-1].lineno}, in {own[-1].name})" if own else ""


@contextmanager
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
