"""Forces that users give as functions of the time, a length or an angle, and its rate, and what acts by them.

Derivatives are those that a law has as attributes; else they come from a complex step (Squire, Trapp, *Using complex
variables to estimate derivatives of real functions*, SIAM Review 40, 1998) where that agrees with central differences,
and from these where it does not, over steps that the law tells: one with ``abs``, ``max`` or a table may fail on
complex numbers, or return something else.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, Any, NamedTuple

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.contracts import InternalVariable, NodeLike, Numbering, Positive, SmallChange, Vector3, checked, function
from fem_mbs.contracts.functions import ByCoordinate, ByLength, ByRate, BySpeed, answer
from fem_mbs.elements.forces.coordinate_law import Acting, CoordinateElement, CoordinateLawBatch, JointLike, Law
from fem_mbs.elements.forces.line import LineElement
from fem_mbs.errors import LawError

FIRST, SHORTER, TRIES = 6e-6, 0.12, 11
"""The first step of differences, of an argument and of one, the share of it of the next one, and how many."""
COMPLEX_STEP = 1e-30
AGREE, ALIKE, ROUNDING = 1e-4, 1e-7, 1e-15
"""A derivative is what differs from a difference, or a difference from the next, by less of it and of the value."""
AS_GOOD = 2.0
"""Of two differences the later one is taken where it misses the next by up to so many times as much, but never all."""

UserLaw = Callable[[float, float, float], float]


class LawKind(NamedTuple):
    """What a law is of: names and units of its second and third argument, and attributes with its derivatives."""

    names: tuple[str, str]
    units: tuple[str, str]
    attributes: tuple[str, str]
    exact: tuple[type, type]
    """Protocols of laws that have these."""

    def where(self, t: float, value: float, rate: float) -> str:
        """The arguments in words."""
        (a, b), (m, s) = self.names, self.units
        return f"t = {t:.6g} s, {a} {value:.6g} {m}, {b} {rate:.6g} {s}"

    def slopes(self, law: UserLaw) -> list[UserLaw | None]:
        """Those derivatives that a law has."""
        pairs = zip(self.attributes, self.exact, strict=True)
        return [getattr(law, name) if isinstance(law, own) else None for name, own in pairs]


OF_LENGTH = LawKind(("length", "speed"), ("m", "m/s"), ("by_length", "by_speed"), (ByLength, BySpeed))
OF_TRAVEL = LawKind(("coordinate", "rate"), ("m", "m/s"), ("by_coordinate", "by_rate"), (ByCoordinate, ByRate))
OF_ANGLE = LawKind(("coordinate", "rate"), ("rad", "rad/s"), ("by_coordinate", "by_rate"), (ByCoordinate, ByRate))

PullLaw = Annotated[UserLaw, partial(function, of=" of t, length and speed")]
CoordinateLaw = Annotated[UserLaw, partial(function, of=" of t, coordinate and rate")]


def partial_derivatives(
    law: UserLaw, exact: Sequence[UserLaw | None], given: tuple[float, float, float], owner: object, kind: LawKind
) -> tuple[float, float, float]:
    """A law, with its derivatives against the second and third argument, which it has as ``exact`` ones or not.

    An error names the object that owns it.
    """
    t, value, rate = given

    def number(q: float, v: float) -> float:
        return _number(law, t, q, v, owner, kind)

    def derivative(of: int) -> float:
        if (own := exact[of]) is not None:
            return _number(own, t, value, rate, owner, kind)
        if of == 0:
            return float(slope(lambda q: number(q, rate), lambda q: law(t, q, rate), value))
        return float(slope(lambda v: number(value, v), lambda v: law(t, value, v), rate))

    return number(value, rate), derivative(0), derivative(1)


def slope(law: Callable[[Any], Any], free: Callable[[Any], Any] | None, x: Any, unit: Any = 1.0) -> Any:
    """Derivative at ``x`` along ``unit``, numbers or arrays, of a law; ``free`` is the same unchecked, if it has one.

    What is small for a law, none but itself knows, which may be of a gap of a micrometre. Steps are shorter and shorter
    until a difference agrees with the complex step, or with the next one; if none does, the best of them is taken, and
    where a law jumps, the first.
    """
    exact = None if free is None else _complex_slope(free, x, unit)
    found, least, last, doubt = None, 1.0 / AS_GOOD, None, 0.0
    size = 1.0 + _largest(x)
    for k in range(TRIES):
        h = FIRST * SHORTER**k * size
        try:
            ahead, behind = law(x + h * unit), law(x - h * unit)
        except LawError:  # where it is not known, such as beyond a gap
            if last is None and k == TRIES - 1:
                raise
            continue
        now = (ahead - behind) / (2.0 * h)
        noise = ROUNDING * (abs(ahead) + abs(behind) + abs(x * now)) / h
        if exact is not None:
            agrees = abs(exact - now) <= AGREE * _largest(now) + noise
            if _all(agrees):
                return exact
            now = np.where(agrees, exact, now)
        if last is not None:
            missed, whole = abs(now - last) + doubt, _largest(last) or 1.0
            better = missed <= AS_GOOD * least * whole
            found = last if better is True else np.where(better, last, found)
            if _all(missed <= ALIKE * whole + doubt + noise):
                return found
            least = np.minimum(least, missed / whole)
        found, last, doubt = now if found is None else found, now, noise
    return found


def _all(which: Any) -> bool:
    return which is True or bool(np.all(which))  # numbers several times faster than arrays


def _largest(values: Any) -> Any:
    return abs(values) if isinstance(values, float) else np.abs(values).max(initial=0.0)


def _complex_slope(free: Callable[[Any], Any], x: Any, unit: Any) -> Any:
    """What a complex step tells, which is exact to rounding if it is the derivative; None if a law takes none."""
    try:
        if isinstance(x, float):  # several times faster than arrays
            return float(free(complex(x, COMPLEX_STEP)).imag) / COMPLEX_STEP
        with warnings.catch_warnings():
            warnings.simplefilter("error", np.exceptions.ComplexWarning)  # it takes real numbers alone
            return np.imag(free(x + 1j * COMPLEX_STEP * unit)) / COMPLEX_STEP
    except Exception:  # whatever a user's function makes of complex numbers
        return None


def _number(law: UserLaw, t: float, value: float, rate: float, owner: object, kind: LawKind) -> float:
    """The finite number that a law returns."""
    try:
        given = law(t, value, rate)
        if isinstance(given, float) and abs(given) < np.inf:  # several times faster than arrays
            return given
    except Exception:
        pass  # it is asked once more, for what to say
    return float(answer(owner, "its law", law, (t, value, rate), where=lambda: f" at {kind.where(t, value, rate)}"))


class UserLawBatch(CoordinateLawBatch):
    """Laws of users, asked one after the other."""

    asks = True
    attribute = "law"
    """Of an element, that has its law."""
    factor: Any = 1.0
    """By which it counts in the equations."""

    def __init__(self, elements: Sequence[Any], number: Numbering) -> None:
        super().__init__(elements, number)
        self._laws = [getattr(element, self.attribute) for element in elements]
        first = elements[0]
        self._kind = OF_LENGTH if isinstance(first, LineElement) else OF_ANGLE if first.is_angle else OF_TRAVEL
        self._slopes = [self._kind.slopes(law) for law in self._laws]

    def at(self, t: float) -> float:
        return t

    def asked(self, t: float, q: Array, rate: Array) -> Array:
        """What laws make, and its derivatives against coordinate and rate, ``(3, n)``; one law after another."""
        each = zip(self._laws, self._slopes, self.owners, q.tolist(), rate.tolist(), strict=True)
        made = np.array([partial_derivatives(law, own, (t, x, v), part, self._kind) for law, own, part, x, v in each]).T
        return np.asarray(self.factor * made)

    def _values(self, t: float, q: Array, rate: Array) -> Array:
        each = zip(self._laws, self.owners, q.tolist(), rate.tolist(), strict=True)
        return np.array([_number(law, t, x, v, owner, self._kind) for law, owner, x, v in each])

    def crosses(self, context: Acting, change: SmallChange) -> bool:
        q, rate, dq = context.q, np.vecdot(context.measured.gradient, context.V), self.way(context, change)
        dv = change.per_increment * dq
        here, there = self._values(context.prescribed, q, rate), self._values(context.prescribed, q + dq, rate + dv)
        tangent = context.law.by_length[:, -1] * dq + context.law.by_speed[:, -1] * dv
        scale = np.maximum(np.abs(there), change.scale[self._kind is OF_ANGLE])  # from rest, of what sets in
        allowed = change.tolerance * scale * abs(self.factor)
        return bool((np.abs(self.factor * (there - here) - tangent) > allowed).any())


@checked
class JointForce(CoordinateElement):
    """A force or a moment along a coordinate of a joint, by any law.

    Parameters
    ----------
    joint : Constraint
        A joint with coordinates.
    law : function of ``t, q, q_dot``
        The force in N, or moment in N m, on b against a, positive along the coordinate: of the time in s, the
        coordinate in m or rad, with its turns, and its rate. Functions ``by_coordinate`` and ``by_rate`` of the same
        arguments, if it has these attributes, are its derivatives; else they come from a complex step or from
        differences.
    coordinate : str, optional
        Which one, where the joint has several.

    Raises
    ------
    LawError
        In a run, if the law returns anything but one finite number.
    """

    active = True

    def __init__(self, joint: JointLike, law: CoordinateLaw, *, coordinate: str | None = None) -> None:
        super().__init__(joint, coordinate)
        self.law = law


class JointForceBatch(UserLawBatch, of=JointForce):
    """Forces along coordinates of joints, which act and do not resist."""

    factor = -1.0

    def law(self, q: Array, rate: Array, state: Array, prescribed: float) -> Law:
        return Law.without_states(*self.asked(prescribed, q, rate))


@checked
class FirstOrderActuator(LineElement):
    """A cylinder, a muscle, a voice coil between points of two nodes: its force follows a law with a delay.

    Parameters
    ----------
    a, b : Node
        Any two nodes.
    law : function of ``t, length, speed``
        The force that is asked for, in N, a pull, of the time in s, the distance of the points in m and its rate in
        m/s. Functions ``by_length`` and ``by_speed`` of the same arguments, if it has these attributes, are its
        derivatives; else they come from a complex step or from differences.
    time_constant : float
        The force ``F`` follows by ``time_constant F' + F = law``, s.
    initial : float
        Force at t = 0, N.
    point_a, point_b : (3,), optional
        Points of a and of b, world frame, as built; the nodes themselves by default.

    Notes
    -----
    ``solution.internal_variables(actuator, "force")`` has the force.
    """

    active = True

    def __init__(
        self,
        a: NodeLike,
        b: NodeLike,
        law: PullLaw,
        time_constant: Positive,
        *,
        initial: float = 0.0,
        point_a: Vector3 | None = None,
        point_b: Vector3 | None = None,
    ) -> None:
        super().__init__(a, b, point_a, point_b)
        self.law, self.time_constant = law, time_constant
        self.internal_variables = (InternalVariable("force", "state", initial, unit="N"),)


class ActuatorBatch(UserLawBatch, of=FirstOrderActuator):
    """Actuators as arrays."""

    def __init__(self, elements: Sequence[FirstOrderActuator], number: Numbering) -> None:
        super().__init__(elements, number)
        self.factor = -1.0 / np.array([element.time_constant for element in elements])
        self._by_state = np.stack([np.ones_like(self.factor), -self.factor], axis=-1)[..., None]

    def law(self, q: Array, rate: Array, state: Array, prescribed: float) -> Law:
        """``F`` and ``(F - law)/time_constant``."""
        asked = self.asked(prescribed, q, rate)
        value, by_length, by_speed = (np.stack([np.zeros_like(own), own], axis=-1) for own in asked)
        return Law(value + self._by_state[..., 0] * state, by_length, by_speed, self._by_state)
