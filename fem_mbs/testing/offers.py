"""Laws of what elements and joints may offer beside their equations: pictures, signals, section forces, recipes."""

from __future__ import annotations

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.compiled import in_use
from fem_mbs.contracts import Element, Motion, SectionForces, SignalSource
from fem_mbs.errors import FemMbsError
from fem_mbs.files.store.description import describe, rebuild
from fem_mbs.files.store.values import class_name
from fem_mbs.system.system import System
from fem_mbs.testing.differences import ContractError, DoesNotApplyError, near
from fem_mbs.testing.stage import AWAY, LawTrial, moved

STATIONS, SIZE, SIDES = 5, 0.1, 8
SAME = 1e-13


def pictures_can_be_drawn(trial: LawTrial) -> None:
    """Points are finite and as many as ``cells`` count, shapes are on its nodes, places on a node are (3,)."""
    part, system = trial.part, trial.system
    picture, shapes = part.picture(system.number, STATIONS), part.shapes(SIZE)
    if picture is not None:
        drawn = picture.draw(trial.motion, trial.motion.multipliers)
        count = len(drawn["points"])
        for name, values in drawn.items():
            near(f"shape of '{name}' in its picture", np.shape(values), (count, 3), 0.0)
            if not np.isfinite(values).all():
                raise ContractError(f"'{name}' in its picture is not finite")
        for cells in picture.cells:
            if cells.points.size and not 0 <= cells.points.min() <= cells.points.max() < count:
                raise ContractError(f"cells of its picture count {count} points from 0")
    for placed in shapes:
        system.number(placed.node)
        faces = placed.shape.faces(SIDES)
        if any(points.size and points.max() >= len(faces.points) for _, points in faces.cells):
            raise ContractError(f"faces of {placed.shape} are of points that it does not have")
    places = {"offset": part.offset} if part.nodes else {}
    if isinstance(part, Element) and part.center_of_mass is not None:
        places["center_of_mass"] = part.center_of_mass
    for name, place in places.items():
        near(f"shape of {name}", np.shape(place), (3,), 0.0)
    if picture is None and not shapes:
        raise DoesNotApplyError("it has neither a picture nor shapes")


def section_forces_are_of_its_frame(trial: LawTrial) -> None:
    """As many rows as ``stations``, six numbers each, and the same wherever everything is."""
    part = trial.part
    if not isinstance(part, SectionForces):
        raise DoesNotApplyError("it has no section forces")
    rows = [trial.system.number(node) for node in part.nodes]

    def forces(motion: Motion) -> Array:
        return part.section_forces(motion.x[None, rows], motion.R[None, rows])

    here, there = forces(trial.motion), forces(moved(trial.motion, AWAY))
    near("shape of section_forces", np.shape(here), (1, len(part.stations), 6), 0.0)
    size = np.abs(here).max(initial=1e-9)
    near("section forces with everything moved rigidly", there, here, 1e-9 * size)


def signals_are_its_internal_variables(trial: LawTrial) -> None:
    """``signal_values`` has a column for each of the ``outputs``, that of the signal of its number."""
    part = trial.part
    if not isinstance(part, SignalSource):
        raise DoesNotApplyError("it puts out no signal")
    number, count = trial.system.number, len(part.outputs)
    t, u = np.array([0.0, 1.0]), np.random.default_rng(trial.seed).normal(size=(2, trial.system.k))
    values = part.signal_values(t, u, number)
    near("shape of signal_values", np.shape(values), (2,) if count == 1 else (2, count), 0.0)
    for k, one in enumerate(part):
        own = one.signal_values(t, u, number)
        near(
            f"its output {k}, against column {k} of signal_values",
            np.reshape(values, (2, -1))[:, k],
            own,
            0.0,
        )


def it_can_be_made_again(trial: LawTrial) -> None:
    """What is made of its ``constructor_arguments`` has the same equations: a file can hold it."""
    part, system = trial.part, trial.system
    if class_name(type(part)) is None:
        raise DoesNotApplyError("its class stands in no module, where files would find it")
    try:
        description = describe(system)
    except FemMbsError as error:
        raise ContractError(f"{error}") from error
    if "of script" in str(description):
        raise DoesNotApplyError("it was given what no file can hold")
    again = System(rebuild(description, str))
    other = again.number.parts[-1]
    near(f"internal variables of {other}, made again", again.u0, system.u0, 0.0)
    load = np.ones(system.m)
    first, second = (own.evaluate(trial.motion, load, own.prescribe(trial.motion.t)) for own in (system, again))
    near(f"forces of {other}, made again", second.force, first.force, 0.0)


def compiled_kernels_agree(trial: LawTrial) -> None:
    """What is compiled has NumPy's results to rounding, in the motion of the trial and near where it was built."""
    if not in_use():
        raise DoesNotApplyError("kernels are compiled where llvmlite is installed and FEM_MBS_FAST is not 0")
    from fem_mbs.compiled.batches import Samples
    from fem_mbs.compiled.tape import CannotRecordError

    samples, batch = Samples(trial.system), trial.system.all_batches[0]
    try:
        compiled = samples.compiled(batch)
    except CannotRecordError as reason:
        raise DoesNotApplyError(f"it stays NumPy: {reason}") from reason
    for motion in (samples.other, trial.motion):
        difference = samples.difference(batch, compiled, motion)
        if not difference <= SAME:
            raise ContractError(f"compiled kernels differ from NumPy's results by {difference:.1e} of them")


OFFERS = (
    compiled_kernels_agree,
    pictures_can_be_drawn,
    section_forces_are_of_its_frame,
    signals_are_its_internal_variables,
    it_can_be_made_again,
)
