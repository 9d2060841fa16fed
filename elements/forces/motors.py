"""Motors on coordinates of joints: a torque, a speed or a position over time, held by a controller of its own.

``T = P e + D e' + I z`` of the error ``e``, cut at a limit to ``T'``. The integral has ``z' = e - (T - T')/P``: it is
held back while the motor is at its limit (back-calculation; Astrom, Hagglund, *Advanced PID Control*, 2006).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from math import inf
from typing import Annotated, Any

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.contracts import GivenValues, InternalVariable, Numbering, TimedBatch, checked
from fem_mbs.contracts.arguments import NotNegative, Positive, number, or_function
from fem_mbs.elements.forces.coordinate_law import CoordinateElement, CoordinateLawBatch, JointLike, Law

OverTime = Annotated[float | Callable[[float], float], partial(or_function, number)]


@checked
class TorqueMotor(CoordinateElement):
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

    strengths = ("torque",)
    active = True

    def __init__(self, joint: JointLike, torque: OverTime, *, coordinate: str | None = None) -> None:
        super().__init__(joint, coordinate)
        self.reference = torque


class ControlledMotor(CoordinateElement):
    """Base of motors with a controller."""

    active = True
    reference: float | Callable[[float], float]
    """What they are to follow."""
    gains: tuple[float, float, float]
    """Proportional, integral, derivative."""
    limit: float | None

    def batch_key(self) -> Hashable:
        """With an integral or without, on coordinates of one kind."""
        return super().batch_key(), bool(self.gains[1])

    def _controlled(self, reference: Any, gains: tuple[float, float, float], limit: float | None, per: str) -> None:
        self.reference, self.gains, self.limit = reference, gains, limit
        if gains[1]:
            unit = ("rad" if self.is_angle else "m") + per
            self.internal_variables = (*self.internal_variables, InternalVariable("integral", "state", unit=unit))


@checked
class SpeedMotor(ControlledMotor):
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
class PositionMotor(ControlledMotor):
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

    places = ("reference",)

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


class MotorBatch(TimedBatch, CoordinateLawBatch):
    """Motors, and what they are to follow ``(n,)``."""

    def __init__(self, elements: Sequence[Any], number: Numbering) -> None:
        super().__init__(elements, number)
        self.given = GivenValues(len(elements))
        for k, motor in enumerate(elements):
            self.given.put(k, motor.reference, motor)


class TorqueBatch(MotorBatch, of=TorqueMotor):
    """Forces and moments over time."""

    def law(self, q: Array, rate: Array, state: Array, prescribed: Array) -> Law:
        """Minus the torque, which acts and does not resist."""
        none = np.zeros_like(q)
        return Law.without_states(-prescribed, none, none)


class ControlledBatch(MotorBatch, of=(SpeedMotor, PositionMotor)):
    """Motors with controllers, of speeds and of positions."""

    def __init__(self, elements: Sequence[ControlledMotor], number: Numbering) -> None:
        super().__init__(elements, number)
        self._rated, self._end = GivenValues(len(elements)), number.end
        for k, motor in enumerate(elements):
            if motor.gains[2]:
                self._rated.put(k, motor.reference, motor)
        self.P, self.I, self.D = np.array([motor.gains for motor in elements]).T
        self.limit = np.array([inf if motor.limit is None else motor.limit for motor in elements])
        self.kinked = bool(np.isfinite(self.limit).any())
        self._of_speed = np.array([isinstance(motor, SpeedMotor) for motor in elements])
        self._by_q, self._by_rate = self._of_speed - 1.0, -1.0 * self._of_speed
        """How errors follow from coordinates and from their rates."""

    def at(self, t: float) -> tuple[Array, Array]:
        """References and their rates ``(n,)``."""
        return self.given.at(t), self._rated.rates(t, self._end)[0]

    def law(self, q: Array, rate: Array, state: Array, prescribed: tuple[Array, Array]) -> Law:
        """``-T``, and ``-z'``."""
        reference, reference_rate = prescribed
        error, by_q, by_rate = reference - np.where(self._of_speed, rate, q), self._by_q, self._by_rate
        asked = self.P * error + self.D * (reference_rate - rate) + (self.I * state[:, 0] if self.states else 0.0)
        torque = np.clip(asked, -self.limit, self.limit)
        vain = asked - torque
        acts = (vain == 0.0).astype(float)
        # in units of the error
        held = (1.0 - acts) / self.P
        asked_by_q, asked_by_rate = self.P * by_q, self.P * by_rate - self.D
        rows = (
            (-torque, vain / self.P - error),
            (-acts * asked_by_q, held * asked_by_q - by_q),
            (-acts * asked_by_rate, held * asked_by_rate - by_rate),
            (-acts * self.I, held * self.I),
        )
        value, by_length, by_speed, by_state = (np.stack(pair[: 1 + self.states], axis=-1) for pair in rows)
        kinks = np.array([self.limit - asked, self.limit + asked])
        return Law(value, by_length, by_speed, by_state[..., None][..., : self.states], kinks)

    def towards_kinks(self, q: Array, rate: Array, state: Array) -> Array:
        asked = self.P * (self._by_q * q + self._by_rate * rate) - self.D * rate
        return asked + self.I * state[:, 0] if self.states else asked
