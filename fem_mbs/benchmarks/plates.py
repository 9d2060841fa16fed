"""Models of plates and shells: linear obstacles, and the nonlinear ones of Sze, Liu, Lo.

Sze, Liu, Lo, *Finite Elements in Analysis and Design* 40 (2004) 1551; MacNeal, Harder, *Finite Elements in Analysis and
Design* 1 (1985). Symmetric structures are modelled in part; nodes that symmetry holds drill no more.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.contracts import Node
from fem_mbs.elements import DistributedLoad, EdgeLoad, FixedJoint, Force, RevoluteJoint, RigidBody, Shell, ShellSection
from fem_mbs.model.model import Model

Built = tuple[Model, list[Node]]
"""A model, and the nodes whose displacements are asked for."""


class Supports:
    """What holds the nodes of a model, collected: where two edges meet, a node has both supports."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self._held: dict[Node, Array] = defaultdict(lambda: np.zeros(6, dtype=bool))

    def hold(self, nodes: Iterable[Node], components: Iterable[int]) -> None:
        """Translations 0, 1, 2 along the world's axes and rotations 3, 4, 5 about them."""
        for node in nodes:
            self._held[node][list(components)] = True

    def mirror(self, nodes: Iterable[Node], axis: int) -> None:
        """A plane of symmetry across an axis."""
        self.hold(nodes, [axis, *({3, 4, 5} - {axis + 3})])

    def fix(self) -> None:
        """Hold the nodes."""
        for node, held in self._held.items():
            self.model.fix(node, translation=tuple(map(bool, held[:3])), rotation=tuple(map(bool, held[3:])))


ALL = range(6)
EIGHTH = {"left": 0, "right": 2, "bottom": 1}
"""Planes of symmetry of an eighth of a cylinder."""


def supported(
    make: Callable[..., Shell],
    *given: Any,
    hold: Mapping[str, Iterable[int]] | None = None,
    mirror: Mapping[str, int] | None = None,
    **more: Any,
) -> tuple[Model, Shell]:
    """A model of one shell, with what is held at its edges, and with axes across those that are planes of symmetry."""
    model = Model()
    shell, supports = make(model, *given, **more), Supports(model)
    for side, components in (hold or {}).items():
        supports.hold(shell.edge(side), components)
    for side, axis in (mirror or {}).items():
        supports.mirror(shell.edge(side), axis)
    supports.fix()
    return model, shell


