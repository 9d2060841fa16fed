"""Motors on coordinates of joints: a torque, a speed or a position over time, held by a controller of its own.

``T = P e + D e' + I z`` of the error ``e``, cut at a limit to ``T'``. The integral has ``z' = e - (T - T')/P``: it is
held back while the motor is at its limit (back-calculation; Astrom, Hagglund, *Advanced PID Control*, 2006).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from math import inf
from typing import Annotated, Any, NamedTuple

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.contracts import (
    InternalVariable,
    NotNegative,
    Numbering,
    Positive,
    checked,
    derivatives,
    evaluate,
    function,
    number,
)
from fem_mbs.elements.forces.coordinate_law import CoordinateElement, CoordinateLawBatch, JointLike, Law, is_angle


def constant_or_function(value: Any, label: object) -> Any:
    """A number, or a function of time."""
    return function(value, label, of=" of time") if callable(value) else number(value, label)


OverTime = Annotated[float | Callable[[float], float], constant_or_function]


class Motor(CoordinateElement):
    """Base of motors; ``reference`` is what they are to follow."""

    active = True
    reference: float | Callable[[float], float]
    gains: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Proportional, integral, derivative."""
    limit: float | None = None

    def batch_key(self) -> Hashable:
        """With an integral or without, on coordinates of one kind."""
        return super().batch_key(), bool(self.gains[1])

    def _controlled(
        self,
        reference: float | Callable[[float], float],
        gains: tuple[float, float, float],
        limit: float | None,
        per: str,
    ) -> None:
        self.reference, self.gains, self.limit = reference, gains, limit
        if gains[1]:
            unit = ("rad" if is_angle(self.joint, self.coordinate) else "m") + per
            self.internal_variables = (*self.internal_variables, InternalVariable("integral", "state", unit=unit))


@checked
class TorqueMotor(Motor):
    """A motor that gives a force or a moment over time, along a coordinate of a joint.

    Parameters
    ----------
    joint : Constraint
        A joint with coordinates.
    torque : float or function of t
        N or N m, on b against a, positive along the coordinate.
    coordinate : str, optional
        Which one, where the joint has several.
    """

    def __init__(self, joint: JointLike, torque: OverTime, *, coordinate: str | None = None) -> None:
        super().__init__(joint, coordinate)
        self.reference = torque


@checked
class SpeedMotor(Motor):
    """A motor that follows a speed, by a PI controller.

    Parameters
    ----------
    joint : Constraint
        A joint with coordinates.
    speed : float or function of t
        The rate that the coordinate is to have, m/s or rad/s.
    proportional : float
        Force or moment per error of the speed, N s/m or N m s/rad.
    integral : float
        Per integral of that error, N/m or N m/rad.
    limit : float, optional
        Largest force or moment; the integral waits while it is reached.
    coordinate : str, optional
        Which one, where the joint has several.

    Notes
    -----
    ``solution.internal_variables(motor, "integral")`` has the integral of the error.
    """

    def __init__(
        self,
        joint: JointLike,
        speed: OverTime,
        proportional: Positive,
        integral: NotNegative = 0.0,
        *,
        limit: Positive | None = None,
        coordinate: str | None = None,
    ) -> None:
        super().__init__(joint, coordinate)
        self._controlled(speed, (proportional, integral, 0.0), limit, "")


@checked
class PositionMotor(Motor):
    """A motor that follows a position, by a PID controller.

    Parameters
    ----------
    joint : Constraint
        A joint with coordinates.
    position : float or function of t
        Where the coordinate is to be, m or rad; angles count turns. Methods ``velocity(t)`` and ``acceleration(t)`` are
        used where it has them, else differences.
    proportional : float
        Force or moment per error, N/m or N m/rad.
    integral : float
        Per integral of the error, N/(m s) or N m/(rad s).
    derivative : float
        Per rate of the error, N s/m or N m s/rad.
    limit : float, optional
        Largest force or moment; the integral waits while it is reached.
    coordinate : str, optional
        Which one, where the joint has several.

    Notes
    -----
    ``solution.internal_variables(motor, "integral")`` has the integral of the error.
    """

    def __init__(
        self,
        joint: JointLike,
        position: OverTime,
        proportional: Positive,
        integral: NotNegative = 0.0,
        derivative: NotNegative = 0.0,
        *,
        limit: Positive | None = None,
        coordinate: str | None = None,
    ) -> None:
        super().__init__(joint, coordinate)
        self._controlled(position, (proportional, integral, derivative), limit, " s")


