"""What flexible bodies cost: a step of bodies with 20 modes and 3 interfaces against rigid ones; reductions of bricks.

``python tests/performance/flexible.py`` throws bodies, and hangs damped ones on hinges, in turns with rigid ones;
``... flexible.py 80,20,20`` reduces a brick of so many trilinear hexahedra to two interfaces and 20 modes, and tells
CPU seconds and the peak of memory.
"""

from __future__ import annotations

import resource
import sys
import time
from pathlib import Path

import fem_mbs as mbs
from fem_mbs.elements import FlexibleBody, Interface, Reduction, RevoluteJoint, RigidBody

sys.path.insert(0, str(Path(__file__).parents[1]))

from meshes import brick, chain  # noqa: E402

STEPS, STEP, SPIN = 300, 1e-3, (0.3, 1.0, 2.0)


def moved(count: int, reduction: Reduction | None, hinged: bool) -> float:
    """Milliseconds of CPU a step of so many bodies, rigid ones without a reduction; thrown, or each on a hinge."""
    model = mbs.Model("SE3", gravity=(0, 0, -9.81))
    for k in range(count):
        spin, place = (0.0, 1.0, 0.0) if hinged else SPIN, (0.0, float(k), 0.0)
        if reduction is None:
            node = model.add_node(place, angular_velocity=spin)
            model.add(RigidBody(node, 1.0, (0.05, 0.1, 0.12), (0.5 * hinged, 0.0, 0.0)))
        else:
            body = FlexibleBody.place(model, reduction, place, angular_velocity=spin, name=f"body {k}")
            node = model.add(body).nodes[0]
        if hinged:
            model.add(RevoluteJoint(model.ground, node, (0, 1, 0)))
    begun = time.process_time()
    mbs.simulate(model, STEPS * STEP, STEP)
    return 1e3 * (time.process_time() - begun) / STEPS


def reduced(shape: tuple[int, int, int]) -> str:
    """What the reduction of a brick takes."""
    x, y, z = shape
    points, K, M = brick(shape, (float(x), float(y), float(z)), 2e3, 1.0)
    ends = {
        "a": Interface.rigid(lambda p: p[:, 0] == 0.0),
        "b": Interface.average(lambda p: p[:, 0] == float(x)),
    }
    begun = time.process_time()
    Reduction(points, K, M, ends, modes=20)
    seconds, memory = time.process_time() - begun, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    return f"{points.size} unknowns: {seconds:.1f} s of CPU, peak {memory:.2f} GB"


def main() -> None:
    if len(sys.argv) > 1:
        x, y, z = map(int, sys.argv[1].split(","))
        print(reduced((x, y, z)))
        return
    mesh, dofs = chain(30)
    interfaces = {name: Interface.rigid([node]) for name, node in (("a", 0), ("b", 15), ("c", 30))}
    for hinged, damping in ((False, 0.0), (True, 0.01)):
        own = Reduction(*mesh, interfaces, dofs=dofs, modes=20, damping=damping)
        for count in (1, 24):
            for _ in range(2):
                flexible, rigid = moved(count, own, hinged), moved(count, None, hinged)
            print(
                f"{count} {'on hinges' if hinged else 'thrown'}: {flexible:.2f} ms a step, rigid ones {rigid:.3f} ms, "
                f"{flexible / rigid:.0f} times"
            )


if __name__ == "__main__":
    main()