def cook(elements: int) -> Built:
    """Cook's membrane: a tapered panel, clamped on the left, under a shear of 1 on the right."""

    def place(u: float, v: float) -> tuple[float, float, float]:
        bottom, top = 44.0 * u, 44.0 + 16.0 * u
        return 48.0 * u, bottom + (top - bottom) * v, 0.0

    section = ShellSection.isotropic(1.0, E=1.0, nu=1 / 3, rho=1.0)
    model, panel = supported(Shell.surface, place, section, (elements, elements), hold={"left": ALL})
    model.add(EdgeLoad(panel.edge("right"), (0, 1 / 16, 0)))
    return model, [panel.node(-1, elements // 2)]


def scordelis_lo(elements: int) -> Built:
    """A quarter of a roof between diaphragms under its weight."""
    section = ShellSection.isotropic(0.25, E=4.32e8, nu=0.0, rho=1.0)
    mesh, place, hold = (elements, elements), _arc(25.0, np.radians(40.0), 25.0), {"bottom": (0, 2)}
    model, roof = supported(Shell.surface, place, section, mesh, hold=hold, mirror={"top": 1, "left": 0})
    model.add(DistributedLoad(roof, (0, 0, -90.0)))
    return model, [roof.node(-1, -1)]


def _arc(radius: float, angle: float, length: float):  # type: ignore[no-untyped-def]
    """A cylinder along y, from its top (u = 0) round to an angle; v along it."""
    return lambda u, v: (radius * np.sin(angle * u), length * v, radius * np.cos(angle * u))


def pinched_cylinder(elements: int, *, R: float, L: float, h: float, E: float, nu: float, P: float) -> Built:
    """An eighth of a cylinder between diaphragms, pinched in the middle by two forces; below it and beside it."""
    section = ShellSection.isotropic(h, E=E, nu=nu, rho=1.0)
    mesh, place, hold = (elements, elements), _arc(R, np.pi / 2, L / 2), {"top": (0, 2)}
    model, shell = supported(Shell.surface, place, section, mesh, hold=hold, mirror=EIGHTH)
    top = shell.node(0, 0)
    model.add(Force(top, (0, 0, -P / 4)))
    return model, [top, shell.node(-1, 0)]


def hemisphere(elements: int, load: float = 2.0) -> Built:
    """A quarter of a hemisphere with a hole of 18 degrees, pulled and pushed at its rim."""

    def place(u: float, v: float) -> Array:
        along, up = 0.5 * np.pi * u, np.radians(72.0) * v
        return 10.0 * np.array([np.cos(up) * np.cos(along), np.cos(up) * np.sin(along), np.sin(up)])

    section = ShellSection.isotropic(0.04, E=6.825e7, nu=0.3, rho=1.0)
    model, shell = supported(Shell.surface, place, section, (elements, elements), mirror={"left": 1, "right": 0})
    model.fix(shell.node(elements // 2, 0), (False, False, True), False)
    out, inward = shell.node(0, 0), shell.node(-1, 0)
    model.add(Force(out, (load / 2, 0, 0)))
    model.add(Force(inward, (0, -load / 2, 0)))
    return model, [out, inward]


def twisted_beam(elements: int, h: float, force: tuple[float, float, float]) -> Built:
    """A strip of 12 by 1.1, clamped and twisted by a right angle as built, under a force at its end."""

    def place(u: float, v: float) -> Array:
        angle, across = 0.5 * np.pi * u, 1.1 * (v - 0.5)
        return np.array([12.0 * u, across * np.cos(angle), across * np.sin(angle)])

    section = ShellSection.isotropic(h, E=29e6, nu=0.22, rho=1.0)
    model, strip = supported(Shell.surface, place, section, (6 * elements, elements), hold={"left": ALL})
    model.add(EdgeLoad(strip.edge("right"), tuple(part / 1.1 for part in force)))
    return model, [strip.node(-1, elements // 2)]


def raasch_hook(elements: int) -> Built:
    """Raasch's hook: a curved strip, 20 wide and 2 thick, clamped, under a force of 1 across its plane at the end."""
    small, large, turn = 14.0, 46.0, np.pi / 3

    def place(u: float, v: float) -> Array:
        if u < 1 / 6:
            x, y = small * np.sin(6 * u * turn), small * (1.0 - np.cos(6 * u * turn))
        else:
            angle = turn - 2.5 * turn * (u - 1 / 6) * 6 / 5
            x = (small + large) * np.sin(turn) - large * np.sin(angle)
            y = small - (small + large) * np.cos(turn) + large * np.cos(angle)
        return np.array([x, y, 20.0 * v])

    section = ShellSection.isotropic(2.0, E=3300.0, nu=0.35, rho=1.0)
    model, hook = supported(Shell.surface, place, section, (6 * elements, elements), hold={"left": ALL})
    model.add(EdgeLoad(hook.edge("right"), (0, 0, 1 / 20)))
    return model, [hook.node(-1, elements // 2)]


def square_plate(elements: int, h: float, clamped: bool) -> Built:
    """A quarter of a square plate of side 1 with a bending stiffness of 1 under a load of 1 per area."""
    nu = 0.3
    section = ShellSection.isotropic(h, E=12.0 * (1 - nu**2) / h**3, nu=nu, rho=1.0)
    square, hold = ((0, 0, 0), (0.5, 0, 0), (0, 0.5, 0)), dict.fromkeys(("left", "bottom"), ALL if clamped else (2,))
    mirror = {"right": 0, "top": 1}
    model, plate = supported(Shell.rectangle, *square, section, (elements, elements), hold=hold, mirror=mirror)
    model.add(DistributedLoad(plate, (0, 0, 1.0)))
    return model, [plate.node(-1, -1)]


UNIT_SQUARE = (0, 0, 0), (1, 0, 0), (0, 1, 0)


def vibrating_plate(elements: int, edges: str) -> tuple[Model, float]:
    """A square plate of side 1 and thickness 0.01, and ``omega a^2 sqrt(rho h/D)`` of 1 rad/s.

    ``edges`` says of left, right, bottom and top, a letter each, whether they are clamped (C), simply supported with
    their tangent held (S), or free (F).
    """
    h, E, nu, rho = 0.01, 1e7, 0.3, 1000.0
    section = ShellSection.isotropic(h, E=E, nu=nu, rho=rho)
    sides = zip(("left", "right", "bottom", "top"), edges, (3, 3, 4, 4), strict=True)
    hold = {side: ALL if kind == "C" else (0, 1, 2, across) for side, kind, across in sides if kind != "F"}
    model, _ = supported(Shell.rectangle, *UNIT_SQUARE, section, (elements, elements), hold=hold)
    return model, float(np.sqrt(rho * h * 12.0 * (1 - nu**2) / (E * h**3)))


def swinging_panel(group: str = "R3xSO3") -> tuple[Model, Shell, list[RevoluteJoint]]:
    """A rubber panel, 1 by 0.6, falls about two hinges at its edge."""
    model = Model(group, gravity=(0, 0, -9.81))
    section = ShellSection.isotropic(0.02, E=5e6, nu=0.4, rho=1000.0)
    panel = Shell.rectangle(model, (0, 0, 0), (1, 0, 0), (0, 0.6, 0), section, (6, 4), name="panel")
    hinges = [model.add(RevoluteJoint(model.ground, panel.node(0, j), (0, 1, 0))) for j in (1, 3)]
    return model, panel, hinges


def rotating_plate(elements: int, speed: float) -> tuple[Model, float]:
    """The cantilevered one with ``nu = 0``, on a hub that turns about its root edge; ``speed`` in the unit returned."""
    model, (h, E, rho) = Model(), (0.01, 1e7, 1000.0)
    section = ShellSection.isotropic(h, E=E, nu=0.0, rho=rho)
    plate = Shell.rectangle(model, *UNIT_SQUARE, section, (elements, elements))
    unit = float(np.sqrt(rho * 12.0 / (E * h**2)))
    hub = model.add_node((0, 0.5, 0), name="hub")
    model.add(RigidBody(hub, 1.0, (1.0, 1.0, 1.0)))
    model.add(RevoluteJoint(model.ground, hub, (0, 1, 0), drive=lambda t: speed / unit * t))
    for node in plate.edge("left"):
        model.add(FixedJoint(hub, node))
    return model, unit


def cantilever(elements: int) -> Built:
    """Sze 3.1: a strip of 10 by 1, clamped, under a shear of 4 at its end."""
    model, strip = _strip(elements, 10.0)
    model.add(EdgeLoad(strip.edge("right"), (0, 0, 4.0)))
    return model, [strip.node(-1, 0)]


def roll_up(elements: int) -> Built:
    """Sze 3.2: a strip of 12 by 1, clamped, is bent to a full circle by a moment at its end."""
    model, strip = _strip(elements, 12.0)
    model.add(EdgeLoad(strip.edge("right"), (0, 0, 0), moment=(0, -50 * np.pi / 3, 0)))
    return model, [strip.node(-1, 0)]


def _strip(elements: int, length: float) -> tuple[Model, Shell]:
    section = ShellSection.isotropic(0.1, E=1.2e6, nu=0.0, rho=1.0)
    sides = (0, 0, 0), (length, 0, 0), (0, 1, 0)
    return supported(Shell.rectangle, *sides, section, (elements, 1), hold={"left": ALL})


def slit_annulus(across: int, around: int) -> Built:
    """Sze 3.3: an annular plate with a slit, clamped at one side of it and lifted at the other."""
    section = ShellSection.isotropic(0.03, E=21e6, nu=0.0, rho=1.0)

    def place(u: float, v: float) -> Array:
        radius, angle = 6.0 + 4.0 * u, 2.0 * np.pi * v
        return np.array([radius * np.cos(angle), radius * np.sin(angle), 0.0])

    model, plate = supported(Shell.surface, place, section, (across, around), hold={"top": ALL})
    model.add(EdgeLoad(plate.edge("bottom"), (0, 0, 0.8)))
    return model, [plate.node(0, 0), plate.node(-1, 0)]


def pull_out(around: int, along: int) -> Built:
    """Sze 3.5: an eighth of a cylinder with open ends, pulled apart by two forces in the middle: A, B, C."""
    section = ShellSection.isotropic(0.094, E=10.5e6, nu=0.3125, rho=1.0)
    place = _arc(4.953, np.pi / 2, 10.35 / 2)
    model, shell = supported(Shell.surface, place, section, (around, along), mirror=EIGHTH)
    model.add(Force(shell.node(0, 0), (0, 0, 40_000 / 4)))
    return model, [shell.node(0, 0), shell.node(-1, 0), shell.node(-1, -1)]


ROOF_PLIES = [(0.0, 12.7 / 3), (90.0, 12.7 / 3), (0.0, 12.7 / 3)]


def hinged_roof(elements: int, section: ShellSection) -> Built:
    """Sze 3.8: a quarter of a cylindrical roof, hinged along its straight edges, under a force on its crown."""
    mesh, place, along = (elements, elements), _arc(2540.0, 0.1, 254.0), (0, 1, 0)
    hold, mirror = {"right": (0, 1, 2)}, {"left": 0, "bottom": 1}
    model, roof = supported(Shell.surface, place, section, mesh, direction=along, hold=hold, mirror=mirror)
    model.add(Force(roof.node(0, 0), (0, 0, -3000.0 / 4)))
    return model, [roof.node(0, 0)]


def roof_section(h: float) -> ShellSection:
    """The isotropic one."""
    return ShellSection.isotropic(h, E=3102.75, nu=0.3, rho=1.0)


def roof_laminate() -> ShellSection:
    """0, 90 and 0 degrees, 0 along the axis."""
    return ShellSection.laminate(ROOF_PLIES, E1=3300.0, E2=1100.0, G12=660.0, nu12=0.25, rho=1.0)
