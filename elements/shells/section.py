"""Stiffness and inertia of a shell per area: one material, a laminate, or any coupled law."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any

import numpy as np

from fem_mbs.arrays import Array, ArrayLike
from fem_mbs.contracts import NotNegative, Positive, Public, array, checked, kept, number, shown
from fem_mbs.contracts.arguments import shaped, symmetric
from fem_mbs.elements.beams.section import Poisson
from fem_mbs.errors import ModelError

SHEAR_FACTOR = 5.0 / 6.0
DRILLING = 0.1
"""Share of the shear stiffness of the membrane, over four, that resists drilling."""


def _plies(value: Any, label: object) -> list[tuple[float, float]]:
    """Angles in degrees and thicknesses, from the bottom up."""
    table = array(value, label, (None, 2), what="pairs (angle in degrees, thickness), from the bottom up")
    if not len(table) or (table[:, 1] <= 0.0).any():
        raise ModelError(f"{label} must be at least one pair (angle, thickness > 0), received {shown(value)}")
    return [(float(angle), float(thickness)) for angle, thickness in table]


Symmetric3 = Annotated[ArrayLike, partial(symmetric, size=3)]


Layers = Annotated[ArrayLike, shaped((None, 3), (0, 3), what="angle, bottom and top of each layer")]


@checked
@dataclass(frozen=True, eq=False, repr=False)
class ShellSection(Public):
    """What a shell is made of, in axes 1 and 2 in its surface and 3 along its normal.

    All its quantities belong to the middle of its thickness, and to the area of that.
    Made by :meth:`isotropic`, :meth:`laminate` or :meth:`general`. Forces and moments per length, and strains, come in
    the order membrane 11, 22, 12 (N/m), bending 11, 22, 12 (N), shear 1, 2 (N/m); a moment 11 stretches the top fibres
    along 1, and twice the shear strain and twice the twist stand for 12. ``repr`` shows thickness and mass.

    Parameters
    ----------
    stiffness : (8, 8)
        Forces and moments per strain.
    mass : float
        Per area, kg/m^2.
    inertia : float
        Rotational inertia per area about the mass centre, kg.
    thickness : float
        In m, for pictures and stresses.
    offset : float
        Where the middle of the thickness is, above the surface of the nodes along the normal.
    damping : float
        Material damping: a time in s times the stiffness.
    plies : (k, 3)
        Angle in rad, bottom and top of each layer above the middle of the thickness; none if stresses are unknown.
    modulus : (3, 3), optional
        Plane stress per strain 11, 22, 12 in the axes of a ply.
    """

    _internal = "turned stress drilling is_isotropic"

    stiffness: Array
    mass: float
    inertia: float
    thickness: float
    offset: float
    damping: float
    plies: Array
    modulus: Array | None

    def __init__(
        self,
        stiffness: Annotated[ArrayLike, partial(symmetric, size=8)],
        mass: Positive,
        inertia: Positive,
        thickness: Positive,
        offset: float = 0.0,
        damping: NotNegative = 0.0,
        plies: Layers = np.zeros((0, 3)),  # noqa: B008
        modulus: Symmetric3 | None = None,
    ) -> None:
        law = np.asarray(stiffness)
        units = np.sqrt(np.abs(np.diag(law)))
        if not (units > 0.0).all() or np.linalg.eigvalsh(law / np.outer(units, units))[0] <= 0.0:
            raise ModelError(f"ShellSection: the stiffness must be positive definite, received\n{law}")
        known = None if modulus is None else np.asarray(modulus)
        values = law, mass, inertia, thickness, offset, damping, np.asarray(plies), known
        for name, value in zip(self.__dataclass_fields__, values, strict=True):
            object.__setattr__(self, name, kept(value, "ShellSection", name))

    def __repr__(self) -> str:
        return f"ShellSection(thickness={self.thickness:.6g}, mass={self.mass:.6g})"

    @property
    def drilling(self) -> float:
        """Stiffness against drilling, N/m: weak, and physical in size."""
        return float(DRILLING * self.stiffness[2, 2] / 4.0)

    @property
    def is_isotropic(self) -> bool:
        """Whether its law is the same in all directions of the surface."""
        return bool(np.allclose(self.turned(0.4), self.stiffness, rtol=1e-9, atol=1e-9 * self.stiffness.max()))

    @classmethod
    @checked
    def isotropic(cls, thickness: Positive, E: Positive, nu: Poisson, rho: Positive) -> ShellSection:
        """One material: ``thickness`` in m, modulus in N/m^2, Poisson's ratio, density in kg/m^3."""
        G = E / (2.0 * (1.0 + nu))
        if nu == 1.0:
            raise ModelError(f"ShellSection.isotropic: nu must be at most 0.5, received {nu}")
        C = E / (1.0 - nu**2) * np.array([[1.0, nu, 0.0], [nu, 1.0, 0.0], [0.0, 0.0, 0.5 * (1.0 - nu)]])
        return _layered([(0.0, thickness)], C, np.diag([G, G]), rho)

    @classmethod
    @checked
    def laminate(
        cls,
        plies: Annotated[Any, _plies],
        *,
        E1: Positive,
        E2: Positive,
        G12: Positive,
        nu12: float,
        rho: Positive,
        G13: Positive | None = None,
        G23: Positive | None = None,
    ) -> ShellSection:
        """Layers of one material in different directions; the shear factor is 5/6.

        Parameters
        ----------
        plies : list of (float, float)
            Angle in degrees and thickness in m of each, from the bottom up. Angles count from the ``direction`` of the
            shell, right-handed about its normal.
        E1, E2, G12, nu12 : float
            Moduli along and across the fibres and of shear in N/m^2, Poisson's ratio of a pull along the fibres.
        rho : float
            Density in kg/m^3.
        G13, G23 : float, optional
            Moduli of transverse shear; ``G12`` by default.
        """
        nu21 = number(nu12, "ShellSection.laminate: nu12") * E2 / E1
        if not nu12 * nu21 < 1.0:
            raise ModelError(f"ShellSection.laminate: nu12 must be less than sqrt(E1/E2) in size, received {nu12}")
        C = np.array([[E1, nu12 * E2, 0.0], [nu12 * E2, E2, 0.0], [0.0, 0.0, (1.0 - nu12 * nu21) * G12]])
        shear = np.diag([G12 if G is None else G for G in (G13, G23)])
        return _layered(plies, C / (1.0 - nu12 * nu21), shear, rho)

    @classmethod
    @checked
    def general(
        cls,
        A: Symmetric3,
        B: Symmetric3,
        D: Symmetric3,
        S: Annotated[ArrayLike, partial(symmetric, size=2)],
        mass: Positive,
        *,
        inertia: Positive | None = None,
        thickness: Positive | None = None,
    ) -> ShellSection:
        """Any law ``N = A eps + B kappa``, ``M = B eps + D kappa``, ``q = S gamma``.

        Parameters
        ----------
        A, B, D : (3, 3)
            Of membrane, coupling and bending, in N/m, N, N m, order 11, 22, 12.
        S : (2, 2)
            Of transverse shear, N/m.
        mass : float
            Per area, kg/m^2.
        inertia : float, optional
            Rotational, per area, in kg; by default that of a plate of the ``thickness``.
        thickness : float, optional
            In m; by default that of a plate with the ratio of ``D`` and ``A``.
        """
        membrane, bending = np.asarray(A), np.asarray(D)
        ratio = abs(float(np.trace(bending)) / (float(np.trace(membrane)) or 1.0))
        h = float(np.sqrt(12.0 * ratio)) if thickness is None else thickness
        return cls(_law(membrane, np.asarray(B), bending, np.asarray(S)), mass, inertia or mass * h**2 / 12.0, h)

    @checked
    def with_damping(self, time: NotNegative) -> ShellSection:
        """A copy with material damping: a time in s times the stiffness."""
        return replace(self, damping=time)

    @checked
    def with_offset(self, offset: float) -> ShellSection:
        """A copy whose material stands off the surface of the nodes by ``offset`` in m along the normal."""
        return replace(self, offset=self.offset + offset)

    def turned(self, angle: Array | float) -> Array:
        """Stiffness ``(..., 8, 8)`` in axes from which the material's are turned by an angle in rad."""
        T = np.zeros((*np.shape(angle), 8, 8))
        T[..., :3, :3] = T[..., 3:6, 3:6] = strains_turned(angle)
        c, s = np.cos(angle), np.sin(angle)
        T[..., 6:, 6:] = np.moveaxis(np.array([[c, s], [-s, c]]), (0, 1), (-2, -1))
        return T.mT @ self.stiffness @ T

    def stress(self, strains: Array, angle: Array | float, ply: int, z: float) -> Array:
        """Stress 11, 22, 12 ``(..., 3)`` in the axes of a ply at height ``z`` over the middle of the thickness.

        ``strains`` (..., 6+) are those of this middle, in axes from which the material's are turned by ``angle``.
        """
        assert self.modulus is not None
        local = strains[..., :3] + z * strains[..., 3:6]
        return np.matvec(self.modulus @ strains_turned(angle + self.plies[ply, 0]), local)


