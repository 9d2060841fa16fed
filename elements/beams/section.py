"""Stiffness, inertia and shape of a beam's cross-section, and sections that change along a beam."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import numpy as np

from fem_mbs.arrays import Array, ArrayLike
from fem_mbs.contracts import Positive, Public, array, checked, instance, kept, number, real, returned, shown
from fem_mbs.contracts.arguments import shaped, symmetric
from fem_mbs.elements.shapes import circle
from fem_mbs.errors import ModelError
from fem_mbs.lie import se3, so3

CIRCLE_POINTS = 24


def _pair(value: Any, label: object) -> tuple[float, float]:
    values = real(value)
    if values is None or values.shape not in ((), (1,), (2,)):
        raise ModelError(f"{label} must be one number or a pair (y, z), received {shown(value)}")
    y, z = values.ravel()[[0, -1]]
    return number(y, label, positive=True), number(z, label, positive=True)


def _inertia(value: Any, label: object) -> Array:
    j = real(value)
    if j is None or j.shape != (3,) or not np.isfinite(j).all() or (j <= 0.0).any():
        raise ModelError(f"{label} must be 3 positive numbers per length (torsional, y, z), received {shown(value)}")
    return j


def _poisson(nu: Any, label: object) -> float:
    value = number(nu, label)
    if not -1.0 < value <= 0.5:
        raise ModelError(f"{label} must be above -1 and at most 0.5, received {value}")
    return value


def _contour(outline: Any, label: object) -> Array:
    what = "at least three points (y, z)"
    if len(points := array(outline, label, (None, 2), what=what)) < 3:
        raise ModelError(f"{label} must be {what}, received {shown(outline)}")
    return points


Place = Annotated[ArrayLike, shaped((2,), what="a place (y, z), two numbers")]
Poisson = Annotated[float, _poisson]
Matrix = Annotated[ArrayLike, partial(symmetric, size=6)]


@checked
@dataclass(frozen=True, eq=False, repr=False)
class BeamSection(Public):
    """A cross-section in its own frame: x along the beam, y and z across.

    Strains and stiffnesses come in the order axial, shear y, shear z, torsion, bending about y, bending about z.

    Parameters
    ----------
    EA, GJ : float
        Axial and torsional stiffness in N and N m^2.
    GA, EI : float or (2,)
        Shear and bending stiffness about y and z; one number serves both. Shear factors are part of ``GA``.
    mass : float
        Mass per length in kg/m.
    inertia : (3,)
        Rotational inertia per length in kg m: torsional, about y, about z.
    outline : (k, 2), optional
        Contour of the section in its y-z plane, for drawing only; by default a rectangle of about the right size.
    shear_center : (2,)
        Place (y, z) of the shear centre, about which the section twists and to which ``GA`` and ``GJ`` belong. The rest
        belongs to the centroid, which is at (0, 0), the line of the beam's nodes; for other lines and axes see
        :meth:`shifted` and :meth:`turned`.

    Attributes
    ----------
    stiffness, damping : (6, 6)
        Section force per strain and per strain rate.
    mass : float
        Mass per length.
    center : (3,)
        Mass centre in the section frame.
    line : (3,)
        Where what was on the line of the nodes stands, by :meth:`shifted`.
    inertia : (3, 3)
        Rotational inertia per length about the mass centre.
    outline : (k, 2)
        Contour in the y-z plane, drawn in ParaView.
    recipe : tuple of (str, tuple)
        How it was made, step by step, with the values given: what a linear taper interpolates.

    Raises
    ------
    ModelError
        If a value is missing, not finite or not positive.
    """

    stiffness: Array
    mass: float
    inertia: Array
    damping: Array
    center: Array
    line: Array
    outline: Array
    recipe: tuple[tuple[str, tuple[Any, ...]], ...]

    def __init__(
        self,
        EA: Positive,
        GA: Annotated[ArrayLike, _pair],
        GJ: Positive,
        EI: Annotated[ArrayLike, _pair],
        mass: Positive,
        inertia: Annotated[ArrayLike, _inertia],
        outline: Annotated[ArrayLike, _contour] | None = None,
        shear_center: Place = (0.0, 0.0),
    ) -> None:
        stiffness, j = np.array([EA, *np.atleast_1d(GA), GJ, *np.atleast_1d(EI)]), np.asarray(inertia)
        shape = _equivalent_rectangle(stiffness, mass, j) if outline is None else np.asarray(outline)
        shear_center = np.asarray(shear_center)
        about = _strains_at(np.append(0.0, shear_center))
        shear = np.array([0.0, 1.0, 1.0, 1.0, 0.0, 0.0])
        coupled = np.diag(stiffness * (1.0 - shear)) + about.T @ np.diag(stiffness * shear) @ about
        self._set(stiffness=coupled, mass=mass, inertia=np.diag(j), center=np.zeros(3), outline=shape)
        self._set(damping=np.zeros((6, 6)), line=np.zeros(3))
        self._remember("BeamSection", EA, GA, GJ, EI, mass, inertia, outline, shear_center)

    def __repr__(self) -> str:
        EA, GA_y, GA_z, GJ, EI_y, EI_z = np.diag(self.stiffness)
        j = np.diag(self.inertia)
        return (
            f"BeamSection(EA={EA:.6g}, GA=({GA_y:.6g}, {GA_z:.6g}), GJ={GJ:.6g}, EI=({EI_y:.6g}, {EI_z:.6g}), "
            f"mass={self.mass:.6g}, inertia=({j[0]:.6g}, {j[1]:.6g}, {j[2]:.6g}))"
        )

    def _set(self, **values: Any) -> BeamSection:
        for name, value in values.items():
            object.__setattr__(self, name, kept(value, "BeamSection", name))
        return self

    def _remember(self, step: str, *values: Any) -> BeamSection:
        """The section itself, made in one step."""
        return self._set(recipe=((step, values),))

    @classmethod
    @checked
    def rectangle(cls, width: Positive, height: Positive, E: Positive, nu: Poisson, rho: Positive) -> BeamSection:
        """Solid rectangle, shear factor 5/6.

        The torsion constant is Saint-Venant's series, so a square has 0.1406 a^4.

        Parameters
        ----------
        width, height : float
            Along y and along z, m.
        E, nu, rho : float
            Young's modulus in N/m^2, Poisson's ratio, density in kg/m^3.
        """
        A, I_y, I_z = width * height, width * height**3 / 12, height * width**3 / 12
        section = _solid(A, I_y, I_z, _rectangle_torsion(width, height), 5 / 6, E, nu, rho, _rectangle(width, height))
        return section._remember("rectangle", width, height, E, nu, rho)

    @classmethod
    @checked
    def circle(cls, radius: Positive, E: Positive, nu: Poisson, rho: Positive) -> BeamSection:
        """Solid circle, ``radius`` in m, shear factor 6 (1 + nu)/(7 + 6 nu) (Cowper 1966); see :meth:`rectangle`."""
        r, second = radius, np.pi * radius**4 / 4
        factor = 6 * (1 + nu) / (7 + 6 * nu)
        section = _solid(np.pi * r**2, second, second, 2 * second, factor, E, nu, rho, _circle(r))
        return section._remember("circle", r, E, nu, rho)

    @classmethod
    @checked
    def tube(
        cls, outer_radius: Positive, inner_radius: Positive, E: Positive, nu: Poisson, rho: Positive
    ) -> BeamSection:
        """Circular tube between two radii in m, shear factor of Cowper (1966); see :meth:`rectangle`."""
        outer, inner = outer_radius, inner_radius
        if inner >= outer:
            raise ModelError(f"BeamSection.tube: inner_radius {inner} must be less than outer_radius {outer}")
        second = np.pi * (outer**4 - inner**4) / 4
        m = (inner / outer) ** 2
        factor = 6 * (1 + nu) * (1 + m) ** 2 / ((7 + 6 * nu) * (1 + m) ** 2 + (20 + 12 * nu) * m)
        area = np.pi * (outer**2 - inner**2)
        section = _solid(area, second, second, 2 * second, factor, E, nu, rho, _circle(outer))
        return section._remember("tube", outer, inner, E, nu, rho)

    @classmethod
    @checked
    def general(cls, stiffness: Matrix, mass: Matrix) -> BeamSection:
        """Any coupled section.

        Parameters
        ----------
        stiffness : (6, 6)
            Symmetric positive definite stiffness about the beam's reference line.
        mass : (6, 6)
            Mass matrix per length about the reference line, ``[[m I, -m c~], [m c~, J]]`` with the mass centre ``c``.
        """
        K, M = np.asarray(stiffness), np.asarray(mass)
        if not _is_positive(K):
            raise ModelError(f"BeamSection.general: stiffness must be positive definite, received\n{K}")
        m = M[0, 0]
        center = np.array([M[5, 1], M[3, 2], M[4, 0]]) / m if m > 0 else np.zeros(3)
        tilde = np.array([[0, -center[2], center[1]], [center[2], 0, -center[0]], [-center[1], center[0], 0]])
        units = np.sqrt(np.abs(np.diag(M)))
        form = np.block([[m * np.eye(3), -m * tilde], [m * tilde, M[3:, 3:]]])
        if m <= 0.0 or (np.abs(M - form) > 1e-8 * np.outer(units, units)).any():
            raise ModelError(
                f"BeamSection.general: mass must have the form [[m I, -m c~], [m c~, J]] with m > 0, received\n{M}"
            )
        inertia = M[3:, 3:] + m * tilde @ tilde
        if not _is_positive(inertia):
            raise ModelError(
                "BeamSection.general: the inertia about the mass centre, J + m c~ c~, must be positive definite, "
                f"received\n{inertia}"
            )
        outline = _circle(np.sqrt(2 * inertia[0, 0] / m)) + center[1:]
        section = cls.__new__(cls)._set(stiffness=K, mass=m, inertia=inertia, center=center, outline=outline)
        return section._set(damping=np.zeros((6, 6)), line=np.zeros(3))._remember("general", K, M)

    @checked
    def with_damping(self, damping: ArrayLike | float) -> BeamSection:
        """A copy with material damping: section force per strain rate, ``(6, 6)``, or a time times the stiffness."""
        time = real(damping)
        if time is not None and time.ndim == 0:
            D = number(time, "BeamSection.with_damping: damping") * self.stiffness
        else:
            D = symmetric(damping, "BeamSection.with_damping: damping", 6)
        if np.linalg.eigvalsh(D)[0] < -1e-12 * np.abs(D).max():
            raise ModelError(f"BeamSection.with_damping: damping must not be negative, received {shown(damping)}")
        return self._changed("with_damping", (damping,), damping=D)

    @checked
    def shifted(self, y: float, z: float) -> BeamSection:
        """A copy that stands off the line of the beam's nodes: what was on the line is now at ``(y, z)``.

        Stiffness, damping and mass become those about the line; a force along it then also bends the beam. In a curved
        beam they are those of the length at ``(y, z)``, as much longer or shorter than that of the line.
        """
        offset = np.array([0.0, y, z])
        about = _strains_at(offset)
        return self._changed(
            "shifted",
            (y, z),
            stiffness=about.T @ self.stiffness @ about,
            damping=about.T @ self.damping @ about,
            center=self.center + offset,
            line=self.line + offset,
            outline=self.outline + offset[1:],
        )

    @checked
    def turned(self, angle: float) -> BeamSection:
        """A copy turned about the line of the beam's nodes by an angle in rad, from y towards z."""
        R = so3.exp(np.array([angle, 0.0, 0.0]))
        both = np.kron(np.eye(2), R)
        return self._changed(
            "turned",
            (angle,),
            stiffness=both @ self.stiffness @ both.T,
            damping=both @ self.damping @ both.T,
            inertia=R @ self.inertia @ R.T,
            center=R @ self.center,
            line=R @ self.line,
            outline=self.outline @ R[1:, 1:].T,
        )

    def _changed(self, step: str, arguments: tuple[Any, ...], **values: Array) -> BeamSection:
        return copy(self)._set(recipe=(*self.recipe, (step, arguments)), **values)


