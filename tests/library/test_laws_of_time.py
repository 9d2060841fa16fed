"""Laws of time: derivatives, how they begin and end, what they are put together to, and drives by each of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from motions import derivative, fitted_order

import fem_mbs as mbs
from fem_mbs.elements import (
    Constant,
    Force,
    Harmonic,
    PointMass,
    PointToPoint,
    Ramp,
    RevoluteJoint,
    RigidBody,
    SCurve,
    SmoothStep,
    SpinUp,
    Table,
    TimeLaw,
    Vector,
)
from fem_mbs.testing import ContractError, check_law

close = np.testing.assert_allclose
TIMES = np.linspace(0.0, 1.0, 21)
LAWS: dict[str, TimeLaw] = {
    "constant": Constant(3.0),
    "spin-up": SpinUp(-5.0, 0.5),
    "smooth step": SmoothStep(2.0, 0.4, begin=0.1),
    "ramp with round corners": Ramp(2.0, begin=0.1, end=0.5, corner=0.2),
    "ramp with corners that overlap": Ramp(2.0, begin=0.1, end=0.2, corner=0.3),
    "point to point, order 3": PointToPoint(-1.0, 2.0, 0.7, order=3),
    "point to point, order 5": PointToPoint(-1.0, 2.0, 0.7, begin=0.1),
    "point to point, order 7": PointToPoint(-1.0, 2.0, 0.7, order=7),
    "S-curve": SCurve(-1.0, 2.2, 12.0, 150.0, begin=0.1),
    "trapezoid": SCurve(1.0, 1.7, 8.0),
    "harmonic": Harmonic(2.0, 1.3, phase=0.4, offset=1.0),
    "table": Table(TIMES, np.sin(5 * TIMES)),
    "table, clamped": Table(TIMES, np.sin(5 * TIMES), spline="clamped"),
    "table, monotone": Table(TIMES, np.sin(5 * TIMES), spline="monotone"),
    "delayed": SmoothStep(2.0, 0.4).after(0.3),
    "sum": Harmonic(2.0, 1.3) + SpinUp(1.0, 0.5) - 0.5,
    "product": 2.0 * Harmonic(2.0, 1.3) * SmoothStep(1.0, 0.5) * SpinUp(1.0, 0.5),
    "vector": Vector(Harmonic(2.0, 1.3), 4.0, SpinUp(1.0, 0.5)),
    "along a direction": Harmonic(2.0, 1.3) * (0.0, 3.0, 4.0),
    "table of vectors": Table(TIMES, np.stack([TIMES, TIMES**2, TIMES**3], axis=-1)),
}
SMOOTH = (
    "constant",
    "spin-up",
    "smooth step",
    "point to point, order 5",
    "point to point, order 7",
    "S-curve",
    "table",
)


@pytest.mark.parametrize("name", LAWS)
def test_derivatives_belong_to_the_value(name: str) -> None:
    law = LAWS[name]
    for t in np.random.default_rng(1).uniform(0.01, 0.99, 12):
        close(law.velocity(t), derivative(lambda s, t=t: law(t + s), 1e-4), rtol=1e-7, atol=1e-7)
        close(law.acceleration(t), derivative(lambda s, t=t: law.velocity(t + s), 1e-4), rtol=1e-6, atol=1e-5)


@pytest.mark.parametrize("name", LAWS)
def test_of_an_array_of_times_they_are_an_array(name: str) -> None:
    t = np.linspace(0.1, 0.9, 6).reshape(2, 3)
    half = LAWS[name] / 2
    for part, of_half in (("__call__", half), ("velocity", half.velocity), ("acceleration", half.acceleration)):
        law = getattr(LAWS[name], part)
        each = np.array([[law(float(own)) for own in row] for row in t])
        np.testing.assert_array_equal(law(t), each)
        np.testing.assert_allclose(of_half(t), 0.5 * each, rtol=1e-15)


def test_times_that_are_none_and_divisors_are_refused() -> None:
    law = LAWS["harmonic"]
    with pytest.raises(mbs.ModelError, match="t must be a time in s, or an array of times, received 'a'"):
        law("a")
    for other in (0.0, law, "a", (1, 2, 3)):
        with pytest.raises(mbs.ModelError, match="can be divided by a finite number other than zero, received"):
            law / other  # type: ignore[operator]


@pytest.mark.parametrize("name", LAWS)
def test_laws_have_no_jumps(name: str) -> None:
    law, t = LAWS[name], np.linspace(0.0, 1.0, 4001)
    parts: list[Callable[[float], float]] = [law, law.velocity, *([law.acceleration] if name in SMOOTH else [])]
    for part in parts:
        values = np.array([part(own) for own in t])
        assert np.abs(np.diff(values, axis=0)).max() <= 0.02 * (np.abs(values).max() + 1e-12)


@pytest.mark.parametrize("order", [3, 5, 7])
def test_point_to_point_rests_at_its_ends(order: int) -> None:
    law = PointToPoint(-1.0, 2.0, 0.5, begin=1.0, order=order)
    for t in (0.0, 1.0):
        assert (law(t), law.velocity(t)) == (-1.0, 0.0)
    for t in (1.5, 9.0):
        assert (law(t), law.velocity(t), law.acceleration(t)) == (2.0, 0.0, 0.0)
    close(law(1.25), 0.5, atol=1e-14)
    close(law.velocity(1.25), 6.0 * {3: 1.5, 5: 1.875, 7: 2.1875}[order], rtol=1e-14)
    assert (law.acceleration(1.0) == 0.0) == (order > 3)


@pytest.mark.parametrize(
    ("limits", "duration"),
    [
        ((2.0, 4.0, 16.0), 5.0 / 2.0 + 2.0 / 4.0 + 4.0 / 16.0),
        ((2.0, 40.0, 8.0), 5.0 / 2.0 + 2.0 * np.sqrt(2.0 / 8.0)),
        # the acceleration of 4 m/s^2 is just reached, and just not
        ((2e3, 4.0, 5.2), 4.0 / 5.2 + np.sqrt((4.0 / 5.2) ** 2 + 4 * 5.0 / 4.0)),
        ((2e3, 4.0, 5.0), np.cbrt(32 * 5.0 / 5.0)),
        ((2.0, 4.0, None), 5.0 / 2.0 + 2.0 / 4.0),
        ((2e3, 4.0, None), 2.0 * np.sqrt(5.0 / 4.0)),
    ],
)
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_an_s_curve_is_as_fast_as_its_limits_allow(
    limits: tuple[float, float, float | None], duration: float, sign: float
) -> None:
    speed, acceleration, jerk = limits
    law = SCurve(5.0 * sign, speed, acceleration, jerk, begin=1.0)
    assert law.duration == pytest.approx(duration, rel=1e-14)
    t = np.linspace(1.0, 1.0 + duration, 1001)
    v, a = (np.array([part(own) for own in t]) for part in (law.velocity, law.acceleration))
    assert np.abs(v).max() <= speed * (1 + 1e-12) and np.abs(a).max() <= acceleration * (1 + 1e-12)
    if jerk is not None:
        assert np.abs(np.diff(a)).max() <= jerk * (t[1] - t[0]) * (1 + 1e-9)
    assert law(1.0) == 0.0 and law(1.0 + 2 * duration) == 5.0 * sign
    end = 1.0 + duration * (1.0 - 1e-15)
    close([law(end), law.velocity(end)], [5.0 * sign, 0.0], atol=1e-12)
    close([law(1.0 + duration / 2), law.acceleration(1.0 + duration / 2)], [2.5 * sign, 0.0], atol=acceleration)
    close(law(1.0 + duration / 2), 2.5 * sign, rtol=1e-14)


def test_a_way_of_nothing_takes_no_time() -> None:
    law = SCurve(0.0, 1.0, 1.0, 1.0)
    assert law.duration == 0.0
    assert [law(t) for t in (-1.0, 0.0, 1.0)] == [law.velocity(t) for t in (-1.0, 0.0, 1.0)] == [0.0] * 3


def test_a_ramp_rises_as_high_whatever_its_corners() -> None:
    sharp, smooth = Ramp(3.0, begin=1.0, end=2.0), Ramp(3.0, begin=1.0, end=2.0, corner=0.4)
    assert [sharp(t) for t in (0.5, 1.0, 1.5, 2.0, 3.0)] == [0.0, 0.0, 1.5, 3.0, 3.0]
    assert [sharp.velocity(t) for t in (0.5, 1.0, 1.5, 2.0, 3.0)] == [0.0, 3.0, 3.0, 0.0, 0.0]
    assert smooth(2.4) == pytest.approx(3.0, rel=1e-15) and smooth(1.7) == pytest.approx(sharp(1.5), rel=1e-15)
    assert Ramp(2.0)(10.0) == 20.0


def test_products_keep_exact_derivatives() -> None:
    t, T = 0.37, 10.0
    law = Ramp(2.0) * Ramp(3.0) * Ramp(1.0, begin=-1.0)
    close([law(t), law.velocity(t)], [6 * t**2 * (1 + t), 12 * t + 18 * t**2], rtol=1e-14)
    close(law.acceleration(t), 12 + 36 * t, rtol=1e-14)
    wave = (1.0 - SmoothStep(1.0, T)) * Harmonic(2.0, 0.5)
    close(wave(T / 2), 0.5 * 2.0 * np.sin(np.pi * T / 2), atol=1e-14)


def test_a_law_begins_later() -> None:
    law = Harmonic(2.0, 0.25, phase=np.pi / 2).after(3.0)
    assert (law(1.0), law.velocity(2.9), law.acceleration(2.9)) == (2.0, 0.0, 0.0)
    close([law(4.0), law.velocity(4.0)], [0.0, -np.pi], atol=1e-15)
    vectors = (Harmonic(2.0, 0.25) * (1, 0, 0)).after(3.0)
    assert vectors.velocity(1.0).tolist() == [0.0, 0.0, 0.0]


def test_numbers_and_vectors_stand_on_either_side() -> None:
    law = Ramp(2.0)
    for own, expected in (
        (law + 1, 3.0),
        (1 + law, 3.0),
        (law - 1, 1.0),
        (1 - law, -1.0),
        (-law, -2.0),
        (np.float64(3.0) * law, 6.0),
        (law * 3, 6.0),
    ):
        assert own(1.0) == expected
    for own in (law * (1, 2, 3), (1, 2, 3) * law, np.array([1, 2, 3]) * law):
        assert own.size == 3
        assert own(1.0).tolist() == [2.0, 4.0, 6.0]
    assert str(1 + law * 2).count("Ramp") == 1


# Tables


def test_a_table_knows_a_cubic_exactly() -> None:
    t = np.array([0.0, 0.3, 0.5, 1.1, 2.0])
    law = Table(t, t**3 - 2 * t)
    close([law(0.7), law.velocity(0.7), law.acceleration(0.7)], [0.7**3 - 1.4, 3 * 0.49 - 2, 4.2], rtol=1e-12)


def test_splines_do_what_they_say() -> None:
    t, x = np.arange(5.0), np.array([0.0, 0.0, 1.0, 1.0, 1.0])
    dense = np.linspace(0, 4, 401)
    tables = {kind: Table(t, x, spline=kind) for kind in ("cubic", "clamped", "monotone", "linear")}
    values = {kind: np.array([table(s) for s in dense]) for kind, table in tables.items()}
    assert values["cubic"].max() > 1.05 and values["cubic"].min() < -0.05
    for kind in ("monotone", "linear"):
        assert values[kind].max() == 1.0 and values[kind].min() == 0.0
    linear, clamped = tables["linear"], tables["clamped"]
    assert (linear(1.25), linear.velocity(1.25), linear.acceleration(1.25)) == (0.25, 1.0, 0.0)
    close([clamped.velocity(0.0), clamped.velocity(4.0)], 0.0, atol=1e-14)
    for kind, table in tables.items():
        close([table(s) for s in t], x, atol=1e-14)
        assert Table(t[:2], x[:2], spline=kind)(0.5) == 0.0


@pytest.mark.parametrize(
    ("values", "swings"),
    [
        ([0.0, 0.0, 1.0, 1.0, 1.0, 1.0], True),
        ([3.0, 3.0, 1.0, 0.9, 0.8, 0.1], True),
        ([1.0, 1e-3, 1e-3, 1.0, 1.5, 2.0], True),  # below zero
        ([-1.0, -1.0, 1.0, 1.0, -1.0, -1.0], True),  # neither monotone nor of one sign
        ([0.0, 0.0, 0.0, 0.0, 0.0, 0.0], False),
        ([0.0, 1.0, 4.0, 9.0, 16.0, 25.0], False),
        ([0.0, 0.95, 0.59, -0.59, -0.95, 0.0], False),  # a sine: its peaks are between values
    ],
)
def test_a_table_says_where_it_swings_beyond_its_values(
    values: list[float], swings: bool, caplog: pytest.LogCaptureFixture
) -> None:
    t = np.arange(6.0)
    law = Table(t, np.stack([np.ones(6), values, t], axis=-1))
    assert swings == ("the curve swings beyond the values" in caplog.text)
    dense = np.linspace(0, 5, 501)
    x = np.array([law(s)[1] for s in dense])
    if swings:
        at = float(caplog.text.partition("at t = ")[2].partition(" s")[0])
        told = float(caplog.text.partition("by ")[2].partition("%")[0]) / 100.0
        k = int(at)
        low, high = sorted(values[k : k + 2])
        beyond = max(low - law(at)[1], law(at)[1] - high, -law(at)[1] if min(values) >= 0.0 else 0.0)
        assert (
            told == pytest.approx(beyond / np.ptp(values), abs=0.006) and x.min() < min(values) or x.max() > max(values)
        )
    caplog.clear()
    Table(t, values, spline="monotone"), Table(t, values, spline="linear")
    assert not caplog.text


def test_outside_its_times_a_table_refuses_or_holds() -> None:
    t = np.array([1.0, 2.0, 3.0])
    held = Table(t, t**2, outside="hold")
    assert [held(0.0), held(5.0), held.velocity(0.0), held.acceleration(5.0)] == [1.0, 9.0, 0.0, 0.0]
    assert Table(t, np.eye(3), outside="hold").velocity(0.0).tolist() == [0.0, 0.0, 0.0]
    assert Table(t, t**2)(3.0 + 1e-12) == 9.0
    with pytest.raises(mbs.LawError, match=r"Table of 3 values from t = 1 to 3 s is asked for t = 3.1 s; .*hold"):
        Table(t, t**2)(3.1)
    with pytest.raises(mbs.LawError, match=r"from t = 1 to 3 s is asked for t = 3.00001 s"):
        Table(t, t**2)(3.00001)


def test_a_run_that_outlives_its_table_says_so() -> None:
    model = mbs.Model()
    mass = model.add_node((0, 0, 0), name="mass")
    model.add(PointMass(mass, 1.0))
    model.add(Force(mass, Table([0.0, 0.1], np.ones((2, 3)))), name="wind")
    model.fix(mass, translation=False, rotation=True)
    with pytest.raises(mbs.LawError, match=r"Force 'wind': Table of 2 values from t = 0 to 0.1 s is asked for t = 0.1"):
        mbs.simulate(model, 0.2, 0.02)


FILES = {
    "commas": "time,force,speed\n0,1,5\n0.5,2,6\n1,3,7\n",
    "semicolons": '# a test\n"time"; "force"; "speed"\n\n0; 1; 5\n0.5; 2; 6\n1; 3; 7\n',
    "spaces": "time force speed\n0 1 5\n  0.5   2  6\n1 3 7",
    "tabs": "\ufefftime\tforce\tspeed\n0\t1\t5\n0.5\t2\t6\n1\t3\t7",
}


@pytest.mark.parametrize("kind", FILES)
def test_a_table_from_a_file(kind: str, tmp_path: Path) -> None:
    file = tmp_path / "force.csv"
    file.write_text(FILES[kind], encoding="utf-8")
    close([Table.from_file(file)(t) for t in (0.0, 0.25)], [1.0, 1.5])
    close(Table.from_file(str(file), "time", "speed", spline="linear")(0.75), 6.5)
    close(Table.from_file(file, 0, ["force", 2, "force"])(0.5), [2.0, 6.0, 2.0])
    plain = tmp_path / "plain.txt"
    plain.write_text(FILES[kind].split("speed")[1].strip('"\n'), encoding="utf-8")
    close(Table.from_file(plain, value=2)(0.5), 6.0)


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("0,1\n1,2\n2,3,4\n", {}, r"force.csv', line 3: has 3 cells, the first line 2"),
        ("t,F,F\n0,1,2\n1,2,3\n", {"value": "F"}, r"has 2 columns 'F': give the number of one"),
        ("0,1\n1,2\n2\n", {}, r"force.csv', line 3: column 1 is missing, received \['2'\]"),
        ("t,F\n0,1\n1,two\n", {}, r"line 3: column 1 must be a finite number, received 'two'"),
        ("t,F\n0,1\n1,nan\n", {"value": "F"}, r"line 3: column 'F' must be a finite number, received 'nan'"),
        ("t,F\n0,1\n# pause\n2,2\n2,3\n", {}, r"line 5: times must increase, received 2 after 2 s"),
        ("t,F\n0,1\n1,2\n", {"value": "G"}, r"has no column 'G': its columns are 't', 'F'"),
        ("0,1\n1,2\n", {"value": "F"}, r"has no column 'F': its first line has no names"),
        ("0,1\n1,2\n", {"value": [1, 1]}, r"value must be one column or three, received \[1, 1\]"),
        ("0,1\n1,2\n", {"value": -1}, r"from_file: value must be a whole number of at least 0"),
        ("", {}, "has no numbers"),
        ("t,F\n", {}, "has a line of names, .*, and no numbers"),
        ("t,F\n0,1\n", {}, "times and values must be as many, at least two, received 1 times"),
    ],
)
def test_bad_files_are_refused_with_the_line(
    text: str, options: dict[str, object], message: str, tmp_path: Path
) -> None:
    file = tmp_path / "force.csv"
    file.write_text(text)
    with pytest.raises(mbs.ModelError, match=message):
        Table.from_file(file, **options)  # type: ignore[arg-type]


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    with pytest.raises(mbs.ModelError, match="Table.from_file: '.*missing.csv' cannot be read: No such file"):
        Table.from_file(tmp_path / "missing.csv")
    (tmp_path / "picture.png").write_bytes(bytes(range(256)))
    with pytest.raises(mbs.ModelError, match="picture.png' is no text file"):
        Table.from_file(tmp_path / "picture.png")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SmoothStep(1.0, -2.0), "SmoothStep: duration must be a positive number, received -2"),
        (lambda: PointToPoint(0, 1, 0.0), "PointToPoint: duration must be a positive number, received 0"),
        (lambda: PointToPoint(0, 1, 1.0, order=4), "PointToPoint: order must be 3, 5 or 7, received 4"),
        (lambda: Ramp(1.0, begin=2.0, end=1.0), "Ramp: end must be after begin = 2 s, received 1"),
        (lambda: Ramp(1.0, corner=-1.0), "Ramp: corner must be at least 0, received -1"),
        (lambda: SCurve(1.0, 0.0, 1.0), "SCurve: speed must be a positive number, received 0"),
        (lambda: SCurve(1.0, 1.0, 1.0, -3.0), "SCurve: jerk must be a positive number, received -3"),
        (lambda: Harmonic(1.0, 0.0), "Harmonic: frequency must be a positive number, received 0"),
        (lambda: Harmonic("a", 1.0), "Harmonic: amplitude must be a number, received 'a'"),
        (lambda: Constant((1, 2)), r"Constant: value must be a finite number or three, received \(1, 2\)"),
        (lambda: Vector(1.0, (1, 2, 3), 0.0), "Vector: y must be a law of single numbers, received Constant"),
        (lambda: Vector(1.0, np.sin, 0.0), "Vector: y must be a law of time, a number or three .* class of TimeLaw"),
        (lambda: Ramp(1.0) + "a", r"Ramp\(.*\) \+ other must be a finite number or three, received 'a'"),
        (lambda: Ramp(1.0) * np.sin, "other must be a law of time, a number or three numbers, received <ufunc 'sin'>"),
        (lambda: Ramp(1.0) + (1, 2, 3), "cannot add a number and a vector: Ramp"),
        (lambda: Ramp(1.0) * (1, 2, 3) * (1, 2, 3), "cannot multiply two vectors"),
        (lambda: Ramp(1.0).after("x"), "Ramp.after: delay must be a number, received 'x'"),
        (lambda: Table([0, 1, 1], [1, 2, 3]), r"Table: times must increase, received times\[2\] = 1 after 1 s"),
        (lambda: Table([0, 1], [1, 2, 3]), "times and values must be as many, at least two, received 2 times and 3"),
        (lambda: Table([0], [1]), "times and values must be as many, at least two, received 1 times"),
        (lambda: Table([0, 1], [[1, 2], [3, 4]]), "Table: values must be a number, or three, for each time"),
        (
            lambda: Table([0, 1], [1, 2], spline="quintic"),
            "Table: spline must be one of 'cubic', .* received 'quintic'",
        ),
        (lambda: Table([0, 1], [1, 2], outside="guess"), "Table: outside must be one of 'refuse', 'hold'"),
    ],
)
def test_bad_laws_are_refused_by_name(make: Callable[[], TimeLaw], message: str) -> None:
    with pytest.raises(mbs.ModelError, match=message):
        make()


def test_a_law_that_is_not_finished_says_what_is_missing() -> None:
    class Half(TimeLaw):
        def __call__(self, t: float) -> float:
            return t

    with pytest.raises(mbs.FemMbsError, match=r"Half must define velocity\(t\)"):
        (Half() + 1.0).velocity(0.0)


@pytest.mark.parametrize(
    "law", [PointToPoint(1.0, 2.0, 0.5, order=7), SCurve(1.0, 2.0, 4.0), SmoothStep(1.0, 0.5), Table([2, 2.5], [0, 1])]
)
def test_laws_are_looked_at_where_they_have_corners_and_values(law: TimeLaw) -> None:
    check_law(law)

    class Wrong(TimeLaw):
        def __call__(self, t: float) -> float:
            return float(law(t))

        def velocity(self, t: float) -> float:
            return 1.001 * float(law.velocity(t)) + 1e-3

        def acceleration(self, t: float) -> float:
            return float(law.acceleration(t))

    with pytest.raises(ContractError, match="Wrong: velocity at t ="):
        check_law(Wrong(), (2.1, 2.2) if isinstance(law, Table) else (0.11, 0.5))


# Drives


def driven(law: TimeLaw, group: str) -> tuple[mbs.Model, RevoluteJoint]:
    model = mbs.Model(group)
    drive = law - law(0.0)
    disc = model.add_node((0, 0, 0), angular_velocity=(0, 0, drive.velocity(0.0)), name="disc")
    model.add(RigidBody(disc, 1.0, (1.0, 1.0, 2.0)))
    return model, model.add(RevoluteJoint(model.ground, disc, (0, 0, 1), drive=drive))


@pytest.mark.parametrize("group", ["R3xSO3", "SE3"])
@pytest.mark.parametrize("name", [name for name, law in LAWS.items() if law.size is None])
def test_a_hinge_follows_each_law(name: str, group: str) -> None:
    law = LAWS[name]
    model, hinge = driven(law, group)
    solution = mbs.simulate(model, 0.96, 0.04)
    close(solution.angle(hinge), [law(t) - law(0.0) for t in solution.t], rtol=0, atol=1e-11)


@pytest.mark.ci
@pytest.mark.parametrize("name", ["harmonic", "point to point, order 7", "spin-up", "product"])
def test_the_moment_of_a_drive_is_of_order_2(name: str) -> None:
    """Of laws whose jerk does not jump."""
    law, steps, errors = LAWS[name], np.array([0.01, 0.005, 0.0025]), []
    for h in steps:
        model, hinge = driven(law, "SE3")
        solution = mbs.simulate(model, 0.45, h, mbs.GeneralizedAlpha(rho_inf=0.6))
        _, moment = solution.reaction(hinge)
        expected = 2.0 * np.array([law.acceleration(t) for t in solution.t])
        errors.append(np.abs(moment[:, 2] - expected)[solution.t > 0.35].max())
    assert abs(fitted_order(steps, np.array(errors)) - 2.0) < 0.15, errors


def test_a_force_by_a_vector_law_moves_a_mass_as_it_should() -> None:
    model = mbs.Model()
    mass = model.add_node((0, 0, 0), name="mass")
    model.add(PointMass(mass, 2.0))
    model.fix(mass, translation=False, rotation=True)
    model.add(Force(mass, Vector(0.0, Ramp(6.0), 0.0) + SmoothStep(1.0, 0.5) * (0, 0, 4.0)))
    solution = mbs.simulate(model, 1.0, 0.005)
    close(solution.position(mass)[:, 1], solution.t**3 / 2, atol=2e-5)
    close(solution.velocity(mass)[-1, 2], 2.0 * 0.75, atol=1e-5)