class MotorBatch(CoordinateLawBatch):
    """Motors as arrays."""

    def __init__(self, elements: Sequence[Motor], number: Numbering) -> None:
        super().__init__(elements, number)
        self._motors, self._end = elements, number.end
        self.P, self.I, self.D = np.array([motor.gains for motor in elements]).T
        self.limit = np.array([inf if motor.limit is None else motor.limit for motor in elements])
        self.kinked = bool(np.isfinite(self.limit).any()) and bool(self.P.any())

    def at(self, t: float) -> Any:
        """References ``(n,)``."""
        return np.array([_value(motor.reference, t, motor) for motor in self._motors])


class TorqueBatch(MotorBatch, of=TorqueMotor):
    """Forces and moments over time."""

    def law(self, q: Array, rate: Array, state: Array, prescribed: Array) -> Law:
        """Minus the torque, which acts and does not resist."""
        none = np.zeros((len(q), 1))
        return Law(-prescribed[:, None], none, none, none[..., None][..., :0])


class Error(NamedTuple):
    """What controllers make small, its derivatives, and what they ask for with those of it."""

    value: Array
    by_q: Array
    by_rate: Array
    asked: Array
    asked_by_q: Array
    asked_by_rate: Array


class ControlledBatch(MotorBatch):
    """Motors with controllers; a subclass says what the error is."""

    def error(self, q: Array, rate: Array, prescribed: Any) -> Error:
        """The error, and what ``P`` and ``D`` make of it."""
        raise NotImplementedError(f"{type(self).__name__} must define error(q, rate, prescribed)")

    def law(self, q: Array, rate: Array, state: Array, prescribed: Any) -> Law:
        """``-T``, and ``-z'``."""
        error = self.error(q, rate, prescribed)
        asked = error.asked + (self.I * state[:, 0] if self.states else 0.0)
        torque = np.clip(asked, -self.limit, self.limit)
        vain = asked - torque
        follows = (vain == 0.0).astype(float)
        # in units of the error
        back, held = vain / self.P, (1.0 - follows) / self.P
        value = [-torque, back - error.value]
        by_q = [-follows * error.asked_by_q, held * error.asked_by_q - error.by_q]
        by_rate = [-follows * error.asked_by_rate, held * error.asked_by_rate - error.by_rate]
        by_state = [-follows * self.I, held * self.I]
        first = 1 + self.states
        columns = (np.stack(part[:first], axis=-1) for part in (value, by_q, by_rate, by_state))
        value_, by_q_, by_rate_, by_state_ = columns
        return Law(value_, by_q_, by_rate_, by_state_[..., None][..., : self.states], np.sign(vain))


class SpeedBatch(ControlledBatch, of=SpeedMotor):
    """Motors that follow speeds."""

    def error(self, q: Array, rate: Array, prescribed: Array) -> Error:
        """Of the speed."""
        value, none = prescribed - rate, np.zeros_like(q)
        return Error(value, none, none - 1.0, self.P * value, none, -self.P)


class PositionBatch(ControlledBatch, of=PositionMotor):
    """Motors that follow positions."""

    def at(self, t: float) -> tuple[Array, Array]:
        """References and their rates ``(n,)``."""
        return super().at(t), np.array([self._rate(motor, t) for motor in self._motors])

    def _rate(self, motor: Motor, t: float) -> float:
        if not motor.gains[2] or not callable(motor.reference):
            return 0.0
        return float(derivatives(motor.reference, t, motor, None, self._end)[0])

    def error(self, q: Array, rate: Array, prescribed: tuple[Array, Array]) -> Error:
        """Of the position."""
        position, speed = prescribed
        value, none = position - q, np.zeros_like(q)
        return Error(value, none - 1.0, none, self.P * value + self.D * (speed - rate), -self.P, -self.D)


def _value(reference: float | Callable[[float], float], t: float, owner: object) -> float:
    return float(evaluate(reference, t, owner, None)) if callable(reference) else reference
