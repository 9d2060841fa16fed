"""Where Tait-Bryan angles are singular, ``b = +-90`` degrees, and steps that do not resolve them nearby.

As the angle ``b`` of a body passes the singularity at a small distance, ``a`` and ``c`` turn by half a turn against
each other within that distance over the angular velocity. A longer step leads to a rotation that looks like any other,
and is wrong. What tells is the error that a rule of the second order makes of the angles, ``h^2/12`` times the change
of their second derivatives, and the sign of ``cos b``, which hardly any motion changes. Shorter steps in place of one
that was refused are no remedy: what the steps before have lost is not small any more, so that the run ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.errors import ConvergenceError, LawError, ModelError
from fem_mbs.integrate.classical_chart import held
from fem_mbs.solve import FAILURES
from fem_mbs.system import System

SMALLEST = 1e-6
"""Smallest ``cos b`` at the start of a run; rates of the angles are angular velocities over that."""
UNRESOLVED = 0.03
"""Error of an angle in a step, in rad, from which on errors do not fall with the order of the method."""
FAR, NEAR = np.cos(np.radians([30.0, 60.0])).tolist()
"""``cos b`` below which errors of angles are looked at, and below which failures are put down to the singularity."""
REMEDY = (
    "Try a smaller step, axes of the bodies and of the world that keep b small, Euler parameters, or a method on the "
    "group such as GeneralizedAlpha; the error has the steps so far as its solution"
)


def check_start(system: System, c: Array) -> None:
    """Refuse angles ``(n, 3)`` whose rates do not exist."""
    cosine = _cosine(system, c)
    worst = int(np.argmin(cosine))
    if cosine[worst] < SMALLEST:
        raise ModelError(
            f"{system.nodes[worst]}: its Tait-Bryan angle b is {_degrees(c[worst, 1])}, and rates of the angles do not "
            "exist at b = +-90 degrees, where R = Rx(a) Ry(b) Rz(c) is singular. Try axes of the body and of the world "
            "that keep b small, Euler parameters, or a method on the group such as GeneralizedAlpha"
        )


def check_step(system: System, t: float, h: float, before: Array, c: Array, change: Array) -> None:
    """Refuse a step between angles ``(n, 3)`` that does not resolve the ``change`` of their second derivatives."""
    cosine = np.stack([_cosine(system, before), _cosine(system, c)])
    errors = np.where(cosine.min(axis=0) < FAR, h * h / 12.0 * np.abs(change).max(axis=1), 0.0)
    errors[cosine[0] * cosine[1] < 0.0] = np.inf
    worst = int(np.argmax(errors))
    if errors[worst] <= UNRESOLVED:
        return
    turned = np.abs(c - before)[worst]
    raise ConvergenceError(
        f"{system.nodes[worst]}: its Tait-Bryan angle b goes from {_degrees(before[worst, 1])} to "
        f"{_degrees(c[worst, 1])} in the step of {h:.3g} s to t = {t:.6g} s, and a and c turn by {turned[0]:.2g} and "
        f"{turned[2]:.2g} rad: so near the singularity at b = +-90 degrees the step does not resolve them. {REMEDY}",
        t,
    )


@contextmanager
def blamed(system: System, t: float, h: float, c: Array) -> Iterator[None]:
    """Put a failure of a step of ``h`` to ``t`` down to the singularity, where angles ``(n, 3)`` are near it."""
    try:
        yield
    except FAILURES as failure:
        cosine = _cosine(system, c)
        worst = int(np.argmin(cosine))
        if cosine[worst] > NEAR or isinstance(failure, LawError):
            raise
        raise ConvergenceError(
            f"{system.nodes[worst]}: its Tait-Bryan angle b is {_degrees(c[worst, 1])}, and from there a step of "
            f"{h:.3g} s to t = {t:.6g} s has no solution ({failure}); angles are singular at +-90 degrees. {REMEDY}",
            t,
        ) from failure


def _cosine(system: System, c: Array) -> Array:
    """``cos b`` of the nodes, 1 where their rotation is held."""
    return np.where(held(system), 1.0, np.cos(c[:, 1]))


def _degrees(angle: float) -> str:
    return f"{np.degrees(angle):.4g} degrees"
