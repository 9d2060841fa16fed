"""A node: a frame in space with a group, a velocity and a name."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.transform import Rotation

from fem_mbs.arrays import Array
from fem_mbs.errors import ModelError
from fem_mbs.lie import GROUPS

ROTATION_TOLERANCE = 1e-8


@dataclass(eq=False)
class Node:
    """A frame that moves, made by :meth:`Model.add_node`.

    ``position`` (3,) and ``velocity`` (3,) are in the world frame, ``rotation`` (3, 3) maps body to world and
    ``angular_velocity`` (3,) is in the body frame; all are initial values.
    """

    name: str
    group: str
    position: Array
    rotation: Array
    velocity: Array
    angular_velocity: Array
    fixed_translation: bool = field(default=False)
    fixed_rotation: bool = field(default=False)

    def __str__(self) -> str:
        return f"node '{self.name}'"


def make_node(
    name: str,
    group: str,
    position: ArrayLike,
    rotation: ArrayLike | Rotation | None,
    velocity: ArrayLike | None,
    angular_velocity: ArrayLike | None,
) -> Node:
    """Build a node from what the user gave, or refuse with a message that names it."""
    label = f"node '{name}'"
    if group not in GROUPS:
        raise ModelError(f"{label}: group must be one of {', '.join(GROUPS)}, received {group!r}")
    return Node(
        name,
        group,
        vector(position, f"{label}: position"),
        rotation_matrix(rotation, f"{label}: rotation"),
        vector(np.zeros(3) if velocity is None else velocity, f"{label}: velocity"),
        vector(np.zeros(3) if angular_velocity is None else angular_velocity, f"{label}: angular_velocity"),
    )


def vector(value: ArrayLike, label: str) -> Array:
    """Three finite numbers, or a :class:`ModelError` that begins with ``label``."""
    try:
        result = np.array(value, dtype=float)
    except (TypeError, ValueError):
        raise ModelError(f"{label} must be three numbers, received {value!r}") from None
    if result.shape != (3,):
        raise ModelError(f"{label} must be three numbers, received an array of shape {result.shape}")
    if not np.isfinite(result).all():
        raise ModelError(f"{label} must be finite, received {result}; look for a division by zero in the script")
    return result


def number(value: object, label: str, *, positive: bool = False) -> float:
    """One finite (positive) number, or a :class:`ModelError` that begins with ``label``."""
    try:
        result = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise ModelError(f"{label} must be a number, received {value!r}") from None
    if not np.isfinite(result) or (positive and result <= 0.0):
        raise ModelError(f"{label} must be a {'positive' if positive else 'finite'} number, received {result}")
    return result


def direction(value: ArrayLike, label: str) -> Array:
    """A unit vector along ``value``, or a :class:`ModelError` that begins with ``label``."""
    result = vector(value, label)
    length = float(np.linalg.norm(result))
    if length == 0.0:
        raise ModelError(f"{label} must have a length, received {result}")
    return np.asarray(result / length)


def rotation_matrix(value: ArrayLike | Rotation | None, label: str) -> Array:
    """A rotation matrix, or a :class:`ModelError` that begins with ``label``."""
    if value is None:
        return np.eye(3)
    if isinstance(value, Rotation):
        return np.asarray(value.as_matrix())
    try:
        result = np.array(value, dtype=float)
    except (TypeError, ValueError):
        result = np.empty(0)
    if result.shape != (3, 3) or not np.isfinite(result).all():
        raise ModelError(f"{label} must be a 3x3 matrix or a scipy Rotation, received {value!r}")
    error = float(np.abs(result.T @ result - np.eye(3)).max())
    if error > ROTATION_TOLERANCE or np.linalg.det(result) < 0.0:
        raise ModelError(
            f"{label} must be a rotation matrix (orthogonal, determinant +1); its columns miss orthonormality by "
            f"{error:.1e} and its determinant is {np.linalg.det(result):+.3g}. scipy.spatial.transform.Rotation makes "
            "one from a rotation vector, Euler angles or a quaternion"
        )
    return result
