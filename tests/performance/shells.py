"""What shell elements cost: force and tangent beside those of beams, and a plate of n x n elements in statics.

``FEM_MBS_FAST=0 python tests/performance/shells.py`` takes batches of 1000 elements in turns, on one core, and a plate
of 100 x 100 (a minute or two); ``--plate 20`` takes a smaller one.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from measure import Result, alternate, describe, peak_memory, pin, typical

import fem_mbs as mbs
from fem_mbs.benchmarks import plates
from fem_mbs.contracts import RateSensitivities
from fem_mbs.elements import Beam, BeamSection

COUNT = 1000


def beams() -> mbs.Model:
    """A clamped line of beams."""
    model = mbs.Model()
    section = BeamSection.rectangle(0.1, 0.1, E=1e9, nu=0.3, rho=1e3)
    beam = Beam.line(model, (0, 0, 0), (10, 0, 0), section, elements=COUNT)
    model.fix(beam.nodes[0])
    return model


def shells() -> mbs.Model:
    """A clamped square plate."""
    return plates.square_plate(32, 1e-2, True)[0]


def element(model: mbs.Model) -> Result:
    """Microseconds of CPU time for the force and the tangent of an element."""
    system = mbs.System(model)
    motion = system.motion(mbs.start(system))
    batch = max(system.batches, key=lambda own: len(own.nodes))
    nothing = RateSensitivities(np.zeros((system.n, 6, 6)), np.zeros(system.k))
    begun = time.process_time()
    for _ in range(10):
        _, context = batch.force(motion, batch.at(0.0))
    force = time.process_time() - begun
    for _ in range(10):
        batch.tangent(context, nothing, nothing)
    tangent = time.process_time() - begun - force
    scale = 1e5 / len(batch.nodes)
    return {"force": scale * force, "tangent": scale * tangent}


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plate", type=int, default=100, help="elements a side in statics")
    parser.add_argument("--repeats", type=int, default=5, help="rounds in turns")
    options = parser.parse_args()
    pin()
    print(describe())
    models = {"beam": beams(), "shell": shells()}
    rounds = alternate({name: lambda model=model: element(model) for name, model in models.items()}, options.repeats)
    for key in ("force", "tangent"):
        beam, shell = (typical(rounds[name], key) for name in models)
        print(f"{key}: shell {shell:.1f} us an element, beam {beam:.1f}, ratio {shell / beam:.0f}")
    model, (middle,) = plates.square_plate(options.plate, 1e-2, True)
    begun = time.process_time()
    deflection = mbs.statics(model, load_end=1e-4).displacement(middle)[-1, 2]
    print(
        f"{options.plate} x {options.plate} elements in statics: {time.process_time() - begun:.1f} s of CPU time, "
        f"{peak_memory():.0f} MB at the most, deflection {deflection / 1e-4:.6g} (thin plate: 0.00126532)"
    )


if __name__ == "__main__":
    main()
