"""A pull between points of two nodes whose size is a signal."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.elements.control.signal import Input, Wires, sources
from fem_mbs.elements.line import Line, LineBatch, LineElement
from fem_mbs.model import ElementBatch, Motion, Node, Numbering, Vector3, checked


@checked
class LineActuator(LineElement):
    """A cylinder, a winch, a voice coil along the line between points of two nodes.

    Parameters
    ----------
    a, b : Node
        Any two nodes.
    input : signal
        The force in N, a pull.
    point_a, point_b : (3,), optional
        The points in the node frames; the nodes themselves by default.
    """

    active = True

    def __init__(
        self,
        a: Node,
        b: Node,
        input: Input,
        point_a: Vector3 | None = None,
        point_b: Vector3 | None = None,
    ) -> None:
        super().__init__(a, b, point_a, point_b)
        self.inputs = (input,)

    def batch_key(self) -> Hashable:
        """Actuators that read as many unknowns share a batch."""
        return len(sources(self.inputs))

    @classmethod
    def batch(cls, elements: Sequence[LineActuator], number: Numbering) -> ElementBatch:
        """All actuators along lines."""
        return LineActuatorBatch(elements, number)


class LineActuatorBatch(LineBatch):
    """Actuators along lines as arrays."""

    def __init__(self, actuators: Sequence[LineActuator], number: Numbering) -> None:
        super().__init__(actuators, number)
        self._wires = Wires(actuators, [actuator.inputs for actuator in actuators], number)
        self.own = self._wires.rows

    def at(self, t: float) -> Array:
        """What functions of time put in, ``(n, 1)``."""
        return self._wires.at(t)

    def next_jump(self, t: float, u: Array) -> float:
        """When the input jumps next."""
        return self._wires.next_jump(t)

    def force(self, motion: Motion, prescribed: Array) -> tuple[Array, tuple[Line, Array]]:  # type: ignore[override]
        """``G^T N``."""
        line, pull = self.line(motion), self._wires.values(motion.u, prescribed)
        return np.concatenate([pull * line.G, np.zeros(self.own.shape)], axis=-1), (line, pull)

    def stiffness(self, context: tuple[Line, Array]) -> Array:  # type: ignore[override]
        """``N H``, and the signal."""
        line, pull = context
        size = 12 + self.own.shape[1]
        K = np.zeros((len(pull), size, size))
        K[:, :12, :12] = pull[..., None] * self.second(line)
        K[:, :12, 12:] = line.G[:, :, None] * self._wires.W
        return K

    def damping(self, context: object) -> None:  # type: ignore[override]
        """None."""
        return None
