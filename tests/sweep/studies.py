"""What the tests sweep: at the top of a file, where other processes find it."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fem_mbs as mbs
from fem_mbs import Node
from fem_mbs.elements import PointToPoint, RevoluteJoint, RigidBody


def build(length: float, angle: float = 1.0) -> tuple[mbs.Model, Node]:
    """An arm on a hinge that a law drives."""
    model = mbs.Model(gravity=(0, 0, -9.81))
    bob = model.add_node((length, 0, 0), name="bob")
    model.add(RigidBody(bob, mass=2.0, inertia=(0.1, 0.1, 0.1)))
    law = PointToPoint(0.0, angle, duration=0.1)
    model.add(RevoluteJoint(model.ground, bob, axis=(0, 1, 0), point=(0, 0, 0), drive=law), name="hinge")
    return model, bob


def turned(length: float) -> dict[str, Any]:
    """Where the arm ends, and what turns it; it has to have a length."""
    if length <= 0.0:
        raise ValueError(f"no arm of {length} m")
    model, bob = build(length)
    solution = mbs.simulate(model, t_end=0.1, step=0.002)
    return {"place": solution.position(bob)[-1], "moment": solution.reaction(model.constraints[0])[1][25, 1]}


def square(x: float) -> dict[str, Any]:
    """Nothing but a number."""
    return {"square": x * x}


def drawn(x: float, seed: int) -> dict[str, Any]:
    """Something random."""
    return {"drawn": random.Random(seed).gauss(x, 1.0)}


def where(x: float) -> dict[str, Any]:
    """Which process runs it, with how many threads for linear algebra."""
    from threadpoolctl import threadpool_info

    return {
        "process": os.getpid(),
        "threads": max(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"),
    }


def deadly(x: int, where: str = "", always: bool = True) -> dict[str, Any]:
    """Kills its process, once or always, where x is 3."""
    mark = Path(where, "mark")
    if x == 3 and (always or not mark.exists()):
        if not always:
            mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0.01)
    return {"square": x * x}


def ends(x: int) -> dict[str, Any]:
    """Asks the interpreter to end."""
    raise SystemExit(x)


def stopped(x: int) -> dict[str, Any]:
    """A run during which someone presses Ctrl-C."""
    model, bob = build(1.0)
    return {"end": mbs.simulate(model, 1.0, 0.01, callback=lambda state: x == 2 and signal.raise_signal(2)).t[-1]}


def returned(x: Any) -> Any:
    """Whatever it is given, made where it runs."""
    made: dict[str, Callable[[], Any]] = {
        "a number": lambda: 3.0,
        "a lambda": lambda: {"f": lambda: 0},
        "a number as a name": lambda: {1: 2},
        "a name of ours": lambda: {"error": 1e-3},
        "its own argument": lambda: {"x": x, "y": 1.0},
        "another as its argument": lambda: {"x": 3.0},
        "a solution": lambda: {"run": mbs.simulate(build(1.0)[0], 0.02, 0.01)},
    }
    return made[x]()


def counted(model: mbs.Model, solution: mbs.Solution) -> dict[str, Any]:
    """A model and a run that travelled."""
    again = mbs.simulate(model, t_end=0.1, step=0.01)
    bob = solution.system.nodes[1]
    return {"same": bool((again.x == solution.x).all()), "way": solution.displacement(bob)[-1], "back": again}
