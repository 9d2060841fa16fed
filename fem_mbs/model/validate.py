"""Checks of what a user gives. Every message begins with a label that names the user's object and its argument."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from fem_mbs.arrays import Array
from fem_mbs.errors import ModelError

if TYPE_CHECKING:
    from scipy.spatial.transform import Rotation

ROTATION_TOLERANCE = 1e-8
ROTATION_ROUNDING = 1e-14
SYMMETRY_TOLERANCE = 1e-8
SHOWN = 100

Kind = TypeVar("Kind")
RotationLike: TypeAlias = "ArrayLike | Rotation"


def shown(value: object) -> str:
    """A value on one line, cut where it gets long."""
    text = " ".join(repr(value).split())
    return text if len(text) <= SHOWN else f"{text[:SHOWN]} ..."


def real(value: object) -> Array | None:
    """A new array of real numbers; None if ``value`` holds anything else: text, complex numbers, truth values, None."""
    try:
        result = np.array(value)
    except (TypeError, ValueError):
        return None
    return result.astype(float, copy=False) if result.dtype.kind in "iuf" else None


def vector(value: ArrayLike, label: str) -> Array:
    """Three finite numbers, or a :class:`ModelError` that begins with ``label``."""
    result = real(value)
    if result is None or result.shape != (3,):
        shape = "" if result is None else f" of shape {result.shape}"
        raise ModelError(f"{label} must be three numbers, received {shown(value)}{shape}")
    if not np.isfinite(result).all():
        raise ModelError(f"{label} must be finite, received {result}; look for a division by zero in the script")
    return result


def number(value: object, label: str, *, positive: bool = False) -> float:
    """One finite (positive) number, or a :class:`ModelError` that begins with ``label``."""
    result = real(value)
    if result is None or result.shape != ():
        raise ModelError(f"{label} must be a number, received {shown(value)}")
    if not np.isfinite(result) or (positive and result <= 0.0):
        raise ModelError(f"{label} must be a {'positive' if positive else 'finite'} number, received {result}")
    return float(result)


def whole_number(value: object, label: str, least: int = 1) -> int:
    """A whole number of at least ``least``, or a :class:`ModelError` that begins with ``label``."""
    result = real(value)
    if result is None or result.shape != () or not result >= least or result % 1.0 != 0.0:
        raise ModelError(f"{label} must be a whole number of at least {least}, received {shown(value)}")
    return int(result)


def truth(value: object, label: str) -> bool:
    """True or False, or a :class:`ModelError` that begins with ``label``."""
    if not isinstance(value, bool | np.bool_):
        raise ModelError(f"{label} must be True or False, received {shown(value)}")
    return bool(value)


def one_of(value: object, allowed: Collection[str], label: str) -> str:
    """One of the allowed words, or a :class:`ModelError` that begins with ``label``."""
    if not isinstance(value, str) or value not in allowed:
        raise ModelError(f"{label} must be one of {', '.join(map(repr, allowed))}, received {shown(value)}")
    return value


def instance(value: object, kind: type[Kind], label: str) -> Kind:
    """An object of a class, or a :class:`ModelError` that begins with ``label``."""
    if not isinstance(value, kind):
        raise ModelError(f"{label} must be a {kind.__name__}, received {shown(value)}")
    return value


def direction(value: ArrayLike, label: str) -> Array:
    """A unit vector along ``value``, or a :class:`ModelError` that begins with ``label``."""
    result = vector(value, label)
    length = float(np.linalg.norm(result))
    if length == 0.0:
        raise ModelError(f"{label} must have a length, received {result}")
    return np.asarray(result / length)


def is_symmetric(matrix: Array, size: int) -> bool:
    """Whether a matrix is ``(size, size)``, finite and symmetric, whatever the units of its rows."""
    if matrix.shape != (size, size) or not np.isfinite(matrix).all():
        return False
    units = np.sqrt(np.abs(np.diag(matrix)))
    return bool((np.abs(matrix - matrix.T) <= SYMMETRY_TOLERANCE * np.outer(units, units)).all())


def rotation_matrix(value: RotationLike | None, label: str) -> Array:
    """A rotation matrix, freed of small errors, or a :class:`ModelError` that begins with ``label``."""
    if value is None:
        return np.eye(3)
    # asked by its method, because importing scipy.spatial takes longer than all the rest
    result = real(value.as_matrix() if hasattr(value, "as_matrix") else value)
    if result is None or result.shape != (3, 3) or not np.isfinite(result).all():
        raise ModelError(f"{label} must be a 3x3 matrix or one scipy Rotation, received {shown(value)}")
    error = float(np.abs(result.T @ result - np.eye(3)).max())
    if error > ROTATION_TOLERANCE or np.linalg.det(result) < 0.0:
        raise ModelError(
            f"{label} must be a rotation matrix (orthogonal, determinant +1); its columns miss orthonormality by "
            f"{error:.1e} and its determinant is {np.linalg.det(result):+.3g}. scipy.spatial.transform.Rotation makes "
            "one from a rotation vector, Euler angles or a quaternion"
        )
    if error > ROTATION_ROUNDING:
        left, _, right = np.linalg.svd(result)
        result = left @ right
    return result
