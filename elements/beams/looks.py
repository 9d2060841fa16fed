"""How a beam is drawn, and what looks wrong of it: too few elements, and numbers that are of other units."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from fem_mbs.arrays import Array, IntArray
from fem_mbs.contracts import Cells, Kind, ModelContext, Motion, poses
from fem_mbs.elements.beams.curve_strain import lagrange
from fem_mbs.elements.beams.section import sections_at

if TYPE_CHECKING:
    from fem_mbs.elements.beams.beam import Beam

SAME_FRAME = 1e-9


class BeamPicture:
    """One beam.

    Every station of every element has ``1 + m`` points: the centre, then the outline. Neighbouring elements share no
    points, because section forces jump from one to the next.

    Parameters
    ----------
    beam : Beam
        The element.
    rows : (m,)
        Rows of its nodes in the arrays of a motion.
    stations : int
        Stations along each element, both ends included.
    """

    def __init__(self, beam: Beam, rows: IntArray, stations: int) -> None:
        self.beam, self.rows = beam, rows
        self.s = np.linspace(0.0, 1.0, stations)
        self.basis = lagrange(beam.places, self.s)[0]
        try:
            (outline,) = beam.at(self.s, "outline")
        except ValueError:  # contours of different numbers of points: that of the start stands for all
            first = sections_at(beam.section, np.zeros(1))[0].outline
            outline = np.broadcast_to(first, (len(beam.length), stations, *first.shape))
        self.outline = np.concatenate([np.zeros((*outline.shape[:2], 1, 2)), outline], axis=-2)
        _, frames = beam.centerline(*poses(beam.nodes), 2)
        corner = np.abs(frames[1:, 0] - frames[:-1, 1]).max(axis=(1, 2)) > SAME_FRAME
        # open at the ends of the beam and at its corners
        self.cells = self._cells(np.flatnonzero([True, *corner]), np.flatnonzero([*corner, True]))

    def draw(self, motion: Motion, multipliers: Array) -> dict[str, Array]:
        """Points of all stations and what they carry.

        Inside an element the angular velocity is the polynomial through those of its nodes, and the velocity is that of
        the line through the nodes, plus angular velocity times the distance from it: exact at the nodes and for any
        rigid motion.
        """
        x, R, V = motion.x[self.rows], motion.R[self.rows], motion.V[self.rows]
        center, frames = self.beam.centerline(x, R, len(self.s))
        points = center[..., None, :] + self.outline @ np.swapaxes(frames[..., 1:], -1, -2)
        omega = self._along(np.matvec(R, V[:, 3:]))
        velocity = self._along(np.matvec(R, V[:, :3])) + np.cross(omega, points - self._along(x))
        forces = self.beam.forces_at(x, R, self.s)[:, :, None]
        fields = {"points": points, "velocity": velocity, "angular_velocity": omega}
        fields |= {f"e{i + 1}": frames[..., None, :, i] for i in range(3)}
        fields |= {"section_force": forces[..., :3], "section_moment": forces[..., 3:]}
        return {name: np.broadcast_to(values, points.shape).reshape(-1, 3) for name, values in fields.items()}

    def _along(self, values: Array) -> Array:
        """Nodal values ``(m, 3)``, polynomials in between, at the stations: ``(k, stations, 1, 3)``."""
        return (self.basis @ values[self.beam.cells])[:, :, None]

    def _cells(self, starts: IntArray, ends: IntArray) -> list[Cells]:
        """Lines through the centres, quads between outlines, polygons over the open ends; normals outward."""
        elements = np.arange(len(self.beam.length))
        shape = (len(elements), len(self.s), self.outline.shape[-2])
        point = np.arange(np.prod(shape)).reshape(shape)
        ring = point[:, :, 1:]
        turned = np.roll(ring, -1, axis=2)
        lines = np.stack([point[:, :-1, 0], point[:, 1:, 0]], axis=-1)
        quads = np.stack([ring[:, :-1], turned[:, :-1], turned[:, 1:], ring[:, 1:]], axis=-1)
        caps = np.concatenate([ring[starts, 0, ::-1], ring[ends, -1]])
        return [
            _cells("line", Kind.LINE, elements, lines),
            _cells("quad", Kind.SURFACE, elements, quads),
            _cells("polygon", Kind.SURFACE, np.concatenate([starts, ends]), caps),
        ]


def _cells(type_: str, kind: Kind, elements: IntArray, points: IntArray) -> Cells:
    """Cells ``(elements, ..., p)`` in a row, with the numbers of their elements."""
    points = points.reshape(-1, points.shape[-1])
    n = len(points)
    element_id = np.repeat(elements, n // len(elements))
    return Cells(type_, points, {"part": np.full(n, kind), "element_id": element_id})


BENDING = 0.5
"""Angle in rad by which an element of order 1 may be bent."""
POINTED = 1e-4
"""Bending stiffness at one end of an element over that at the other, which quadrature points in between do not see."""
MOST = 1000
"""Elements beyond which a beam does not want more of them, but other numbers."""
DENSITIES, MODULI = (5.0, 3e4), (1e3, 2e12)
"""From foam to osmium in kg/m^3, from gel to diamond in N/m^2: what is outside is not of these units."""
SPEEDS, GELS = (8.0, 1e5), (900.0, 1300.0)
"""Speed of sound in rods in m/s, which hollow sections have, too: 5200 in steel, 13 000 in beryllium, at least 10 in
rubber; less only in gels, of such densities in kg/m^3."""
CONSISTENT, SOFT = ((1e12, 1e6), (1e9, 1e3), (1e9, 1e9)), 1e6
"""Factors to SI units from those of (mm, t, s), (mm, kg, s) and (mm, kg, ms), of models without gravity."""
MILLIMETRES, LARGEST = (9000.0, 11000.0), 2e9
"""Gravity by which lengths are in millimetres, and the modulus of diamond in (mm, kg, s)."""
HEAVY, SLOW = 3000.0, 500.0
"""What is denser, in kg/m^3, is a metal or a mineral, in which sound is faster, in m/s."""
MODULUS = "Young's modulus"
UNITS = {
    "density": (DENSITIES, {1e9: "kg/mm^3", 1e3: "g/cm^3 or t/m^3", 1e12: "t/mm^3"}, "kg/m^3, and steel 7850"),
    MODULUS: (MODULI, {1e6: "N/mm^2", 1e9: "GPa"}, "N/m^2, and that of steel 2.1e11"),
}
FIRST, HALF = 3.516, 0.5
"""Of a clamped beam: ``omega L^2 sqrt(m/EI)``; its length, if it is one of many, over the extent of the model."""
OTHER = 0.02
"""By how much the length of the line of the mass centres may be another than that of the beam."""
CONTOUR, DEEP = 6, 10.0
"""Which argument of a section is its contour; depth against length of a beam that looks wrong where there is none."""
WIDE, FAR = 8.0, 300.0
"""Depth of a section and extent of a model in m from which on they look like millimetres, without gravity."""
METRES = (9.0, 11.0)
"""Gravity by which lengths are in metres; without gravity they are taken for such."""


def doubts(beam: Beam, around: ModelContext) -> Iterator[str]:
    """What looks wrong, a sentence each."""
    section = sections_at(beam.section, np.zeros(1))[0]
    whole, depth, (y, z) = float(beam.length.sum()), float(np.ptp(section.outline, axis=0).max()), section.outline.T
    area = abs(0.5 * float(np.sum(y * np.roll(z, -1) - z * np.roll(y, -1))))
    # what is given by its stiffness alone has the outline of a rectangle like it
    (made, values), *_ = section.recipe
    drawn = made != "general" and (made != "BeamSection" or values[CONTOUR] is not None)
    if depth > whole * (1.0 if drawn else DEEP):
        yield f"its section is {depth:.3g} deep and the beam only {whole:.3g} long; look at the units of the section"
    if area > 0.0:
        modulus = float(section.stiffness[0, 0]) / area
        yield from of_units(section.mass / area, modulus, around, depth > WIDE, drawn)
    yield from _off_a_curve(beam)
    yield from filter(None, [pointed(beam)])
    rest = [not np.any(node.velocity) and not np.any(node.angular_velocity) for node in beam.nodes]
    if len(rest) > 2 and all(rest[1:-1]) and not (rest[0] and rest[-1]):
        moving = beam.nodes[-1] if rest[0] else beam.nodes[0]
        yield (
            f"it begins at rest where {moving} moves, which jerks it; give its other nodes their velocity and "
            "angular_velocity, too, or begin with a state of mbs.steady_rotation"
        )
    compliance = np.diag(np.linalg.inv(section.stiffness))[4:]
    soft = 4 + int(compliance.argmax())
    time = float(section.damping[soft, soft] / section.stiffness[soft, soft])
    yield from over_damped(time, 1.0 / compliance.max(), section.mass, max(whole, HALF * around.extent))
    if beam.order > 1:
        return
    if len(beam.length) == 1:
        yield (
            "it is one element of order 1, which bends in an arc and not in an S; give it elements=8, or order=3"
            " (docs/beams.md)"
        )
    angle, needed = _bending(beam, around, section.stiffness)
    if angle > np.pi:
        size = float(beam.length.max())
        yield (
            f"its loads can bend it to a radius of {size / angle:.2g}, and its elements are {size:.2g} long: it hangs "
            "like a cable, which bends near clamped ends alone, where that is not seen; hinged ends need no more. Else "
            "look at its loads, its section and their units"
        )
    elif angle > BENDING:
        remedy = (
            f"give it some {needed} elements" if needed <= MOST else "look at its loads, its section and their units"
        )
        yield f"its loads may bend an element by {angle:.2g} rad, and more than {BENDING:g} is coarse; {remedy}"


def pointed(beam: Beam) -> str:
    """What to say of a beam that comes to a point within an element."""
    ends = np.diagonal(beam.at(np.array([0.0, 1.0]), "stiffness")[0], axis1=2, axis2=3)[..., 4:]
    falls = (ends.min(axis=1) / ends.max(axis=1)).min(axis=1)
    if falls.min() >= POINTED:
        return ""
    return (
        f"along element {falls.argmin() + 1} of {len(falls)} bending stiffness falls to {falls.min():.1g} of itself; "
        "shapes and frequencies that bend it may be off by tens of per cent; give smaller elements, or a thicker end"
    )


def over_damped(time: float, bending: float, mass: float, length: float) -> Iterator[str]:
    """A damping time with which the first vibration of a clamped beam, or strip of a shell, creeps back."""
    omega = FIRST * np.sqrt(bending / mass) / length**2
    if time * omega > 2.0:
        yield (
            f"the damping time of its section is {time:.3g} s, with which even the first vibration of {length:.3g} m "
            f"that are clamped at one end, {omega:.3g} rad/s, creeps back; with_damping takes a time, not a ratio: 2 % "
            f"of critical there are 2 ratio/omega = {0.04 / omega:.1e} s"
        )


def _off_a_curve(beam: Beam) -> Iterator[str]:
    """Mass centres that were given off a line that is curved, along which lengths are others than theirs."""
    ends = np.array([0.0, 1.0])
    points, frames = beam.line_at(*poses(beam.nodes), ends)
    centers = points + np.matvec(frames, np.subtract(*beam.at(ends, "center", "line")))
    line, own = (np.linalg.norm(np.diff(places, axis=1), axis=-1) for places in (points, centers))
    share = float(own.sum() / line.sum()) - 1.0
    if abs(share) > OTHER:
        yield (
            f"its mass centres are off the line of its nodes, which is curved: theirs is {abs(share):.0%} "
            f"{'longer' if share > 0.0 else 'shorter'}, and mass and stiffness are counted by the length of the line; "
            "put the nodes into the mass centres, with rigid ends"
        )


def of_units(density: float, modulus: float, around: ModelContext, wide: bool, drawn: bool = True) -> Iterator[str]:
    """Numbers that no material has, alone (where the area is known) or together, and the units that they may be of.

    ``wide`` is whether a section, or a thickness, would be of an odd size in metres.
    """
    g = float(np.linalg.norm(around.gravity))
    metres = METRES[0] < g < METRES[1]
    fits = [_fits(density * f, modulus * h) for f, h in CONSISTENT]
    if MILLIMETRES[0] < g < MILLIMETRES[1] and (modulus > LARGEST or drawn and density > 0.0 and not any(fits[:2])):
        yield (
            f"its Young's modulus is {modulus:.3g} at a density of {density:.3g}, and gravity is {g:.4g}, as in "
            "mm/s^2; steel has 2.1e5 N/mm^2 and 7.85e-9 t/mm^3 there"
        )
    if not metres and (g > 0.0 or any(fits)):
        return
    alone = [_alone(what, value) for what, value in (("density", density), (MODULUS, modulus))] if drawn else []
    yield from filter(None, alone)
    if any(alone) or density <= 0.0:
        return
    if wide and drawn and around.extent > FAR and _fits(density, modulus) and g == 0.0:
        yield (
            f"the model extends over {around.extent:.4g}, its density and Young's modulus are of kg, m and s; "
            "if lengths are in mm, steel has 2.1e5 N/mm^2 and 7.85e-9 t/mm^3"
        )
    speed = np.sqrt(modulus / density)
    if speed < SPEEDS[0] and not GELS[0] < density < GELS[1]:
        yield (
            f"its Young's modulus is {modulus:.3g} at a density of {density:.4g}, which no material has in the units of"
            f" the model: {UNITS[MODULUS][2]}. It looks like N/mm^2"
        )
    if speed > SPEEDS[1]:
        yield (
            f"its density is {density:.3g} at a Young's modulus of {modulus:.3g}, which no material has in the units of"
            f" the model: {UNITS['density'][2]}. It looks like g/cm^3 or t/m^3"
        )


def _alone(what: str, value: float) -> str:
    """What to say of a number that no material has."""
    (lowest, highest), factors, right = UNITS[what]
    if lowest <= value <= highest or value == 0.0:
        return ""
    units = [name for factor, name in factors.items() if lowest <= value * factor <= highest]
    guess = f" It looks like {' or '.join(units)}" if units else ""
    return f"its {what} is {value:.3g}, which no material has in the units of the model: {right}.{guess}"


def _fits(density: float, modulus: float) -> bool:
    """Whether a material may have both, in SI units."""
    fast = density < HEAVY or modulus > density * SLOW**2
    return DENSITIES[0] <= density <= DENSITIES[1] and SOFT <= modulus <= MODULI[1] and fast


def _bending(beam: Beam, around: ModelContext, stiffness: Array) -> tuple[float, int]:
    """Angle of the most bent element, were the beam clamped at one end, and how many elements would be enough."""
    places = np.append(0.0, np.cumsum(beam.length))
    rows = [around.number(node) for node in beam.nodes]
    forces = np.linalg.norm(around.force[rows], axis=1)
    whole = places[-1]
    weakest = float(min(stiffness[4, 4], stiffness[5, 5]))
    moment = max(float(forces @ places), float(forces @ (whole - places)))
    # the second is what bends a rod that gives way, whose energy of bending is at most what the loads do
    curvature = min(moment / weakest, float(np.sqrt(2.0 * forces.sum() / weakest)))
    # moments across it bend it in arcs, which an element has exactly: twice the angle is allowed
    chord = beam.nodes[-1].position - beam.nodes[0].position
    axis = chord / (np.linalg.norm(chord) or 1.0)
    curvature += 0.5 * float(np.linalg.norm(np.cross(axis, around.moment[rows]), axis=1).sum()) / weakest
    angle = curvature * float(beam.length.max())
    return angle, int(np.ceil(len(beam.length) * angle / (0.5 * BENDING)))
