"""Which models are constrained Hamilton equations with a mass matrix that never changes, as symplectic methods need."""

from __future__ import annotations

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.errors import ModelError
from fem_mbs.lie import se3
from fem_mbs.model import Element, Follow, Motion
from fem_mbs.system import System

MOVE = 1e-2
"""By how much nodes are moved to see whether masses change: in rad, and of the extent of the model."""
CHANGES = 1e-9
"""Changes of a mass below this share of the largest are rounding."""


def check_hamiltonian(system: System, method: str) -> None:
    """Refuse, by name, constraints of velocities, unknowns of first order or algebraic, and masses that change."""
    if system.has_velocity_level:
        joint, equation = system.constraint_owner[int(np.argmax(system.velocity_level))]
        raise ModelError(
            f"{method} is for constraints on positions, and {joint} has one of velocities ({equation}): that "
            "motion is not Hamiltonian; take form 'index2' or GeneralizedAlpha"
        )
    for (owner, unknown), order in zip(system.unknowns, system.order, strict=True):
        if order in (0, 1):
            kind = "algebraic" if order == 0 else "a state of first order"
            raise ModelError(
                f"{method} cannot integrate '{unknown.name}' of {owner}, which is {kind} and has no momentum; take "
                "form 'index2' or GeneralizedAlpha"
            )
    if (element := _changing(system)) is not None:
        raise ModelError(
            f"{method} needs a mass matrix that never changes, and that of {element} does as nodes move: on SE(3) "
            "rigid bodies are welcome, on R3xSO3 those with their mass centre at the node (center_of_mass=(0, 0, 0)); "
            "take group='SE3', a node at the mass centre, form 'index2' or GeneralizedAlpha"
        )


def _changing(system: System) -> Element | None:
    """An element whose mass is not the same everywhere, in the components of the groups; None if there is none."""
    rng = np.random.default_rng(0)
    way = MOVE * rng.uniform(-1.0, 1.0, system.N) / system.weight
    here = system.at_rest()
    R, x = se3.compose(here.R, here.x, *se3.exp(system.nodes_of(way)))
    u = here.u + np.where(system.order == 2, system.own_of(way), 0.0)
    there = Motion(0.0, x, R, here.V, here.A, here.gravity, u, here.udot, here.uddot, here.multipliers)
    for batch, one, other in zip(system.batches, _masses(system, here), _masses(system, there), strict=True):
        if one is not None and other is not None:
            change = np.abs(other - one).max(axis=(1, 2))
            worst = int(np.argmax(change))
            if change[worst] > CHANGES * np.abs(one[worst]).max():
                return batch.owners[worst]
    return None


def _masses(system: System, motion: Motion) -> list[Array | None]:
    """``P^T M P`` (n, b, b) of all batches, None without mass."""
    unit = np.moveaxis(np.broadcast_to(np.eye(6), (system.n, 6, 6)), 1, 0)
    P = Follow(np.moveaxis(system.kinematics.to_body(motion.R, unit), 0, 2), np.ones(system.k))
    result: list[Array | None] = []
    for batch, data in zip(system.batches, system.prescribe(0.0).elements, strict=True):
        mass = batch.mass(batch.force(motion, data)[1])
        if mass is not None:
            half = P.after(mass, batch.nodes, batch.own)
            mass = P.after(half.mT, batch.nodes, batch.own)
        result.append(mass)
    return result