def _law(A: Array, B: Array, D: Array, S: Array) -> Array:
    law = np.zeros((8, 8))
    law[:6, :6], law[6:, 6:] = np.block([[A, B], [B.T, D]]), S
    return law


def _layered(plies: list[tuple[float, float]], C: Array, shear: Array, rho: float) -> ShellSection:
    """Integrals over the thickness of plies with angles in degrees, of plane stress ``C`` in their own axes."""
    angles, thicknesses = np.radians([angle for angle, _ in plies]), np.array([t for _, t in plies])
    h = float(thicknesses.sum())
    z = np.append(0.0, np.cumsum(thicknesses)) - 0.5 * h
    T = strains_turned(angles)
    Q = T.mT @ C @ T
    A, B, D = (np.tensordot(np.diff(z**k) / k, Q, 1) for k in (1, 2, 3))
    c, s = np.cos(angles), np.sin(angles)
    turn = np.moveaxis(np.array([[c, s], [-s, c]]), (0, 1), (-2, -1))
    S = SHEAR_FACTOR * np.tensordot(thicknesses, turn.mT @ shear @ turn, 1)
    if np.abs(B).max() <= 1e-12 * h * np.abs(A).max():
        B = np.zeros((3, 3))
    table = np.stack([angles, z[:-1], z[1:]], axis=-1)
    return ShellSection(_law(A, B, D, S), rho * h, rho * h**3 / 12.0, h, plies=table, modulus=C)


def strains_turned(angle: Array | float) -> Array:
    """Strains 11, 22, 12 in axes turned by an angle, ``(..., 3, 3)``; stresses come back by it."""
    c, s = np.cos(angle), np.sin(angle)
    rows = [[c * c, s * s, c * s], [s * s, c * c, -c * s], [-2.0 * c * s, 2.0 * c * s, c * c - s * s]]
    return np.moveaxis(np.array(rows), (0, 1), (-2, -1))
