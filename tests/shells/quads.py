"""Quadrilaterals to try elements on: patches, and random warped ones, with what their batch says of a motion."""

from __future__ import annotations

from typing import Any

import numpy as np

import fem_mbs as mbs
from fem_mbs.arrays import Array
from fem_mbs.contracts import Motion
from fem_mbs.elements import Shell, ShellSection
from fem_mbs.elements.shells.looks import shapes
from fem_mbs.errors import ModelError
from fem_mbs.lie import so3
from fem_mbs.system.system import System
from fem_mbs.testing.stage import neighbour

SHEET = ShellSection.isotropic(0.05, E=30.0, nu=0.3, rho=20.0)
PATCH = np.array([(0, 0), (0.24, 0), (0.24, 0.12), (0, 0.12), (0.04, 0.02), (0.18, 0.03), (0.16, 0.08), (0.08, 0.08)])
PATCH_CELLS = [(0, 1, 5, 4), (1, 2, 6, 5), (2, 3, 7, 6), (3, 0, 4, 7), (4, 5, 6, 7)]
"""MacNeal and Harder 1985: five distorted elements; the last four nodes are inside."""


def patch(section: ShellSection) -> tuple[mbs.Model, list[mbs.Node], Shell]:
    model = mbs.Model(gravity=(0, 0, 0))
    nodes = [model.add_node((*place, 0.0)) for place in PATCH]
    return (
        model,
        nodes,
        model.add(Shell([[nodes[k] for k in cell] for cell in PATCH_CELLS], section, direction=(1, 0, 0))),
    )


def warped(count: int, seed: int = 0) -> tuple[list[Array], int, int]:
    """Corners of random warped quadrilaterals that a shell takes; how many it refused, and warned of in the others."""
    rng, found, refused, warned = np.random.default_rng(seed), [], 0, 0
    square = np.array([(-1.0, -1, 0), (1, -1, 0), (1, 1, 0), (-1, 1, 0)])
    for _ in range(count):
        x = square * np.exp(0.4 * rng.normal(size=(1, 3))) + rng.normal(size=(4, 3)) * (0.3, 0.3, 0.15)
        x = (x + rng.normal(size=3)) @ so3.exp(rng.normal(size=3)).T
        model = mbs.Model()
        try:
            shell = Shell([model.add_node(place) for place in x], SHEET)
        except ModelError:
            refused += 1
            continue
        warned += bool(list(shapes(shell)))
        found.append(x)
    return found, refused, warned


def apart(corners: list[Array], section: ShellSection = SHEET, order: tuple[int, ...] = (0, 1, 2, 3)) -> System:
    """Elements that share no nodes, as one shell; nodes are turned at random, and named in any ``order``."""
    rng = np.random.default_rng(1)
    model = mbs.Model(gravity=(0, 0, 0))
    quads = [[model.add_node(x, so3.exp(rng.normal(size=3))) for x in corner] for corner in corners]
    model.add(
        Shell([[quad[k] for k in order] for quad in quads], section, direction=None if section is SHEET else (1, 2, 3))
    )
    return System(model)


def bent(system: System, size: float, seed: int = 2) -> Motion:
    """Every node displaced and turned at random by about ``size``, at rest, and everything turned rigidly."""
    rng = np.random.default_rng(seed)
    zeros = np.zeros((system.n, 6))
    still = Motion(0.0, system.x0, system.R0, zeros, zeros, np.zeros(3))
    return neighbour(still, size * rng.normal(size=6 * system.n))


def force(system: System, motion: Motion) -> tuple[Array, Any]:
    return system.batches[0].force(motion, system.batches[0].at(0.0))
