"""Small models at random, sound ones and absurd ones, and what every analysis of them has to answer."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from calls import Findings, finite
from numpy.random import Generator

import fem_mbs as mbs
from fem_mbs.elements import (
    Beam,
    BeamSection,
    DistributedLoad,
    FirstOrderActuator,
    FixedJoint,
    Force,
    FrictionSpring,
    Maxwell,
    Moment,
    PointMass,
    RevoluteJoint,
    RigidBody,
    SphericalJoint,
    SpinUp,
)
from fem_mbs.lie import so3

GAP = 1e-6
"""Largest gap of joints, against the extent of the model, in a run that succeeds."""


def random_model(rng: Generator, parts: int) -> mbs.Model:
    """A tree of bodies and beams with loops, loads, springs and drives; now and then of absurd sizes."""
    size = 10.0 ** rng.uniform(-3, 3)
    wild = rng.random() < 0.3

    def number() -> float:
        return float(10.0 ** (rng.uniform(-50, 50) if wild and rng.random() < 0.1 else rng.uniform(-2, 2)))

    model = mbs.Model(("R3xSO3", "SE3")[rng.integers(2)], gravity=rng.normal(size=3) * number())
    far = rng.normal(size=3) * size * (1e6 if rng.random() < 0.1 else 1.0)
    nodes = [model.ground]
    for _ in range(int(rng.integers(1, max(2, parts // 2)))):
        group = (None, "R3xSO3", "SE3")[rng.integers(3)]
        place = far + size * rng.normal(size=3)
        node = model.add_node(place, so3.exp(rng.normal(size=3)), group=group)
        nodes.append(node)
        if rng.random() < 0.97:
            kind = rng.integers(5)
            J = number() * size**2
            model.add(
                PointMass(node, number()) if kind == 0 and rng.random() < 0.2 else RigidBody(node, number(), (J, J, J))
            )
        if rng.random() < 0.6:
            _join(rng, model, nodes[rng.integers(len(nodes) - 1)], node)
        if rng.random() < 0.05:
            model.fix(node, bool(rng.integers(2)), True)
    while len(model.elements) + len(model.constraints) < parts:
        a, b = (nodes[k] for k in rng.integers(len(nodes), size=2))
        try:
            _part(rng, model, a, b, size, number)
        except mbs.ModelError:  # lines without length, nodes joined with themselves
            parts -= 1
    return model


def _join(rng: Generator, model: mbs.Model, a: mbs.Node, b: mbs.Node) -> None:
    kind = rng.integers(4)
    drive = (None, None, SpinUp(1.0, 0.5), lambda t: np.sin(t) ** 2)[rng.integers(4)]
    if kind == 0:
        model.add(SphericalJoint(a, b))
    elif kind == 1:
        model.add(FixedJoint(a, b))
    else:
        model.add(RevoluteJoint(a, b, rng.normal(size=3), drive=drive))


def _part(rng: Generator, model: mbs.Model, a: mbs.Node, b: mbs.Node, size: float, number: Callable[[], float]) -> None:
    kind = rng.integers(6) if rng.random() < 0.95 else 6
    k = number()
    if kind == 0:
        section = BeamSection.circle(0.02 * size, k * 1e6, 0.3, number())
        y = rng.normal(size=3)
        beam = Beam.line(model, a.position, b.position + 1e-3 * size * y, section, 3, start_node=a, y_axis=y)
        model.add(DistributedLoad(beam, rng.normal(size=3) * k))
    elif kind == 1:
        model.add(Maxwell(a, b, k, number()))
    elif kind == 2:
        model.add(FrictionSpring(a, b, k, number()))
    elif kind == 3:
        model.add(Force(b, rng.normal(size=3) * k, frame=("world", "body")[rng.integers(2)]))
    elif kind == 4:
        model.add(Moment(b, lambda t: (k * t, 0.0, 1.0)))
    elif kind == 5:
        model.add(FirstOrderActuator(a, b, lambda t, length, speed: k * (length - size) + speed, number()))
    elif a is not b:
        _join(rng, model, a, b)


def _runs(rng: Generator) -> list[tuple[str, Callable[[mbs.Model], Any]]]:
    step = float(10.0 ** rng.uniform(-4, 0))
    method = [
        None,
        mbs.GeneralizedAlpha(float(rng.random()), ("index3", "index2")[rng.integers(2)]),
        mbs.LieEuler(("index3", "index2", "index1", "overdetermined", "symplectic")[rng.integers(5)]),
        mbs.RungeKuttaMuntheKaas(),
        mbs.UpdatedLagrangian(0.8),
    ][rng.integers(5)]
    flag = bool(rng.integers(2))
    times = None if rng.random() < 0.7 else [2.5 * step, 4.0 * step]
    return [
        ("simulate", lambda model: mbs.simulate(model, 8 * step, step, method, times=times)),
        ("simulate", lambda model: mbs.simulate(model, 8 * step, mbs.VariableStep(0.1, max_steps=50), times=times)),
        ("statics", lambda model: mbs.statics(model, ramp=flag, max_steps=20)),
        ("modes", lambda model: mbs.modes(model, damped=flag)),
        ("buckling", lambda model: mbs.buckling(model, 2)),
        ("linearize", lambda model: mbs.linearize(model)),
        ("project_velocities", lambda model: mbs.project_velocities(model)),
    ]


def analyses(seed: int, count: int) -> Findings:
    """Many models, each analysed once: a right answer, or an error that teaches."""
    found = Findings()
    for k in range(count):
        rng = np.random.default_rng([seed, k])
        parts = int(rng.integers(1, 21))
        try:
            model = random_model(rng, parts)
        except mbs.FemMbsError:
            found.counts["models refused"] += 1
            continue
        runs = _runs(rng)
        name, run = runs[rng.integers(len(runs))]
        _analyse(f"model {k} of seed {seed}, {name}", model, run, found)
    return found


def _analyse(label: str, model: mbs.Model, run: Callable[[mbs.Model], Any], found: Findings) -> None:
    try:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            answer = run(model)
            wrong = "" if answer is None else _wrong(answer)
    except mbs.FemMbsError as error:
        found.counts["refused"] += 1
        found.reasons[f"{label.split(', ')[1]}: {str(error)[:60]}"] += 1
        if warned:
            found.counts["warnings"] += 1
            found.wrong.append(f"{label}: warning {warned[0].message}")
        return
    except Exception as error:
        found.counts["bare errors"] += 1
        found.wrong.append(f"{label}: {error!r}")
        return
    if warned:
        found.counts["warnings"] += 1
        found.wrong.append(f"{label}: warning {warned[0].message}")
    elif wrong:
        found.counts["wrong answers"] += 1
        found.wrong.append(f"{label}: {wrong}")
    else:
        found.counts["answered"] += 1


def _wrong(answer: Any) -> str:
    """What cannot be right in an answer."""
    if not finite(answer):
        return "not finite"
    if isinstance(answer, mbs.Solution):
        between = len(answer.t) != len(answer.stats.step_sizes) + 1  # interpolated states miss joints a little
        if not finite(answer.energy):
            return "energies that are not finite"
        gap = float(np.max(np.abs(answer.constraint_residual.position), initial=0.0))
        if not between and gap > GAP * max(answer.system.length, 1.0):
            return f"a gap of {gap:g} in joints"
        if not answer.success:
            return answer.message
    return ""
