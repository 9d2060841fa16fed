"""Load paths in files: with all that is asked of them, and never mistaken for runs in time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fem_mbs as mbs
from fem_mbs.elements import Beam, BeamSection, Force, JointSpring, RevoluteJoint, RigidBody


def frame(function: bool) -> mbs.Model:
    """A beam that bends, and a body that hangs on it by a hinge with a spring."""
    model = mbs.Model(gravity=(0, 0, -9.81))
    section = BeamSection.rectangle(0.05, 0.05, 2e9, 0.3, 1e3)
    beam = Beam.line(model, (0, 0, 0), (1, 0, 0), section, elements=4, name="beam")
    model.fix(beam.nodes[0], True, True)
    push = (lambda t: (0, 0, -200.0 * t)) if function else (0, 0, -200.0)
    model.add(Force(beam.nodes[-1], push), name="push")
    tip = model.add_node((1.2, 0, 0), name="tip")
    model.add(RigidBody(tip, 1.0, (0.1, 0.1, 0.1)), name="bob")
    hinge = model.add(RevoluteJoint(beam.nodes[-1], tip, (1, 0, 0), point=(1, 0, 0)), name="hinge")
    model.add(JointSpring(hinge, 10.0), name="spring")
    return model


OPTIONS: dict[str, dict[str, Any]] = {
    "proportional": {},
    "constant": {"ramp": False},
    "arc length": {"arc_length": True},
    "at loads": {"loads": [0.2, 0.5, 1.0]},
    "events": {"events": lambda state: state.t - 0.33},
}


@pytest.mark.parametrize("function", [False, True], ids=["constant loads", "functions"])
@pytest.mark.parametrize("name", OPTIONS)
def test_a_load_path_that_was_saved_is_the_path(name: str, function: bool, tmp_path: Path) -> None:
    path = mbs.statics(frame(function), **OPTIONS[name])
    file = path.save(tmp_path / "path")
    twice = mbs.load(mbs.load(file).save(tmp_path / "twice"))
    for found in (mbs.load(file), twice, mbs.resume(file)):
        assert type(found) is mbs.StaticSolution and str(found) == str(path)
        for own in ("t", "x", "R", "v", "multipliers_all", "unstable"):
            assert np.array_equal(getattr(found, own), getattr(path, own)), own
        for channel in ("energy", "beam.section_forces", "hinge.reaction", "hinge.angle", "tip.displacement"):
            assert np.array_equal(found.channel(channel), path.channel(channel)), channel
        assert np.array_equal(found.constraint_residual.position, path.constraint_residual.position)
        assert np.array_equal(found(float(path.t[-1])).x, path(float(path.t[-1])).x)
        assert [[state.t for state in own] for own in found.event_states] == [
            [state.t for state in own] for own in path.event_states
        ]


def test_a_path_that_failed_says_how_to_go_on(tmp_path: Path) -> None:
    model = frame(False)

    def stop(state: mbs.State) -> None:
        if state.t > 0.2:
            raise KeyboardInterrupt

    file = mbs.statics(model, callback=stop).save(tmp_path / "path")
    with pytest.raises(mbs.ModelError, match=r"path.db' is a load path; go on with it by mbs.statics"):
        mbs.resume(file)
    rest = mbs.statics(model, initial=mbs.load(file).state(-1))
    assert np.allclose(rest.x[-1], mbs.statics(model).x[-1], rtol=0, atol=1e-8)
    with pytest.raises(mbs.ModelError, match="load paths have a load factor in place of time"):
        mbs.join([mbs.load(file), rest])


def test_what_is_no_run_says_what_can_be_saved(tmp_path: Path) -> None:
    model = frame(False)
    modes = mbs.modes(model, state=mbs.statics(model, ramp=False).state(-1), count=2)
    with pytest.raises(mbs.ModelError, match=r"animation\(mode\).save"):
        modes.save(tmp_path / "modes")
    shape = modes.animation(0)
    assert np.array_equal(mbs.load(shape.save(tmp_path / "shape")).x, shape.x)