def _strains_at(offset: Array) -> Array:
    """Strains of a parallel line at ``offset`` (3,), in terms of those of the line of the nodes, ``(6, 6)``."""
    return se3.adjoint(so3.IDENTITY, -offset)


def _is_positive(matrix: Array) -> bool:
    """Whether a symmetric matrix is positive definite, whatever the units of its rows."""
    units = np.sqrt(np.abs(np.diag(matrix)))
    return bool((units > 0.0).all() and np.linalg.eigvalsh(matrix / np.outer(units, units))[0] > 0.0)


def _solid(
    A: float, I_y: float, I_z: float, J: float, factor: float, E: float, nu: float, rho: float, outline: Array
) -> BeamSection:
    G = E / (2 * (1 + nu))
    inertia = rho * np.array([I_y + I_z, I_y, I_z])
    return BeamSection(E * A, factor * G * A, G * J, (E * I_y, E * I_z), rho * A, inertia, outline)


def _equivalent_rectangle(stiffness: Array, density: float, j: Array) -> Array:
    """Rectangle with the radii of gyration of the inertia, or of the stiffness where those are smaller."""
    with np.errstate(over="ignore"):  # of the two, the smaller one counts
        squared = np.minimum(j[1:] / density, stiffness[4:] / stiffness[0])
    height, width = np.sqrt(12.0 * squared)
    return _rectangle(width, height)


