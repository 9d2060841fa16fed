"""How nodes of a group move, and how elements see it: the only place that knows which group a node carries.

Elements work in body components: the velocity ``V = (U, Omega)`` and the acceleration ``A = (acceleration of the
node point, Omega dot)`` in the body frame, and increments ``(delta U, delta theta)``. With ``P = diag(R^T, I)`` on
R3xSO3 and ``P = I`` on SE(3), ``V = P v``; the residual in body components is ``P^-T r``, so both groups share one set
of equations (Bruels, Cardona, Arnold 2012, eqs. 18, 29; docs/theory.md, "Both groups, one set of equations").

Rates come in pairs ``(2, n, 6)``: velocities and accelerations, of the group or of the body.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeAlias

import numpy as np

from fem_mbs.arrays import Array, IntArray
from fem_mbs.lie import r3xso3, se3, so3

Rows: TypeAlias = "slice | IntArray"


class Chart:
    """The coordinates in which a step is made; by default increments of the group, whose rates are the velocities.

    A method takes Newmark's formulas for an increment ``D`` (n, 6) of the configuration and its rates. Local and
    classical coordinates of other methods override it, and may be more than six a node (``methods/comparison``). Own
    internal variables are coordinates as they are, and no business of a chart.
    """

    width = 6
    """Coordinates of a node."""
    kinematics: Kinematics
    """Of the velocities that the chart returns."""

    def end_of_step(self, x: Array, R: Array, D: Array, rates: Array) -> tuple[Array, Array, Array]:
        """Configuration ``x``, ``R`` at the coordinates ``D``, and velocities, accelerations and algorithmic ones.

        From the first and second rates of the coordinates and the algorithmic ones, ``(3, n, width)``.
        """
        return (*self.retract(x, R, D), rates)

    def retract(self, x: Array, R: Array, D: Array) -> tuple[Array, Array]:
        """That configuration alone."""
        raise NotImplementedError

    def derivatives(self, D: Array, rates: Array, factors: Array) -> tuple[Array, Array]:
        """``dD/d(increment)``, and derivatives (2, n, 6, 6) of group rates where those of ``D`` follow by ``factors``.

        Here ``T^-1(D)``, and the factors times that (Arnold, Cardona, Bruels 2015, eq. 31).
        """
        T_inv = self.kinematics.inverse_tangent(D)
        return T_inv, factors * T_inv

    def step_derivatives(self, D: Array, rates: Array, body: Array, factors: Array) -> tuple[Array, Array, Array]:
        """``dD/d(increment)``, and with it derivatives (n, 6, 6) of body velocities and of accelerations, ``body``."""
        T_inv, lifted = self.derivatives(D, rates, factors)
        return (T_inv, *self.kinematics.body_derivatives(body, lifted))

    def rate_derivatives(self, D: Array, rates: Array, factors: Array) -> Array:
        """Derivatives (2, n, 6, 6) of group rates along rates that are ``factors`` times an increment of ``D``."""
        return factors * np.broadcast_to(np.eye(6), (len(D), 6, 6))

    def rate_changes(self, D: Array, rates: Array, factors: Array, d: Array) -> Array:
        """Changes (2, n, 6) of group rates with rates that change by ``factors`` times ``d`` (n, 6)."""
        return factors[:, 0] * d

    def from_velocities(self, T_inv: Array, d: Array) -> Array:
        """Coordinates ``(n, 6)`` along whose rates velocities change by ``d`` (n, 6), given ``dD/d(increment)``."""
        return d

    def frozen(self, D: Array, w: Array) -> tuple[Array, Array]:
        """``T(D) w`` (n, 6) of rates that stay, and its derivative against ``D``."""
        return w, np.zeros((len(D), 6, 6))

    def frozen_transposed(self, D: Array, f: Array) -> Array:
        """Derivative of ``T^T(D) f`` against ``D``, of forces (n, 6) that stay."""
        return np.zeros((len(D), 6, 6))

    def third(self, v: Array, vdot: Array, vddot: Array) -> Array:
        """Third derivative of the coordinates at the start of a step."""
        return vddot

    def local_error(self, C_q: float, v: Array, vdot: Array, vddot: Array) -> Array:  # noqa: N803
        """Leading error of the increment of a step over ``h^3``.

        Arnold, Cardona, Bruels (2015), eq. 69; Bruels, Cardona, Arnold (2012), eq. 47, has the other sign.
        """
        error = C_q * vddot
        self.kinematics.add_bracket(error, 1.0 / 12.0, v, vdot)
        return error


class Kinematics(Chart):
    """What is asked of the nodes of a system, each on its own group; every call serves all nodes at once."""

    parts: list[tuple[Any, Rows]]
    """The groups, and the rows of their nodes."""
    relative: Callable[[Array, Array, Array, Array], Array]
    """``(x0, R0, x1, R1)``: increments with ``q0 exp(D) = q1``, ``(n, 6)``."""
    motion: Callable[[Array, Array], Array]
    """``(R, rates)``: body velocities and accelerations ``(V, A)`` from group rates ``(v, vdot)``, ``(2, n, 6)``."""
    to_body: Callable[[Array, Array], Array]
    """``(R, d)``: body components ``P d`` of a group increment or velocity."""
    from_body: Callable[[Array, Array], Array]
    """``(R, d)``: group components ``P^-1 d`` of a body increment or velocity."""
    vdot: Callable[[Array, Array, Array], Array]
    """``(R, V, A)``: time derivatives of the group velocities from body accelerations."""
    body_transfer: Callable[[Array, Array], Array]
    """``(R0, R1)``: ``P_1 P_0^-1`` (n, 6, 6), from body components at ``R0`` to those at ``R1`` of one increment."""
    body_derivatives: Callable[[Array, Array], Array]
    """``(body, rates)``: derivatives ``(2, n, 6, 6)`` of ``(V, A)`` against body increments from those of group rates,
    in place."""
    change: Callable[[Array, Array], Array]
    """``(body, rates)``: changes ``(2, n, 6)`` of ``(V, A)`` with group rates in body components, nodes being held."""
    tangent: Callable[[Array], Array]
    """``(D)``: tangent operators of the group, ``(n, 6, 6)``."""
    inverse_tangent: Callable[[Array], Array]
    """``(D)``: inverse tangent operators of the group, ``(n, 6, 6)``."""
    add_bracket: Callable[[Array, float, Array, Array], None]
    """``(result, share, v, w)``: add a share of the Lie bracket ``[v, w]``, ``(n, 6)``."""


class SingleGroup(Kinematics):
    """A group that all nodes of a system are on."""

    coupled: ClassVar = False
    """Whether translations turn with rotations, so that velocities are those of the body."""

    def __init__(self) -> None:
        self.kinematics, self.parts = self, [(self, slice(None))]


class R3xSO3(SingleGroup):
    """Nodes on R3xSO3: ``v = (u, Omega)`` with ``u`` in the world frame."""

    tangent = staticmethod(r3xso3.tangent_operator)
    inverse_tangent = staticmethod(r3xso3.inverse_tangent_operator)

    @staticmethod
    def retract(x: Array, R: Array, D: Array) -> tuple[Array, Array]:
        return x + D[:, :3], R @ so3.exp(D[:, 3:])

    def end_of_step(self, x: Array, R: Array, D: Array, rates: Array) -> tuple[Array, Array, Array]:
        return x + D[:, :3], R @ so3.exp(D[:, 3:]), rates

    def local_error(self, C_q: float, v: Array, vdot: Array, vddot: Array) -> Array:  # noqa: N803
        error = C_q * vddot
        error[:, 3:] += np.matvec(so3.skew(v[:, 3:]), vdot[:, 3:]) / 12.0
        return error

    def step_derivatives(self, D: Array, rates: Array, body: Array, factors: Array) -> tuple[Array, Array, Array]:
        T_inv = np.zeros((len(D), 6, 6))
        T_inv[:, :3, :3] = so3.IDENTITY
        T_inv[:, 3:, 3:] = so3.inverse_tangent_operator(D[:, 3:])
        both = factors * T_inv
        both[..., :3, 3:] += so3.skew(body[..., :3])
        return T_inv, both[0], both[1]

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
    def body_derivatives(body: Array, rates: Array) -> Array:
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
    def body_derivatives(body: Array, rates: Array) -> Array:
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


def _of_groups(name: str, given: Sequence[int], results: Sequence[int] = (0,)) -> Any:
    """A method of each group, for its nodes, which stand along these axes of what it is given and of its results."""

    def of_all(self: MixedGroups, *arrays: Array) -> Any:
        parts = []
        for group, rows in self.parts:
            own = getattr(group, name)(*(array.take(rows, k) for array, k in zip(arrays, given, strict=True)))  # type: ignore[arg-type]
            parts.append(own if isinstance(own, tuple) else (own,))
        pairs = zip(zip(*parts, strict=True), results, strict=True)
        joined = tuple(np.concatenate(own, k).take(self.places, k) for own, k in pairs)
        return joined if len(joined) > 1 else joined[0]

    return of_all


class MixedGroups(Kinematics):
    """Nodes of several groups: each call serves one group after the other."""

    def __init__(self, groups: Sequence[str]) -> None:
        names = np.array(groups)
        self.kinematics = self
        self.parts = [(GROUPS[name](), np.flatnonzero(names == name)) for name in dict.fromkeys(groups)]
        self.places = np.argsort(np.concatenate([rows for _, rows in self.parts]))
        """Where each node is when those of a group stand together."""

    retract = _of_groups("retract", (0, 0, 0), (0, 0))
    relative = _of_groups("relative", (0, 0, 0, 0))
    motion = _of_groups("motion", (0, 1), (1,))
    to_body = _of_groups("to_body", (0, -2), (-2,))
    from_body = _of_groups("from_body", (0, -2), (-2,))
    vdot = _of_groups("vdot", (0, 0, 0))
    body_transfer = _of_groups("body_transfer", (0, 0))
    body_derivatives = _of_groups("body_derivatives", (1, 1), (1,))
    change = _of_groups("change", (1, 1), (1,))
    tangent = _of_groups("tangent", (0,))
    inverse_tangent = _of_groups("inverse_tangent", (0,))

    def add_bracket(self, result: Array, share: float, v: Array, w: Array) -> None:
        for group, rows in self.parts:
            part = result[rows]
            group.add_bracket(part, share, v[rows], w[rows])
            result[rows] = part


def make_kinematics(groups: Sequence[str]) -> Kinematics:
    """The nodes of a system on the groups named, one a node."""
    return GROUPS[groups[0]]() if len(set(groups)) == 1 else MixedGroups(groups)
