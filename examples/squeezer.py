r"""Andrews' squeezing mechanism.

Seven bodies of a few centimetres in a plane, driven by a constant moment of 33 N mm on a crank of 7 mm, which makes two
and a half turns in 30 ms; a spring pulls at one of them. It is problem A03 of the IFToMM library of benchmark problems,
and part of the test set of initial value problems (Mazzia, Magherini 2008), which gives the seven angles at the end to
15 digits. The model, in `fem_mbs/benchmarks/linkages.py`, is that of `fem-mbs validate`, which looks at the rates and
the forces as well.

The hinges of these loops close more than there is to close; the motion is unique all the same
([Redundant joints](../../redundant.md)). The method is of second order: halve the step, and errors fall by four.
"""

import meshio
import numpy as np
from _run import main_of, panels

import fem_mbs as mbs
from fem_mbs.benchmarks.linkages import ANGLES, NAMES, SQUEEZER, read_squeezer, squeezer
from fem_mbs.elements import Cylinder, RigidBody, SpringDamper, Surface


def build(group="R3xSO3"):
    """The model, drawn as rods and a triangle."""
    model = squeezer(group)
    (spring,) = (element for element in model.elements if isinstance(element, SpringDamper))
    for body in (element for element in model.elements if isinstance(element, RigidBody)):
        (node,) = body.nodes
        hinges = [node.at(joint.offsets[joint.nodes.index(node)]) for joint in model.constraints if node in joint.nodes]
        start, end = min(hinges, key=lambda point: point[0]), max(hinges, key=lambda point: point[0])
        body.shape = Cylinder(6e-4, np.linalg.norm(end - start), end - start, center=(start + end) / 2)
        if node is spring.nodes[1]:
            corners = [start, end, node.at(spring.offsets[1])]
            body.shape = Surface(
                meshio.Mesh(corners, [("triangle", [[0, 1, 2]])]), center=(0, 0, 0), rotation=np.eye(3)
            )
    return model


def run(steps=1000, group="R3xSO3"):
    solution = mbs.simulate(build(group), SQUEEZER.t_end, SQUEEZER.t_end / steps)
    return solution, read_squeezer(solution)


def compare(solution, found):
    """Angles at the end, and the order from half as many steps to these."""
    errors = [np.abs(angles[-1, :7] - ANGLES).max() for angles in (run(steps=500)[1], found)]
    numbers = {f"{name} (rad)": pair for name, *pair in zip(NAMES, found[-1], ANGLES, strict=False)}
    return numbers | {"order in the step": (np.log2(errors[0] / errors[1]), 2)}


def figure(solution, found, file):
    angles = [(name, 1e3 * solution.t, found[:, k]) for k, name in enumerate(NAMES)]
    rates = [(name, 1e3 * solution.t, found[:, 7 + k]) for k, name in enumerate(NAMES)]
    ends = "at the end, test set", 30.0 + np.zeros(5), ANGLES[2:], "ko"
    fast = ("time (ms)", "angle (rad)", *angles[:2]), ("time (ms)", "angle (rad)", *angles[2:], ends)
    panels(file, *fast, ("time (ms)", "rate (rad/s)", *rates[2:]))


main = main_of(__file__, run, compare, figure, every=5)
if __name__ == "__main__":
    main()
