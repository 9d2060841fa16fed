"""An actuator whose force follows a law with a delay of first order.

``tau F' + F = law(t, length, speed)`` (docs/theory.md, "Lines").
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.contracts import InternalVariable, NodeLike, Numbering, Positive, Vector3, checked
from fem_mbs.elements.forces.coordinate_law import Law
from fem_mbs.elements.forces.line import LineBatch, LineElement
from fem_mbs.elements.forces.user_laws import OF_LENGTH, PullLaw, ask


@checked
class FirstOrderActuator(LineElement):
    """A cylinder, a muscle, a voice coil between points of two nodes: its force follows a law with a delay.

    Parameters
    ----------
    a, b : Node
        Any two nodes.
    law : function of t, length, speed
        The force that is asked for, in N, a pull, of the time in s, the distance of the points in m and its rate in
        m/s. Functions ``by_length`` and ``by_speed`` of the same arguments, if it has these attributes, are its
        derivatives; else they come from a complex step or from differences.
    time_constant : float
        The force ``F`` follows by ``time_constant F' + F = law``, s.
    initial : float
        Force at t = 0, N.
    nominal : float
        A force that counts as large, N: tolerances of variable steps are relative to it.
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
        nominal: Positive = 1.0,
        point_a: Vector3 | None = None,
        point_b: Vector3 | None = None,
    ) -> None:
        super().__init__(a, b, point_a, point_b)
        self.law, self.time_constant = law, time_constant
        self.internal_variables = (InternalVariable("force", "state", initial, size=nominal, unit="N"),)


class ActuatorBatch(LineBatch, of=FirstOrderActuator):
    """Actuators as arrays; laws are asked one after the other."""

    def __init__(self, elements: Sequence[FirstOrderActuator], number: Numbering) -> None:
        super().__init__(elements, number)
        self._laws = [element.law for element in elements]
        self._inverse = 1.0 / np.array([element.time_constant for element in elements])
        self._by_state = np.stack([np.ones_like(self._inverse), self._inverse], axis=-1)[..., None]

    def at(self, t: float) -> float:
        """The time, which laws depend on."""
        return t

    def law(self, length: Array, speed: Array, state: Array, prescribed: float) -> Law:
        """``F`` and ``(F - law)/time_constant``."""
        asked = ask(self._laws, self.owners, [OF_LENGTH] * len(length), prescribed, length, speed)
        value, by_length, by_speed = (np.stack([np.zeros_like(own), own], axis=-1) for own in -asked * self._inverse)
        return Law(value + self._by_state[..., 0] * state, by_length, by_speed, self._by_state)