def _rectangle(width: float, height: float) -> Array:
    return 0.5 * np.array([[-width, -height], [width, -height], [width, height], [-width, height]])


def _circle(radius: float) -> Array:
    return radius * circle(CIRCLE_POINTS)


def _rectangle_torsion(width: float, height: float) -> float:
    long, short = max(width, height), min(width, height)
    n = np.arange(1, 40, 2)
    series = float((np.tanh(n * np.pi * long / (2 * short)) / n**5).sum())
    return long * short**3 / 3 * (1 - 192 / np.pi**5 * short / long * series)


if TYPE_CHECKING:
    Profile: TypeAlias = BeamSection | tuple[BeamSection, BeamSection] | Callable[[float], BeamSection]
    """One section, a pair for a linear taper, or a function of the arc length from 0 to 1."""
else:
    Profile = Any  # checked by ``along``
ENDS = ("start", "end")
Along: TypeAlias = "BeamSection | Callable[[float], BeamSection]"


def along(profile: object, label: str) -> Along:
    """A profile as one section, or as a function; errors begin with a label that names the argument."""
    if isinstance(profile, BeamSection):
        return profile
    if isinstance(profile, tuple | list):
        if len(profile) != 2:
            raise ModelError(f"{label} must be one section, or a pair (start, end), received {len(profile)} sections")
        start, end = (
            instance(one, BeamSection, f"{label} of the {end}") for end, one in zip(ENDS, profile, strict=True)
        )
        return linear(start, end, label)
    if not callable(profile):
        raise ModelError(
            f"{label} must be a BeamSection, received {shown(profile)}; a pair of sections or a function of the "
            "arc length from 0 to 1 makes a tapered beam"
        )

    return partial(_called, profile, label)


