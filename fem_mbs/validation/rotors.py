"""The rotating shaft with an unbalanced disk of Bauchau and others (2016): driven through its critical speed.

No series of it is public; the reference is in ``shaft_reference.py``.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.integrate import simpson

from fem_mbs.arrays import Array
from fem_mbs.elements import Beam, BeamSection, CylindricalJoint, RevoluteJoint, RigidBody
from fem_mbs.integrate import simulate
from fem_mbs.model import Model, Node
from fem_mbs.static import statics
from fem_mbs.validation import shaft_reference as data
from fem_mbs.validation.case import Quantity, case, compared, order_in_the_step, refine


def _shaft(
    offset: float, drive: Callable[[float], float], gravity: float = data.GRAVITY
) -> tuple[Model, Node, RevoluteJoint]:
    """The model, the node of the disk and the driven hinge; four elements have the first frequency to 2e-6."""
    model = Model(gravity=(0, 0, -gravity))
    section = BeamSection(data.EA, data.GA, data.GJ, data.EI, data.MASS, (data.POLAR, data.ACROSS, data.ACROSS))
    shaft = Beam.line(model, (0, 0, 0), (data.LENGTH, 0, 0), section, 4, order=3, name="shaft")
    disk = shaft.nodes[len(shaft.nodes) // 2]
    model.add(
        RigidBody(disk, data.DISK, (data.DISK_POLAR, data.DISK_ACROSS, data.DISK_ACROSS), center_of_mass=(0, offset, 0))
    )
    hinge = model.add(RevoluteJoint(model.ground, shaft.nodes[0], (1, 0, 0), drive=drive))
    model.add(CylindricalJoint(model.ground, shaft.nodes[-1], (1, 0, 0)))
    return model, disk, hinge


def _held(t: float) -> float:
    return 0.0


@case("rotating shaft", "machines", slow=True)
def rotating_shaft() -> list[Quantity]:
    """A shaft of 6 m under its weight, driven through its critical speed: whirl of a disk a little out of balance.

    The sag and the motion without weight are compared each for itself. With the published offset of 50 mm the shaft
    bends too far for a linear model; what the drive gives is then compared with what the shaft has, from the sag on.
    """
    times, small = (0.5, 1.0, 1.25, 2.0, 2.5), 5e-4

    def run(steps: int) -> Array:
        model, disk, _ = _shaft(small, data.turn, gravity=0.0)
        solution = simulate(model, 2.5, 2.5 / steps)
        rows = [round(t * steps / 2.5) for t in times]
        across = solution.position(disk)[:, 1:]
        moved: Array = ((across[rows] - across[0]) / small).ravel()
        return moved

    still, disk, _ = _shaft(small, _held)
    sag = statics(still, ramp=False).displacement(disk)[-1, 2]
    values, order = refine(run, (1000, 2000, 4000))
    exact = data.motion(np.array(times))
    references = np.stack([exact.real, exact.imag], axis=-1).ravel()
    names = [f"{axis} over the offset at t = {t} s" for t in times for axis in "yz"]
    return [
        Quantity("static sag (m)", -sag, data.sag(), 1e-5, "Ritz, linear"),
        *compared(names, values, references, 2e-4, "Ritz, linear", 5.0),
        order_in_the_step(order),
        _work(),
    ]


def _work() -> Quantity:
    """Work of the drive with the published offset, from its moment, beside the energy of the shaft."""
    still, _, _ = _shaft(data.OFFSET, _held)
    sag = statics(still, ramp=False).state(-1).at(0.0)
    model, _, hinge = _shaft(data.OFFSET, data.turn)
    solution = simulate(model, 2.5, 1e-3, initial=sag)
    moment = solution.reaction(hinge)[1][:, 0]
    work = simpson(moment * [data.speed(t) for t in solution.t], x=solution.t)
    energy = solution.energy.total
    return Quantity("work of the drive, offset 50 mm (J)", work, energy[-1] - energy[0], 2e-3, "energy of the shaft")
