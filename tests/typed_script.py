"""A script as users write it; mypy and pyright know the types of what it names. ``.ci/run`` asks them elsewhere."""

from typing_extensions import assert_type

import fem_mbs as mbs
from fem_mbs.contracts import Event, State
from fem_mbs.elements import Beam, BeamSection, Force, RevoluteJoint, RigidBody

model = mbs.Model(gravity=(0, 0, -9.81))
section = BeamSection.rectangle(width=0.03, height=0.001, E=210e9, nu=0.3, rho=7850)
ruler = Beam.line(model, (0, 0, 0), (1, 0, 0), section, elements=4, name="ruler")
hinge = model.add(RevoluteJoint(model.ground, ruler.nodes[0], axis=(0, 1, 0)), name="hinge")
weight = model.add(RigidBody(ruler.nodes[-1], mass=0.01, inertia=(1e-5, 1e-5, 1e-5)))
push = model.add(Force(ruler.nodes[-1], (0.0, 0.1, 0.0)))
ruler.nodes[-1].velocity = (0, 0.1, 0)
ruler.nodes[-1].angular_velocity = [0.0, 0.0, 0.0]


def hangs(state: State) -> float:
    """Where the tip is as high as the hinge."""
    return float(state.x[-1, 2])


solution = mbs.simulate(model, t_end=0.1, step=0.005, events=Event(hangs, terminal=True, optional=True))
print(solution.stats.error.length, model["hinge"].drive, model["ruler[4]"].velocity.round(3))

assert_type(model, mbs.Model)
assert_type(section, BeamSection)
assert_type(hinge, RevoluteJoint)
assert_type(weight, RigidBody)
assert_type(push, Force)
assert_type(solution, mbs.Solution)
assert_type(solution.stats.error.length, float)
