"""A run as one VTKHDF file has what its .vtu files have, as VTK reads both."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkCommonExecutionModel import vtkStreamingDemandDrivenPipeline
from vtkmodules.vtkIOHDF import vtkHDFReader
from vtkmodules.vtkIOXML import vtkXMLUnstructuredGridReader

import fem_mbs as mbs
from fem_mbs.elements import Beam, BeamSection, RevoluteJoint, RigidBody, SpringDamper


def arrays(data: Any) -> dict[str, Any]:
    return {data.GetArrayName(k): vtk_to_numpy(data.GetArray(k)) for k in range(data.GetNumberOfArrays())}


def mesh(grid: Any) -> tuple[list[Any], list[Any]]:
    """Points, and the types and points of cells."""
    cells = []
    for k in range(grid.GetNumberOfCells()):
        cell = grid.GetCell(k)
        cells.append((cell.GetCellType(), [cell.GetPointId(i) for i in range(cell.GetNumberOfPoints())]))
    return [grid.GetPoint(i) for i in range(grid.GetNumberOfPoints())], cells


def read(reader: Any, file: Path) -> Any:
    reader.SetFileName(str(file))
    reader.UpdateInformation()
    return reader


def test_frames_are_those_of_vtu_files(tmp_path: Path) -> None:
    model = mbs.Model(gravity=(0, 0, -9.81))
    tip = model.add_node((1, 0, 0), name="tip")
    model.add(RigidBody(tip, 1.0, (0.1, 0.1, 0.1)))
    model.add(RevoluteJoint(model.ground, tip, (0, 1, 0), point=(0, 0, 0)), name="hinge")
    section = BeamSection.rectangle(0.1, 0.1, 1e7, 0.3, 1e3)
    beam = Beam.line(model, (1, 0, 0), (2, 0, 0), section, elements=3, start_node=tip)
    model.add(SpringDamper(model.ground, beam.nodes[-1], 3.0))
    run = mbs.simulate(model, 0.2, 0.02)
    run.to_paraview(tmp_path / "run", every=4)
    one = run.to_paraview(tmp_path / "new" / "run.vtkhdf", every=4)
    reader = read(vtkHDFReader(), one)
    times = reader.GetOutputInformation(0).Get(vtkStreamingDemandDrivenPipeline.TIME_STEPS())
    assert np.array_equal(times, run.t[[0, 4, 8, 10]])
    for k, t in enumerate(times):
        reader.UpdateTimeStep(t)
        here = reader.GetOutput()
        there = read(vtkXMLUnstructuredGridReader(), tmp_path / "run" / f"run_{k:06d}.vtu")
        there.Update()
        there = there.GetOutput()
        for own in ("GetPointData", "GetCellData"):
            first, second = (arrays(getattr(grid, own)()) for grid in (here, there))
            assert set(first) == set(second)
            assert all(np.array_equal(first[name], second[name]) for name in first)
        assert mesh(here) == mesh(there)
        assert here.GetNumberOfCells() > 50
