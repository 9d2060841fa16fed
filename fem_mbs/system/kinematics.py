"""How nodes of a group move, and how elements see it: the only place that knows which group a node carries.

Elements work in body components: the velocity ``V = (U, Omega)`` and the acceleration ``A = (acceleration of the
node point, Omega dot)`` in the body frame, and increments ``(delta U, delta theta)``. With ``P = diag(R^T, I)`` on
R3xSO3 and ``P = I`` on SE(3), ``V = P v``; the residual in body components is ``P^-T r``, so both groups share one set
of equations (Bruels, Cardona, Arnold 2012, eqs. 18, 29; docs/theory.md, "Both groups, one set of equations").

Rates come in pairs ``(2, n, 6)``: velocities and accelerations, of the group or of the body.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Protocol, TypeAlias

import numpy as np

from fem_mbs.arrays import Array, IntArray
from fem_mbs.lie import r3xso3, se3, so3

Rows: TypeAlias = "slice | IntArray"


class Kinematics(Protocol):
    """What is asked of the nodes of a system, each on its own group; every call serves all nodes at once."""

    @property
    def parts(self) -> list[tuple[Any, Rows]]:
        """The groups, and the rows of their nodes."""
        ...

    def retract(self, x: Array, R: Array, D: Array) -> tuple[Array, Array]:
        """Configuration ``q exp(D)`` of increments ``(n, 6)``."""
        ...

    def relative(self, x0: Array, R0: Array, x1: Array, R1: Array) -> Array:
        """Increments with ``q0 exp(D) = q1``, ``(n, 6)``."""
        ...

    def motion(self, R: Array, rates: Array) -> Array:
        """Body velocities and accelerations ``(V, A)`` from group rates ``(v, vdot)``, ``(2, n, 6)``."""
        ...

    def to_body(self, R: Array, d: Array) -> Array:
        """Body components ``P d`` of a group increment or velocity."""
        ...

    def from_body(self, R: Array, d: Array) -> Array:
        """Group components ``P^-1 d`` of a body increment or velocity."""
        ...

    def vdot(self, R: Array, V: Array, A: Array) -> Array:
        """Time derivatives of the group velocities from body accelerations."""
        ...

    def body_transfer(self, R0: Array, R1: Array) -> Array:
        """``P_1 P_0^-1`` (n, 6, 6): from body components at ``R0`` to those at ``R1`` of the same increment."""
        ...

    def derivatives(self, body: Array, rates: Array) -> Array:
        """Derivatives ``(2, n, 6, 6)`` of ``(V, A)`` against body increments from those of group rates, in place."""
        ...

    def change(self, body: Array, rates: Array) -> Array:
        """Changes ``(2, n, 6)`` of ``(V, A)`` with group rates in body components, where the nodes are held."""
        ...

    def tangent(self, D: Array) -> Array:
        """Tangent operators of the group, ``(n, 6, 6)``."""
        ...

    def inverse_tangent(self, D: Array) -> Array:
        """Inverse tangent operators of the group, ``(n, 6, 6)``."""
        ...

    def add_bracket(self, result: Array, share: float, v: Array, w: Array) -> None:
        """Add a share of the Lie bracket ``[v, w]``, ``(n, 6)``."""
        ...


class SingleGroup:
    """A group that all nodes of a system are on."""

    @property
    def parts(self) -> list[tuple[Any, Rows]]:
        return [(self, slice(None))]


class R3xSO3(SingleGroup):
    """Nodes on R3xSO3: ``v = (u, Omega)`` with ``u`` in the world frame."""

    coupled: ClassVar = False
    tangent = staticmethod(r3xso3.tangent_operator)
    inverse_tangent = staticmethod(r3xso3.inverse_tangent_operator)

    @staticmethod
    def retract(x: Array, R: Array, D: Array) -> tuple[Array, Array]:
        return x + D[:, :3], R @ so3.exp(D[:, 3:])

    @staticmethod
    def relative(x0: Array, R0: Array, x1: Array, R1: Array) -> Array:
        return np.concatenate([x1 - x0, so3.log(R0.mT @ R1)], axis=-1)

    @staticmethod
    def to_body(R: Array, d: Array) -> Array:
        result = d.copy()
        np.vecmat(d[..., :3], R, out=result[..., :3])
        return result

    motion = to_body

    @staticmethod
    def from_body(R: Array, d: Array) -> Array:
        result = d.copy()
        np.matvec(R, d[..., :3], out=result[..., :3])
        return result

    @staticmethod
    def vdot(R: Array, V: Array, A: Array) -> Array:
        return R3xSO3.from_body(R, A)

    @staticmethod
    def body_transfer(R0: Array, R1: Array) -> Array:
        result = np.zeros((len(R0), 6, 6))
        result[:, :3, :3] = R1.mT @ R0
        result[:, 3:, 3:] = so3.IDENTITY
        return result

    @staticmethod
    def derivatives(body: Array, rates: Array) -> Array:
        """``P`` turns with the increment."""
        rates[..., :3, 3:] += so3.skew(body[..., :3])
        return rates

    @staticmethod
    def change(body: Array, rates: Array) -> Array:
        return rates

    @staticmethod
    def add_bracket(result: Array, share: float, v: Array, w: Array) -> None:
        result[:, 3:] += share * so3.cross(v[:, 3:], w[:, 3:])


class SE3(SingleGroup):
    """Nodes on SE(3): ``v = (U, Omega)`` in the body frame."""

    coupled: ClassVar = True
    tangent = staticmethod(se3.tangent_operator)
    inverse_tangent = staticmethod(se3.inverse_tangent_operator)

    @staticmethod
    def retract(x: Array, R: Array, D: Array) -> tuple[Array, Array]:
        return se3.compose(R, x, *se3.exp(D))[::-1]

    @staticmethod
    def relative(x0: Array, R0: Array, x1: Array, R1: Array) -> Array:
        return se3.log(R0.mT @ R1, np.vecmat(x1 - x0, R0))

    @staticmethod
    def motion(R: Array, rates: Array) -> Array:
        """The acceleration of the point is ``U dot + Omega x U``."""
        result = rates.copy()
        result[1, :, :3] += so3.cross(rates[0, :, 3:], rates[0, :, :3])
        return result

    @staticmethod
    def to_body(R: Array, d: Array) -> Array:
        return d

    from_body = to_body

    @staticmethod
    def vdot(R: Array, V: Array, A: Array) -> Array:
        result = A.copy()
        result[:, :3] -= so3.cross(V[:, 3:], V[:, :3])
        return result

    @staticmethod
    def body_transfer(R0: Array, R1: Array) -> Array:
        return np.broadcast_to(np.eye(6), (len(R0), 6, 6))

    @staticmethod
    def derivatives(body: Array, rates: Array) -> Array:
        """``A`` has ``Omega x U``."""
        V, dV = body[0], rates[0]
        rates[1, :, :3] += so3.skew(V[:, 3:]) @ dV[:, :3] - so3.skew(V[:, :3]) @ dV[:, 3:]
        return rates

    @staticmethod
    def change(body: Array, rates: Array) -> Array:
        """``A`` has ``Omega x U``."""
        result, V, dV = rates.copy(), body[0], rates[0]
        result[1, :, :3] += so3.cross(V[:, 3:], dV[:, :3]) + so3.cross(dV[:, 3:], V[:, :3])
        return result

    @staticmethod
    def add_bracket(result: Array, share: float, v: Array, w: Array) -> None:
        result += share * np.matvec(se3.bracket(v), w)


GROUPS: dict[str, type[R3xSO3] | type[SE3]] = {"R3xSO3": R3xSO3, "SE3": SE3}


class MixedGroups:
    """Nodes of several groups: each call serves one group after the other."""

    def __init__(self, groups: Sequence[str]) -> None:
        names = np.array(groups)
        self.parts: list[tuple[Any, Rows]] = [
            (GROUPS[name](), np.flatnonzero(names == name)) for name in dict.fromkeys(groups)
        ]

    def retract(self, x: Array, R: Array, D: Array) -> tuple[Array, Array]:
        x1, R1 = np.empty_like(x), np.empty_like(R)
        for group, rows in self.parts:
            x1[rows], R1[rows] = group.retract(x[rows], R[rows], D[rows])
        return x1, R1

    def relative(self, x0: Array, R0: Array, x1: Array, R1: Array) -> Array:
        result = np.empty((len(x0), 6))
        for group, rows in self.parts:
            result[rows] = group.relative(x0[rows], R0[rows], x1[rows], R1[rows])
        return result

    def motion(self, R: Array, rates: Array) -> Array:
        result = np.empty_like(rates)
        for group, rows in self.parts:
            result[:, rows] = group.motion(R[rows], rates[:, rows])
        return result

    def to_body(self, R: Array, d: Array) -> Array:
        result = np.empty_like(d)
        for group, rows in self.parts:
            result[..., rows, :] = group.to_body(R[rows], d[..., rows, :])
        return result

    def from_body(self, R: Array, d: Array) -> Array:
        result = np.empty_like(d)
        for group, rows in self.parts:
            result[..., rows, :] = group.from_body(R[rows], d[..., rows, :])
        return result

    def vdot(self, R: Array, V: Array, A: Array) -> Array:
        result = np.empty_like(A)
        for group, rows in self.parts:
            result[rows] = group.vdot(R[rows], V[rows], A[rows])
        return result

    def body_transfer(self, R0: Array, R1: Array) -> Array:
        result = np.empty((len(R0), 6, 6))
        for group, rows in self.parts:
            result[rows] = group.body_transfer(R0[rows], R1[rows])
        return result

    def derivatives(self, body: Array, rates: Array) -> Array:
        result = np.empty_like(rates)
        for group, rows in self.parts:
            result[:, rows] = group.derivatives(body[:, rows], rates[:, rows])
        return result

    def change(self, body: Array, rates: Array) -> Array:
        result = np.empty_like(rates)
        for group, rows in self.parts:
            result[:, rows] = group.change(body[:, rows], rates[:, rows])
        return result

    def tangent(self, D: Array) -> Array:
        result = np.empty((*D.shape, 6))
        for group, rows in self.parts:
            result[rows] = group.tangent(D[rows])
        return result

    def inverse_tangent(self, D: Array) -> Array:
        result = np.empty((*D.shape, 6))
        for group, rows in self.parts:
            result[rows] = group.inverse_tangent(D[rows])
        return result

    def add_bracket(self, result: Array, share: float, v: Array, w: Array) -> None:
        for group, rows in self.parts:
            part = result[rows]
            group.add_bracket(part, share, v[rows], w[rows])
            result[rows] = part


def make_kinematics(groups: Sequence[str]) -> Kinematics:
    """The nodes of a system on the groups named, one a node."""
    return GROUPS[groups[0]]() if len(set(groups)) == 1 else MixedGroups(groups)
