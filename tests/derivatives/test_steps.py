"""What a step leads to follows what it begins with: by its derivative, and as errors that are carried along."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pytest

import fem_mbs as mbs
from fem_mbs.alpha.newmark import AlphaMemory, newmark
from fem_mbs.contracts import Report, Step
from fem_mbs.derivatives.matrices import RunDerivative
from fem_mbs.derivatives.parameters import ParameterSet
from fem_mbs.derivatives.step import Derivatives, TakenStep, displaced, linearised, taken
from fem_mbs.newton import Iterate
from tests.catalogue import ELEMENTS, GROUPS, JOINTS
from tests.derivatives.varied import FOLLOWS_HISTORY, builder

H = 5e-3
EXACT = mbs.Newton(1e-14, 1e-16, max_iterations=30)
RIGID = (
    *("rigid stop of a slider", "rigid stop of a hinge", "rope", "pin in a bush", "contacts of three balls"),
    *("contact of a box on a plane", "contact of a beam with a ball", "contact of two beams", "contact of capsules"),
)
"""What opens and closes has no derivative."""
ROUGH = ("reactions", "brake", "friction in a slider", "vortex")
"""Laws that bend within short differences."""
BENT = [name for name in ELEMENTS if any(rough in name for rough in ROUGH)]
FREE = [name for name in ELEMENTS if name not in (*RIGID, *FOLLOWS_HISTORY, *BENT)]
QUICK = "distance, driven", "gears", "rolling disc", "wire", "brake of a ball joint"
FORMULATIONS = ("stabilized", "index3")
MODELS = [
    pytest.param(["Maxwell", "revolute"], "stabilized", id="Maxwell beside a hinge, stabilized"),
    *(pytest.param(FREE[k::6], FORMULATIONS[k % 2], id=f"elements {k}") for k in range(6)),
    *(
        pytest.param([name], FORMULATIONS[len(name) % 2], id=name, marks=[] if name in QUICK else [pytest.mark.slow])
        for name in BENT
    ),
    *(
        pytest.param(
            [name], formulation, id=f"{name}, {formulation}", marks=[] if name in QUICK else [pytest.mark.slow]
        )
        for name in JOINTS
        for formulation in FORMULATIONS
    ),
]


@dataclass
class Beside:
    """A step of a run, and steps from starts beside it in a random direction, with all numbers and gravity moved."""

    names: list[str]
    formulation: str

    def __post_init__(self) -> None:
        group = GROUPS[len(self.names[0]) % 3]
        build, values = builder(group, *self.names)
        rng = np.random.default_rng(4)
        way = rng.uniform(0.5, 1.5, len(values.get("change", ())))
        self.build = lambda p=0.0: build(p * way if len(way) else None, 0.4, 9.0 + p)
        self.shift = 1e-8 if self.names[0] in BENT else 1e-6
        self.method = mbs.GeneralizedAlpha(0.8, self.formulation, newton=EXACT)
        system = self.system = mbs.System(self.build())
        self.state = mbs.start(system, self.method)
        self.memory = self.method.init(system, self.state, H)
        for _ in range(4):
            self.state, self.memory, *_ = self.method.step(system, self.state, H, self.memory)
        self.memory = self.memory._replace(convergence=None)
        n, order = 6 * system.n, system.order
        free = np.zeros(system.N)
        free[system.free_rows] = 1.0 / system.weight[system.free_rows]
        self.units = np.array([1.0, H, H**2, H**2])
        ways = free * rng.normal(size=(6, system.N))
        ways[:4] /= self.units[:, None]
        ways[:, n:] *= order >= 0
        ways[1:4, n:] *= order > 0
        ways[1, n:] = np.where(order == 1, ways[2, n:], ways[1, n:])  # rates of states stand for accelerations
        pushes = np.abs(self.state.multipliers).max(initial=1.0) * rng.normal(size=(3, system.m))
        self.start = Derivatives(*ways[:4], pushes[0], *ways[4:], *pushes[1:])

    def step(self, share: float, parameter: float = 0.0) -> tuple[mbs.State, AlphaMemory, Step]:
        """From a start a share of the direction away, with other numbers."""
        system, memory, state, order = self.system, self.memory, self.state, self.system.order
        q, v, lead, a, push, *missed = (share * own for own in self.start)
        vdot = np.append(system.nodes_of(lead), np.where(order == 2, system.own_of(lead), 0.0))
        there = mbs.State(state.t, **displaced(system, system, state, [q, v, vdot, push]))
        predictor, before = memory.predictor, memory.accelerations
        assert predictor is not None
        predictor = predictor._replace(
            D=predictor.D + missed[:2], multipliers=predictor.multipliers + np.reshape(missed[2:], (2, -1))
        )
        before = before._replace(now=before.now + lead)
        memory = memory._replace(a=memory.a + a, accelerations=before, predictor=predictor)
        system = mbs.System(self.build(parameter)) if parameter else system
        return there, memory, self.method.step(system, there, H, memory)

    def difference(self, parameter: float) -> Derivatives:
        """Of the ends of two steps, over twice the share."""
        ends = [self.step(s * self.shift, s * self.shift * parameter)[2] for s in (-1.0, 1.0)]
        (before, one), (after, other) = ((end.state, end.memory) for end in ends)
        kinematics = self.system.kinematics
        nodes = kinematics.to_body(self.end.state.R, kinematics.relative(before.x, before.R, after.x, after.R))
        values = [
            (np.append(s.v, s.udot), m.accelerations.now, m.a, s.multipliers, *m.predictor.D, *m.predictor.multipliers)
            for s, m in ((before, one), (after, other))
        ]
        both = np.append(nodes, after.u - before.u), *(b - a for a, b in zip(*values, strict=True))
        return Derivatives(*(own / (2.0 * self.shift) for own in both))

    @cached_property
    def end(self) -> Step:
        """Of the step itself."""
        return self.step(0.0)[2]

    def near(self, found: Derivatives, expected: Derivatives, tolerance: float, parts: int = 9) -> None:
        """Equal in each part, over its largest value; only what has rates has them."""
        system, history = self.system, self.system.orders >= 0
        for name, own, other in list(zip(Derivatives._fields, found, expected, strict=True))[:parts]:
            if "multipliers" not in name:
                keep = history if name == "q" or "missed" in name else system.orders > 0
                own, other = (np.where(keep, system.weight * each, 0.0)[system.free_rows] for each in (own, other))
            error, size = np.abs(own - other).max(initial=0.0), np.abs(other).max(initial=0.0)
            assert error <= tolerance * size, f"{name}: {error / size:.1e}"


@pytest.mark.parametrize(("names", "formulation"), MODELS)
def test_ends_follow_starts(names: list[str], formulation: str) -> None:
    """Derivatives against the start, what guesses have missed, numbers of elements and gravity; and back; errors."""
    beside, tolerance = Beside(names, formulation), 1e-5 if names[0] in BENT else 1e-8
    follow(beside, tolerance)
    be_carried(beside, tolerance if formulation == "index3" or not beside.system.m else 0.05)


def follow(beside: Beside, tolerance: float) -> None:
    """The derivative of the step, and its transpose."""
    system = beside.system
    varied = ParameterSet(beside.build, {"p": 0.0}, {"p": 1.0}, "test").variations(system)
    run = RunDerivative(beside.method, system, varied)
    (derivative,) = linearised(run, [TakenStep(*beside.step(0.0)[:2], H, beside.end)])
    found = derivative.times(Derivatives(*(own[:, None] for own in beside.start)))
    there = Derivatives(*(own[:, 0] for own in found))
    there = there._replace(highest=np.where(system.orders == 1, there.v, there.highest))
    beside.near(there, beside.difference(1.0), tolerance)
    rng = np.random.default_rng(1)
    weights = Derivatives(*(rng.normal(size=(len(own), 1)) for own in found))
    begin, of_parameters = derivative.transposed(weights)
    forth = np.array([(own * way).sum() for own, way in zip(weights, found, strict=True)])
    back = sum(own[:, 0] @ way for own, way in zip(begin, beside.start, strict=True)) + of_parameters.sum()
    np.testing.assert_allclose(back, forth.sum(), rtol=0, atol=1e-9 * np.abs(forth).max())


def be_carried(beside: Beside, tolerance: float) -> None:
    """Errors of the start, as the step leads them on; where it takes something back of velocities, to leading order."""
    system, none = beside.system, np.zeros((2, beside.system.N))
    equations = beside.method.equations(system, beside.state, H, beside.memory)
    unknown = taken(equations, beside.state, beside.end.state)
    value = equations.evaluate(unknown)
    solution = Iterate(unknown, value, equations.linearize(unknown, value), Report())
    start = beside.start = Derivatives(*beside.start[:4], *(0.0 * own for own in beside.start[4:]))
    errors = np.array([system.from_body(beside.state.R, start.q), *start[1:4], none[0]])
    rates = newmark(beside.method.coefficients, H, errors[1:4], system.order).constants
    nothing = equations.carried(solution, 0.0 * errors, 0.0 * rates, none, 0.0)
    q, *rest = equations.carried(solution, errors, rates, none, 0.0)[:4] - nothing[:4]
    found = Derivatives(system.to_body(beside.end.state.R, q), *rest, *start[4:])
    beside.near(found, beside.difference(0.0), tolerance, 4)
