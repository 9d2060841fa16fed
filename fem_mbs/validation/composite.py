"""Static beams of the wind turbine community: sections that couple everything, and blades that are twisted as built."""

from __future__ import annotations

import numpy as np
from scipy.linalg import block_diag

from fem_mbs.arrays import Array
from fem_mbs.elements import Beam, BeamSection, Force
from fem_mbs.model import Model
from fem_mbs.static import statics
from fem_mbs.validation.case import Quantity, case, compared, rate, refine
from fem_mbs.validation.equilibria import UNIT, cantilever

AXES = ("u_x", "u_y", "u_z")


@case("composite cantilever", "statics")
def composite_cantilever() -> list[Quantity]:
    """A beam whose section couples bending with twist, under 150 N at its end (Wang and others 2015, BeamDyn)."""
    rotation = 1e3 * np.array([[16.96, 17.61, -0.351], [17.61, 59.12, -0.37], [-0.351, -0.37, 141.47]])
    stiffness = block_diag(np.diag([1368.17e3, 88.56e3, 38.78e3]), rotation)

    def run(elements: int) -> Array:
        model, beam = cantilever(BeamSection.general(stiffness, np.eye(6)), 10.0, elements)
        model.add(Force(beam.nodes[-1], (0, 0, 150.0)))
        end: Array = statics(model).displacement(beam.nodes[-1])[-1]
        return end

    values, order = refine(run, (20, 40, 80))
    references = (-0.0902726627, -0.0647488486, 1.2297364829)
    return [*compared(AXES, values, references, 1e-6, "BeamDyn, through Kynema", 1.0), rate(order)]


@case("twisted cantilever", "statics")
def twisted_cantilever() -> list[Quantity]:
    """A steel bar of 10 m that is twisted by 90 degrees as built, under 4 MN at its end (Wang and others 2015)."""
    section = BeamSection(2.5e10, 8.2604167e9, 1.41872656e8, (5.20833e8, 1.30208333e8), 1.0, UNIT)

    def run(elements: int) -> Array:
        model = Model()
        nodes = [model.add_node((place, 0, 0)) for place in np.linspace(0, 10, elements + 1)]

        def across(x: Array) -> Array:
            angle = np.pi / 2 * x[0] / 10
            return np.array([0, np.cos(angle), np.sin(angle)])

        model.add(Beam(nodes, section, y_axis=across))
        model.fix(nodes[0])
        model.add(Force(nodes[-1], (0, 0, -4e6)))
        end: Array = statics(model).displacement(nodes[-1])[-1]
        return end

    values, order = refine(run, (20, 40, 80))
    spectral = compared(AXES, values, (-1.141526, -1.7180533, -3.5932132), 1e-5, "spectral elements, through Kynema")
    solid = compared(AXES, values, (-1.134192, -1.714467, -3.58423), 1e-2, "ANSYS, through Kynema")
    return [*spectral, *solid, rate(order)]
