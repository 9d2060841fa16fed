"""A node: a frame in space with a group, a velocity and a name; made and checked in one place."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fem_mbs.arrays import Array
from fem_mbs.errors import ModelError
from fem_mbs.lie import GROUPS
from fem_mbs.model.validate import RotationLike, rotation_matrix, shown, vector

GIVEN = ("name", "group", "position", "rotation")
HOLDS = {"velocity": "fixed_translation", "angular_velocity": "fixed_rotation"}
"""What keeps a node from having a velocity."""


@dataclass(eq=False, repr=False)
class Node:
    """A frame that moves, made by :meth:`Model.add_node`; as elements are built on it, only assembly changes its place.

    ``position`` (3,) and ``velocity`` (3,) are in the world frame, ``rotation`` (3, 3) maps body to world and
    ``angular_velocity`` (3,) is in the body frame; all are initial values. The two velocities can be set until the
    model is frozen.
    """

    name: str
    group: str
    position: Array
    rotation: Array
    velocity: Array
    angular_velocity: Array
    fixed_translation: bool = field(default=False)
    fixed_rotation: bool = field(default=False)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in HOLDS:
            value = vector(value, f"{self}: {name}")
            value.flags.writeable = False
            if getattr(self, HOLDS[name]) and value.any():
                raise ModelError(f"{self}: {name} cannot be {value}, as model.fix holds the node")
        if name in GIVEN and name in vars(self):
            raise ModelError(
                f"{self}: {name} cannot be changed once the node is made, as elements may be built on it; give it to "
                "model.add_node"
            )
        super().__setattr__(name, value)

    def place(self, position: Array, rotation: Array) -> None:
        """Move the node before the start, as :meth:`Model.assemble` does; what is built on it goes along as it is."""
        for value in (position, rotation):
            value.flags.writeable = False
        vars(self).update(position=position, rotation=rotation)

    def __str__(self) -> str:
        return f"node '{self.name}'"

    __repr__ = __str__


def make_node(
    name: str,
    group: str,
    position: ArrayLike,
    rotation: RotationLike | None = None,
    velocity: ArrayLike | None = None,
    angular_velocity: ArrayLike | None = None,
) -> Node:
    """Build a node from what the user gave, or refuse with a message that names it."""
    label = f"node '{name}'"
    check_group(group, label)
    place = vector(position, f"{label}: position"), rotation_matrix(rotation, f"{label}: rotation")
    for value in place:
        value.flags.writeable = False
    # the node checks its velocities, whenever they are set
    velocities: Any = (np.zeros(3) if value is None else value for value in (velocity, angular_velocity))
    return Node(name, group, *place, *velocities)


def check_node(value: object, label: str) -> Node:
    """A node, or a :class:`ModelError` that begins with ``label``."""
    if not isinstance(value, Node):
        raise ModelError(f"{label} must be a node made by model.add_node, received {shown(value)}")
    return value


def check_group(value: object, label: str) -> str:
    """The name of a group, or a :class:`ModelError` that begins with ``label``."""
    if not isinstance(value, str) or value not in GROUPS:
        raise ModelError(f"{label}: group must be one of {', '.join(GROUPS)}, received {shown(value)}")
    return value
