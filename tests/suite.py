"""Motions of many kinds on which error constants and tolerances are measured, and how their errors are taken.

Rigid and flexible, with dampers, controllers, friction and motors; each a few periods long, on any group.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import product
from typing import NamedTuple

import _pendulums as pendulums
import numpy as np
from scipy.spatial.transform import Rotation

import fem_mbs as mbs
from fem_mbs.arrays import Array
from fem_mbs.benchmarks import flexible, linkages, puma, tops
from fem_mbs.elements import (
    PID,
    Beam,
    BeamSection,
    JointActuator,
    JointFriction,
    JointSensor,
    JointSpring,
    PointMass,
    PositionMotor,
    RevoluteJoint,
    RigidBody,
    SpeedMotor,
)

GRAVITY = (0.0, 0.0, -9.81)


class Motion(NamedTuple):
    """A model on a group, how long it runs, and its longest step in s."""

    build: Callable[[str], mbs.Model]
    t_end: float
    h: float


def chain(group: str, count: int = 10, damping: float = 0.0, skew: bool = True) -> mbs.Model:
    """Bodies in a row on hinges with skew axes, let go from the horizontal; dampers in the hinges."""
    model, node = mbs.Model(group, gravity=GRAVITY), None
    rng = np.random.default_rng(count)
    for k in range(count):
        before, node = node or model.ground, model.add_node((0.2 * k + 0.1, 0, 0), name=f"link {k}")
        model.add(RigidBody(node, 0.5, (1e-3, 4e-3, 4e-3)))
        axis = Rotation.from_rotvec(0.4 * skew * rng.normal(size=3)).apply((0, 1, 0))
        hinge = model.add(RevoluteJoint(before, node, axis, point=(0.2 * k, 0, 0)), name=f"hinge {k}")
        if damping:
            model.add(JointSpring(hinge, 0.0, damping))
    return model


def arm(group: str) -> tuple[mbs.Model, RevoluteJoint, RevoluteJoint]:
    """Two links on skew hinges, to be moved by motors."""
    model = chain(group, 2)
    return model, model["hinge 0"], model["hinge 1"]


def controlled(group: str) -> mbs.Model:
    """Stiff PID controllers of positions, by sensors and actuators."""
    model, *hinges = arm(group)
    for hinge, goal, stiffness in zip(hinges, (-0.5, 0.8), (400.0, 100.0), strict=True):
        place, rate = (model.add(JointSensor(hinge, kind)) for kind in ("coordinate", "coordinate_rate"))

        def wanted(t: float, goal: float = goal) -> float:
            return goal * (1.0 - np.cos(3.0 * t))

        pid = model.add(PID(wanted - place, stiffness, 5.0 * stiffness))
        model.add(JointActuator(hinge, pid - 0.2 * stiffness * rate))
    return model


def rubbed(group: str) -> mbs.Model:
    """Dynamic friction after LuGre in both hinges, which press on pins."""
    model, *hinges = arm(group)
    for hinge in hinges:
        model.add(JointFriction(hinge, 0.2, 0.3, radius=0.02, viscous=0.05, bristle=0.01, stribeck=0.5))
    return model


def driven(group: str) -> mbs.Model:
    """A motor that follows a position and one that follows a speed."""
    model, *hinges = arm(group)
    model.add(PositionMotor(hinges[0], lambda t: 0.5 * np.sin(3.0 * t), 500.0, 200.0, 60.0))
    model.add(SpeedMotor(hinges[1], lambda t: 2.0 * np.sin(4.0 * t), 30.0, 50.0))
    return model


RUBBER = BeamSection.rectangle(width=0.03, height=0.01, E=1e8, nu=0.3, rho=1100)


def damped_beam(group: str) -> mbs.Model:
    """A rod of rubber with material damping that swings on a hinge, with a mass at its tip."""
    model = mbs.Model(group, gravity=GRAVITY)
    beam = Beam.line(model, (0, 0, 0), (0.6, 0, 0), RUBBER.with_damping(5e-3), 6, interpolation=group)
    model.add(RevoluteJoint(model.ground, beam.nodes[0], (0, 1, 0.2)), name="hinge")
    model.add(PointMass(beam.nodes[-1], 0.05))
    return model


MOTIONS = {
    "heavy top": Motion(tops.top_on_joint, 0.2, 2e-3),
    "double pendulum": Motion(pendulums.double, 1.0, 1e-2),
    "chain of ten": Motion(chain, 0.5, 4e-3),
    "damped chain": Motion(lambda group: chain(group, 4, 0.5), 0.5, 1e-2),
    "slider-crank": Motion(linkages.slider_crank, 1.0, 1e-2),
    "Puma, plain": Motion(lambda group: puma.puma(group, compensated=False), 0.5, 1e-2),
    "Puma, compensated": Motion(puma.puma, 0.5, 1e-2),
    "damped beam": Motion(damped_beam, 0.5, 4e-3),
    "four-bar": Motion(lambda group: flexible.four_bar(group, elements=4)[0], 0.5, 4e-3),
    "cantilever": Motion(lambda group: flexible.right_angle_cantilever(group, elements=3)[0], 3.0, 4e-2),
    "position control": Motion(controlled, 0.5, 1e-2),
    "LuGre friction": Motion(rubbed, 0.5, 5e-3),
    "motors": Motion(driven, 0.5, 1e-2),
}


class Result(NamedTuple):
    """What is left of a run at its end."""

    x: Array
    R: Array
    multipliers: Array


def end_of(name: str, group: str, step: float | mbs.VariableStep, method: mbs.Method) -> Result:
    """The end of a run."""
    motion = MOTIONS[name]
    return last(mbs.simulate(motion.build(group), motion.t_end, step, method, times=[0.0, motion.t_end]))


@cache
def exact(name: str, group: str, per_step: int = 4) -> Result:
    """The end by Radau IIA, with steps of a quarter."""
    return end_of(name, group, MOTIONS[name].h / per_step, mbs.RadauIIA())


class Kept(NamedTuple):
    """What has become of a tolerance."""

    ratio: float
    """Error at the end over it."""
    held: bool
    """Whether most steps were the longest, a hundredth of the run, or local errors are allowed up to the tolerance."""
    steps: int


LONG = ("heavy top", "slider-crank")
TOLERANCES = (
    *product(MOTIONS, ("R3xSO3", "SE3"), (1e-3, 1e-4)),
    *product([name for name in MOTIONS if name not in LONG], ("R3xSO3", "SE3"), (1e-5,)),
    *product(("Puma, plain", "four-bar", "position control"), ("R3xSO3", "SE3"), (1e-6,)),
)
"""Motions, groups and tolerances that docs/variable_steps.md sums up."""


def kept(name: str, group: str, tolerance: float) -> Kept:
    """How a motion keeps a tolerance."""
    motion = MOTIONS[name]
    run = mbs.simulate(motion.build(group), motion.t_end, mbs.VariableStep(tolerance), times=[0.0, motion.t_end])
    assert run.checkpoint is not None and isinstance(run.checkpoint.control, mbs.VariableStep)
    longest = run.stats.step_sizes > 0.99e-2 * motion.t_end
    held = bool(longest.mean() > 0.5) or run.checkpoint.control.local_error == tolerance
    return Kept(place_error(name, group, last(run)) / tolerance, held, run.stats.steps)


def last(solution: mbs.Solution) -> Result:
    return Result(solution.x[-1], solution.R[-1], solution.multipliers_all[-1])


def place_error(name: str, group: str, result: Result) -> float:
    """Largest error of a position over the extent of the model, or of a rotation in rad."""
    truth = exact(name, group)
    turned = Rotation.from_matrix(np.swapaxes(truth.R, -1, -2) @ result.R).magnitude()
    return float(max(np.linalg.norm(result.x - truth.x, axis=-1).max() / extent(name), turned.max()))


def reaction_error(name: str, group: str, result: Result) -> float:
    """Largest error of a multiplier, N or N m, over the largest."""
    truth = exact(name, group).multipliers
    return float(np.abs(result.multipliers - truth).max() / np.abs(truth).max()) if len(truth) else 0.0


@cache
def extent(name: str) -> float:
    """Of the model, in m."""
    return mbs.System(MOTIONS[name].build("R3xSO3")).length
