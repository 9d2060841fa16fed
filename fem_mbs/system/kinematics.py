"""How nodes of a group move, and how elements see it: the only place that knows which group a node carries.

Elements work in body components: the velocity ``V = (U, Omega)`` and the acceleration ``A = (acceleration of the
node point, Omega dot)`` in the body frame, and increments ``(delta U, delta theta)``. With ``P = diag(R^T, I)`` on
R3xSO3 and ``P = I`` on SE(3), ``V = P v``; the residual in body components is ``P^-T r``, so both groups share one set
of equations.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fem_mbs.arrays import Array, IntArray
from fem_mbs.lie import r3xso3, se3, so3


class R3xSO3:
    """Nodes on R3xSO3: ``v = (u, Omega)`` with ``u`` in the world frame."""

    group = r3xso3
    coupled = False
    bracket = staticmethod(r3xso3.bracket)
    inverse_tangent = staticmethod(r3xso3.inverse_tangent_operator)

    @staticmethod
    def retract(x: Array, R: Array, D: Array) -> tuple[Array, Array]:
        """Configuration ``q exp(D)``."""
        return x + D[:, :3], R @ so3.exp(D[:, 3:])

    @staticmethod
    def motion(R: Array, v: Array, vdot: Array) -> tuple[Array, Array]:
        """Body velocity and acceleration: ``U = R^T u``, acceleration ``R^T u dot``."""
        return _rotate_back(R, v), _rotate_back(R, vdot)

    @staticmethod
    def from_body(R: Array, d: Array) -> Array:
        """Group components ``P^-1 d`` of a body increment or velocity."""
        return _rotate(R, d)

    @staticmethod
    def body_transfer(R0: Array, R1: Array) -> Array:
        """``P_1 P_0^-1 = diag(R_1^T R_0, I)``."""
        result = np.zeros((len(R0), 6, 6))
        result[:, :3, :3] = R1.mT @ R0
        result[:, 3:, 3:] = so3.IDENTITY
        return result

    @staticmethod
    def vdot(R: Array, V: Array, A: Array) -> Array:
        """Time derivative of ``v`` from the body acceleration."""
        return _rotate(R, A)

    @staticmethod
    def derivatives(V: Array, A: Array, dv: Array, dvdot: Array) -> tuple[Array, Array]:
        """Derivatives of ``V`` and ``A`` against the body increment: ``P`` turns with it."""
        dV, dA = dv.copy(), dvdot.copy()
        dV[:, :3, 3:] += so3.skew(V[:, :3])
        dA[:, :3, 3:] += so3.skew(A[:, :3])
        return dV, dA


class SE3:
    """Nodes on SE(3): ``v = (U, Omega)`` in the body frame."""

    group = se3
    coupled = True
    bracket = staticmethod(se3.bracket)
    inverse_tangent = staticmethod(se3.inverse_tangent_operator)

    @staticmethod
    def retract(x: Array, R: Array, D: Array) -> tuple[Array, Array]:
        """Configuration ``q exp(D)``."""
        return se3.compose(R, x, *se3.exp(D))[::-1]

    @staticmethod
    def motion(R: Array, v: Array, vdot: Array) -> tuple[Array, Array]:
        """Body velocity and acceleration: ``U dot + Omega x U``."""
        A = vdot.copy()
        A[:, :3] += np.matvec(so3.skew(v[:, 3:]), v[:, :3])
        return v, A

    @staticmethod
    def from_body(R: Array, d: Array) -> Array:
        """Group components ``P^-1 d`` of a body increment or velocity."""
        return d

    @staticmethod
    def body_transfer(R0: Array, R1: Array) -> Array:
        """``P_1 P_0^-1 = I``."""
        return np.tile(np.eye(6), (len(R0), 1, 1))

    @staticmethod
    def vdot(R: Array, V: Array, A: Array) -> Array:
        """Time derivative of ``v`` from the body acceleration."""
        result = A.copy()
        result[:, :3] -= np.matvec(so3.skew(V[:, 3:]), V[:, :3])
        return result

    @staticmethod
    def derivatives(V: Array, A: Array, dv: Array, dvdot: Array) -> tuple[Array, Array]:
        """Derivatives of ``V`` and ``A`` against the body increment: ``A`` has ``Omega x U``."""
        dA = dvdot.copy()
        dA[:, :3] += so3.skew(V[:, 3:]) @ dv[:, :3] - so3.skew(V[:, :3]) @ dv[:, 3:]
        return dv, dA


def _rotate(R: Array, d: Array) -> Array:
    result = d.copy()
    result[:, :3] = np.matvec(R, d[:, :3])
    return result


def _rotate_back(R: Array, d: Array) -> Array:
    result = d.copy()
    result[:, :3] = np.vecmat(d[:, :3], R)
    return result


KINEMATICS = {"R3xSO3": R3xSO3, "SE3": SE3}


class Kinematics:
    """The nodes of a system, each on its own group; every call serves all nodes of a group at once."""

    def __init__(self, groups: Sequence[str]) -> None:
        self.n = len(groups)
        names = np.array(groups)
        self.parts: list[tuple[Any, IntArray | slice]] = [
            (KINEMATICS[name], slice(None) if (names == name).all() else np.flatnonzero(names == name))
            for name in KINEMATICS
            if (names == name).any()
        ]

    def retract(self, x: Array, R: Array, D: Array) -> tuple[Array, Array]:
        """Configuration ``q exp(D)`` of increments ``(n, 6)``."""
        return self._each("retract", x, R, D)  # type: ignore[no-any-return]

    def motion(self, R: Array, v: Array, vdot: Array) -> tuple[Array, Array]:
        """Body velocity ``V`` and acceleration ``A``, each ``(n, 6)``."""
        return self._each("motion", R, v, vdot)  # type: ignore[no-any-return]

    def from_body(self, R: Array, d: Array) -> Array:
        """Increments or velocities of the groups from body components."""
        return self._each("from_body", R, d)  # type: ignore[no-any-return]

    def body_transfer(self, R0: Array, R1: Array) -> Array:
        """``P_1 P_0^-1`` (n, 6, 6): from body components at ``R0`` to those at ``R1`` of the same increment."""
        return self._each("body_transfer", R0, R1)  # type: ignore[no-any-return]

    def vdot(self, R: Array, V: Array, A: Array) -> Array:
        """Time derivatives of the group velocities from body accelerations."""
        return self._each("vdot", R, V, A)  # type: ignore[no-any-return]

    def inverse_tangent(self, D: Array) -> Array:
        """Inverse tangent operators of the groups, ``(n, 6, 6)``."""
        return self._each("inverse_tangent", D)  # type: ignore[no-any-return]

    def bracket(self, v: Array) -> Array:
        """Matrices of the Lie bracket of the groups, ``(n, 6, 6)``."""
        return self._each("bracket", v)  # type: ignore[no-any-return]

    def derivatives(self, V: Array, A: Array, dv: Array, dvdot: Array) -> tuple[Array, Array]:
        """Derivatives of ``V`` and ``A`` against body increments from those of ``P v`` and ``P vdot``, (n, 6, 6)."""
        return self._each("derivatives", V, A, dv, dvdot)  # type: ignore[no-any-return]

    def relative(self, x0: Array, R0: Array, x1: Array, R1: Array) -> Array:
        """Increments with ``q0 exp(D) = q1``, ``(n, 6)``."""
        result = np.empty((self.n, 6))
        for part, rows in self.parts:
            group = part.group
            inverse = group.inverse(R0[rows], x0[rows])
            result[rows] = group.log(*group.compose(*inverse, R1[rows], x1[rows]))
        return result

    def _each(self, name: str, *arguments: Any) -> Any:
        if len(self.parts) == 1:
            return getattr(self.parts[0][0], name)(*arguments)
        results = [
            getattr(part, name)(*(a[rows] if isinstance(a, np.ndarray) else a for a in arguments))
            for part, rows in self.parts
        ]
        if isinstance(results[0], tuple):
            return tuple(self._merge(parts) for parts in zip(*results, strict=True))
        return self._merge(results)

    def _merge(self, results: Sequence[Array]) -> Array:
        merged = np.empty((self.n, *results[0].shape[1:]))
        for (_, rows), result in zip(self.parts, results, strict=True):
            merged[rows] = result
        return merged