def _called(profile: Callable[[float], object], label: str, s: float) -> BeamSection:
    where = f"{label} at the arc length {s:.6g}"
    return instance(returned(where, profile, s), BeamSection, where)


def linear(start: BeamSection, end: BeamSection, label: str) -> Callable[[float], BeamSection]:
    """A taper in which whatever the two sections were made of goes linearly from one to the other."""
    kinds = [[step for step, _ in section.recipe] for section in (start, end)]
    if kinds[0] != kinds[1]:
        ways = " and ".join(" ".join(f".{step}" for step in kind) for kind in kinds)
        raise ModelError(
            f"{label}: a linear taper goes between sections that were made in the same way, but these were made by "
            f"{ways}; give a function of the arc length from 0 to 1 that makes the section"
        )
    section = partial(_mixed, start, end)
    try:
        section(0.5)
    except (ValueError, ModelError) as error:
        raise ModelError(f"{label}: there is no section between those of start and end: {error}") from error
    return section


def _mixed(start: BeamSection, end: BeamSection, s: float) -> BeamSection:
    made: Any = BeamSection
    for (step, first), (_, last) in zip(start.recipe, end.recipe, strict=True):
        values = [_between(a, b, s) for a, b in zip(first, last, strict=True)]
        made = BeamSection(*values) if step == "BeamSection" else getattr(made, step)(*values)
    return made


def _between(first: Any, last: Any, s: float) -> Any:
    if first is None or last is None:  # outlines that are left to the section
        return None
    return (1.0 - s) * np.asarray(first, float) + s * np.asarray(last, float)


def sections_at(section: Along, s: Array) -> list[BeamSection]:
    """Sections at the arc lengths ``s``, flat."""
    return [section if isinstance(section, BeamSection) else section(float(place)) for place in s.ravel()]


def values_at(section: Along, s: Array, *names: str) -> list[Array]:
    """Attributes of the sections at arc lengths ``s``, each of the shape of ``s`` and its own."""
    made = sections_at(section, s)
    values = [np.array([getattr(one, name) for one in made]) for name in names]
    return [value.reshape(*s.shape, *value.shape[1:]) for value in values]
