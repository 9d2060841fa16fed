"""Random models whose laws have kinks (limits, stops, friction, springs that slip, laws of users), and how runs end.

One body on a hinge or on rails, or two of them one behind the other, with one or two such laws and a step that would do
without them. The truth is none of the library's: with one axis the mass matrix is constant, each law is written down a
second time in plain numbers, and two integrators of scipy (LSODA and Radau IIA) have to agree.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.random import Generator
from scipy.integrate import solve_ivp

import fem_mbs as mbs
from fem_mbs.arrays import Array
from fem_mbs.elements import (
    PID,
    Block,
    FirstOrderActuator,
    Force,
    FrictionSpring,
    JointActuator,
    JointForce,
    JointFriction,
    JointSensor,
    JointSpring,
    JointStop,
    Moment,
    PointMass,
    PositionMotor,
    PrismaticJoint,
    RevoluteJoint,
    RigidBody,
    SampledController,
    Saturation,
    SpeedMotor,
    SpringDamper,
    Table,
)

MARGIN, SHARE = 3.0, 0.02
"""A result is right within so many times its estimate, or this share of the motion."""
FAR = 10.0
"""How far away the other ends of springs between points are, in m."""
AGREE = 0.1
"""Two truths that differ by more than this share of what is allowed are none."""

Plain = Callable[[float, float, float, Array], tuple[float, list[float]]]
"""Force along a coordinate and rates of states, of the time, the coordinate, its rate and the states."""


@dataclass
class Acts:
    """A law in plain numbers, on coordinate ``k``; ``period`` is that of samples, between which its states are held."""

    k: int
    law: Plain
    states: int = 0
    period: float = 0.0


@dataclass
class Machine:
    """A model under way; the law that comes next acts on joint ``k``."""

    model: mbs.Model
    rng: Generator
    joints: list[mbs.Joint]
    masses: list[float]
    turns: bool
    rate: float
    """Of the free motion, rad/s."""
    swing: float
    """How far it goes, m or rad."""
    starts: list[float]
    """Rates of the coordinates at t = 0."""
    acts: list[Acts] = field(default_factory=list)
    breaks: list[float] = field(default_factory=list)
    """Instants at which loads jump."""
    k: int = 0

    @property
    def joint(self) -> mbs.Joint:
        """The one that laws act on."""
        return self.joints[self.k]

    @property
    def inertia(self) -> float:
        """What it moves."""
        return sum(self.masses[self.k :])

    @property
    def force(self) -> float:
        """What brings it to its swing."""
        return self.inertia * self.rate**2 * self.swing

    def add(self, part: Any) -> Any:
        """Take a part."""
        return self.model.add(part)

    def acting(self, law: Plain, states: int = 0, period: float = 0.0) -> None:
        """Take a law in plain numbers."""
        self.acts.append(Acts(self.k, law, states, period))

    def of(self, law: Callable[[float, float, float], float]) -> Callable[[float, float, float], float]:
        """The same without states, which is returned for the model."""
        self.acting(lambda t, q, v, z: (law(t, q, v), []))
        return law

    def power(self, low: float, high: float) -> float:
        """A number between two powers of ten."""
        return float(10.0 ** self.rng.uniform(low, high))


def machine(rng: Generator) -> Machine:
    """One or two bodies with springs that oscillate, on hinges or on rails."""
    turns, rate = bool(rng.integers(2)), float(rng.uniform(2.0, 20.0))
    inertia, swing = float(10.0 ** rng.uniform(-3.0, 1.0)), float(10.0 ** rng.uniform(-1.5, 0.3))
    count = 2 if rng.random() < 0.3 else 1
    model = mbs.Model(gravity=(0.0, 0.0, 0.0))
    masses = [inertia * float(rng.uniform(0.5, 2.0)) if k else inertia for k in range(count)]
    starts = [rate * swing * float(rng.uniform(-1.0, 1.0)) for _ in range(count)]
    before, joints, nodes = model.ground, [], []
    for k, (mass, speed) in enumerate(zip(masses, np.cumsum(starts).tolist(), strict=True)):
        if turns:
            node = model.add_node((0.0, 0.0, 0.1 * k), angular_velocity=(0.0, 0.0, speed))
            model.add(RigidBody(node, mass, (mass, mass, mass)))
            joints.append(model.add(RevoluteJoint(before, node, (0, 0, 1), point=(0.0, 0.0, 0.0))))
        else:
            node = model.add_node((1.0, 0.1 * k, 0.0), velocity=(speed, 0.0, 0.0))
            model.add(PointMass(node, mass))
            joints.append(model.add(PrismaticJoint(before, node, (1, 0, 0))))
        before = node
        nodes.append(node)
    made = Machine(model, rng, joints, masses, turns, rate, swing, starts)
    for k in range(count):
        made.k = k
        if k or rng.random() < 0.7:
            stiffness, damping = made.inertia * rate**2, 2.0 * made.inertia * rate * float(rng.uniform(0.0, 0.3))
            made.add(JointSpring(made.joint, stiffness, damping))
            made.of(lambda t, q, v, k=stiffness, c=damping: -k * q - c * v)
    made.k = 0
    if rng.random() < 0.5:
        size, frequency = made.force * float(rng.uniform(0.3, 1.5)), rate * float(rng.uniform(0.3, 1.2))
        push(made, lambda t: size * math.sin(frequency * t))
    made.k = int(rng.integers(count))
    return made


def push(m: Machine, law: Callable[[float], float]) -> None:
    """A load over time on the first body."""
    node = m.joints[0].nodes[1]
    along = np.array((0, 0, 1) if m.turns else (1, 0, 0))
    m.add((Moment if m.turns else Force)(node, lambda t: law(t) * along))
    m.acts.append(Acts(0, lambda t, q, v, z: (float(law(t)), [])))


def clip(x: float, low: float, high: float) -> float:
    """Cut off."""
    return min(max(x, low), high)


def stop(m: Machine) -> None:
    """Stops, from soft to hard."""
    low, high = (m.swing * m.rng.uniform(0.1, 0.8, 2)).tolist()
    k, c = m.inertia * (m.rate * m.power(0.5, 2.3)) ** 2, float(m.rng.choice([0.0, 0.1, 0.5]))
    m.add(JointStop(m.joint, -low, high, k, c))

    def resists(t: float, q: float, v: float) -> float:
        beyond = max(q - high, 0.0) + min(q + low, 0.0)
        return -k * beyond * max(1.0 + c * math.copysign(1.0, beyond) * v, 0.0)

    m.of(resists)


def friction(m: Machine) -> None:
    """Dry friction, with bristles or without."""
    v0 = m.rate * m.swing
    load = m.force * float(m.rng.uniform(0.05, 0.5))
    more = {"radius": 1.0} if m.turns else {}
    if m.rng.random() < 0.5:
        more["bristle"] = m.swing * m.power(-4.0, -2.0)
    creep, stribeck = (v0 * 10.0 ** m.rng.uniform((-4.0, -2.5), (-2.0, -1.0))).tolist()
    static = float(m.rng.uniform(1.0, 1.6))
    m.add(JointFriction(m.joint, 1.0, static, preload=load, reactions=False, creep=creep, stribeck=stribeck, **more))

    def sliding(v: float) -> float:
        return 1.0 + (static - 1.0) * math.exp(-min((v / stribeck) ** 2, 700.0))

    def coulomb(t: float, q: float, v: float) -> float:
        x = min(abs(v) / creep, 1.0)
        rise = x * (15.0 - 10.0 * x**2 + 3.0 * x**4) / 8.0
        return -load * sliding(max(abs(v) - creep, 0.0)) * math.copysign(rise, v)

    if "bristle" not in more:
        m.of(coulomb)
        return
    bristle = more["bristle"]
    sigma, tau = static / bristle, bristle / stribeck

    def lugre(t: float, q: float, v: float, z: Array) -> tuple[float, list[float]]:
        rate = v - sigma * abs(v) * z[0] / sliding(v)
        share = math.exp(-min((v / stribeck) ** 2, 700.0))
        return -load * (sigma * z[0] + tau * sigma * share * rate), [rate]

    m.acting(lugre, 1)


def slipping(m: Machine) -> None:
    """A spring that slips; on hinges friction with bristles, which does the same."""
    if m.turns or m.k:
        friction(m)
        return
    k = m.inertia * m.rate**2 * m.power(0.0, 2.0)
    limit = m.force * float(m.rng.uniform(0.05, 0.5))
    m.add(FrictionSpring(m.model.ground, m.joint.nodes[1], k, limit, point_a=(1.0 - FAR, 0.0, 0.0)))

    relaxes = 1e-6 / m.rate

    def plastic(t: float, q: float, v: float, z: Array) -> tuple[float, list[float]]:
        tried = k * (q - z[0])
        force = clip(tried, -limit, limit)
        return -force, [(tried - force) / (k * relaxes)]

    m.acting(plastic, 1)


def gains(m: Machine) -> tuple[float, float, float, float]:
    """Of a controller: P, I, D and a limit."""
    stiff = m.rate * m.power(0.0, 2.0)
    P = m.inertia * stiff**2
    D = 2.0 * m.inertia * stiff * float(m.rng.uniform(0.3, 3.0))
    return P, float(m.rng.choice([0.0, 0.1])) * P * m.rate, D, m.force * m.power(-0.5, 1.0)


class Sine:
    """A reference over time, or one that stays."""

    def __init__(self, m: Machine) -> None:
        self.size, self.frequency = m.swing * float(m.rng.uniform(0.3, 1.0)), m.rate * float(m.rng.uniform(0.1, 0.5))
        self.stays = bool(m.rng.random() < 0.5)

    def __call__(self, t: float) -> float:
        return self.size if self.stays else self.size * math.sin(self.frequency * t)

    def velocity(self, t: float) -> float:
        """Its rate."""
        return 0.0 if self.stays else self.size * self.frequency * math.cos(self.frequency * t)

    def acceleration(self, t: float) -> float:
        """And that of this."""
        return 0.0 if self.stays else -self.size * self.frequency**2 * math.sin(self.frequency * t)


def position_motor(m: Machine) -> None:
    """A servo at its limit."""
    (P, I, D, limit), reference = gains(m), Sine(m)
    m.add(PositionMotor(m.joint, reference, P, I, D, limit=limit))

    def servo(t: float, q: float, v: float, z: Array) -> tuple[float, list[float]]:
        e = reference(t) - q
        asked = P * e + D * (reference.velocity(t) - v) + (I * z[0] if I else 0.0)
        torque = clip(asked, -limit, limit)
        return torque, [e - (asked - torque) / P] if I else []

    m.acting(servo, int(I > 0.0))


def speed_motor(m: Machine) -> None:
    """A drive at its limit."""
    _, I, D, limit = gains(m)
    speed, I = m.swing * m.rate * float(m.rng.uniform(0.1, 0.5)), 0.1 * I
    m.add(SpeedMotor(m.joint, speed, D, I, limit=limit))

    def drive(t: float, q: float, v: float, z: Array) -> tuple[float, list[float]]:
        e = speed - v
        asked = D * e + (I * z[0] if I else 0.0)
        torque = clip(asked, -limit, limit)
        return torque, [e - (asked - torque) / D] if I else []

    m.acting(drive, int(I > 0.0))


def sensors(m: Machine) -> tuple[Any, Any]:
    """Of the coordinate and of its rate."""
    return m.add(JointSensor(m.joint)), m.add(JointSensor(m.joint, "coordinate_rate"))


def controller(m: Machine) -> None:
    """A PID controller with limits and an actuator."""
    (P, I, D, limit), reference, (position, rate) = gains(m), Sine(m), sensors(m)
    force = m.add(PID(reference - position, P, I, D, rate=-1.0 * rate, limits=(-limit, limit)))
    m.add(JointActuator(m.joint, force))

    def pid(t: float, q: float, v: float, z: Array) -> tuple[float, list[float]]:
        e = reference(t) - q
        asked = P * e - D * v + z[0]
        torque = clip(asked, -limit, limit)
        return torque, [I * e + (torque - asked) * I / P]

    m.acting(pid, 1)


def saturation(m: Machine) -> None:
    """A state feedback that is cut off."""
    (P, _, D, limit), reference, (position, rate) = gains(m), Sine(m), sensors(m)
    m.add(JointActuator(m.joint, m.add(Saturation(P * (reference - position) - D * rate, (-limit, limit)))))
    m.of(lambda t, q, v: clip(P * (reference(t) - q) - D * v, -limit, limit))


def sampled(m: Machine) -> None:
    """A controller that takes samples and is cut off."""
    P, _, D, limit = gains(m)
    period = 0.2 * m.inertia * float(m.rng.uniform(0.2, 1.0)) / D
    period = max(period, 2e-2 / m.rate)
    P, D, goal = min(P, 0.1 * m.inertia / period**2), min(D, 0.2 * m.inertia / period), 0.5 * m.swing

    def law(q: float, v: float) -> float:
        return clip(P * (goal - q) - D * v, -limit, limit)

    m.add(JointActuator(m.joint, m.add(SampledController(sensors(m), period, lambda t, x, u: law(*u)))))
    m.acting(lambda t, q, v, z: (z[0], [law(q, v)]), 1, period)


def user_law(m: Machine) -> None:
    """A law of a user with kinks."""
    k, gap = m.inertia * (m.rate * m.power(0.5, 2.0)) ** 2, m.swing * float(m.rng.uniform(0.1, 0.6))
    c, limit = 0.1 / (m.rate * m.swing), m.force * float(m.rng.uniform(0.1, 0.6))
    corners = gap * np.array([-2.0, -1.0, 1.0, 2.0]), k * gap * np.array([1.0, 0.0, 0.0, -2.0])
    slow = m.rate * m.swing * m.power(-3.0, -1.0)

    def stopped(t: float, q: float, v: float) -> float:
        if q < gap:
            return 0.0
        return -k * (q - gap) * max(1.0 + c * v, 0.0)

    laws: list[Callable[[float, float, float], float]] = [
        lambda t, q, v: -k * max(q - gap, 0.0),
        lambda t, q, v: -k * (q - clip(q, -gap, gap)),
        lambda t, q, v: float(np.interp(q, *corners)),
        stopped,
        lambda t, q, v: -limit * math.tanh(v / slow),
        lambda t, q, v: -limit * clip(v / slow, -1.0, 1.0),
    ]
    m.add(JointForce(m.joint, m.of(laws[int(m.rng.integers(len(laws)))])))


def pieces(m: Machine) -> None:
    """A law of a user that is put together of pieces, which bend or jump where they meet."""
    count = int(m.rng.integers(2, 7))
    at = np.sort(m.swing * m.rng.uniform(-1.0, 1.0, count))
    heights = m.force * m.power(-1.0, 0.5) * m.rng.uniform(-1.0, 1.0, count + 1)
    drag = m.force / (m.rate * m.swing) ** 2 * float(m.rng.uniform(0.1, 1.0))
    laws: list[Callable[[float, float, float], float]] = [
        lambda t, q, v: float(np.interp(q, at, heights[1:])),
        lambda t, q, v: float(heights[np.searchsorted(at, q)]),
        lambda t, q, v: -heights[0] * math.copysign(1.0, heights[0] * q),
        lambda t, q, v: -drag * abs(v) * v - abs(heights[0]) * clip(3.0 * q / m.swing, -1.0, 1.0),
        lambda t, q, v: -abs(heights[0]) * float(np.sign(q - at[0])) * (1.0 if v * q > 0.0 else 0.5),
        lambda t, q, v: max(heights[0], heights[1] + m.inertia * m.rate**2 * abs(q - at[0])) if q > at[0] else 0.0,
    ]
    m.add(JointForce(m.joint, m.of(laws[int(m.rng.integers(len(laws)))])))


def rope(m: Machine) -> None:
    """A spring between points that only pulls, or a cylinder whose valve is cut off; on hinges a law of a user."""
    if m.turns or m.k:
        user_law(m)
        return
    k, gap = m.inertia * (m.rate * m.power(0.5, 2.0)) ** 2, m.swing * float(m.rng.uniform(0.1, 0.6))
    ends = {"point_a": (1.0 - FAR, 0.0, 0.0)}
    if m.rng.random() < 0.5:
        m.add(SpringDamper(m.model.ground, m.joint.nodes[1], force=lambda t, l, v: k * max(l - FAR - gap, 0.0), **ends))
        m.of(lambda t, q, v: -k * max(q - gap, 0.0))
        return
    limit, delay = m.force * float(m.rng.uniform(0.3, 2.0)), m.power(-1.5, 0.0) / m.rate
    k = m.inertia * m.rate**2 * m.power(-0.5, 0.5)
    asked = lambda t, length, v: clip(k * (length - FAR), -limit, limit)  # noqa: E731
    m.add(FirstOrderActuator(m.model.ground, m.joint.nodes[1], asked, delay, **ends))
    m.acting(lambda t, q, v, z: (-z[0], [(asked(t, FAR + q, v) - z[0]) / delay]), 1)


def user_block(m: Machine) -> None:
    """A controller that a user has written, with limits or a dead zone."""
    (P, _, D, limit), reference, signals = gains(m), Sine(m), sensors(m)
    dead = m.swing * float(m.rng.uniform(0.0, 0.3))

    def law(t: float, q: float, v: float) -> float:
        e = reference(t) - q
        return clip(P * (e - clip(e, -dead, dead)) - D * v, -limit, limit)

    m.add(JointActuator(m.joint, m.add(Block(list(signals), g=lambda t, x, u: law(t, *u.tolist())))))
    m.of(law)


def load(m: Machine) -> None:
    """A load that is switched, or has corners, at instants that it does not tell."""
    period, size = 2.0 * math.pi / m.rate, m.force * float(m.rng.uniform(0.5, 3.0))
    times = np.cumsum(period * 10.0 ** m.rng.uniform(-2.0, 0.3, 6))
    m.breaks += times.tolist()
    heights = size * m.rng.uniform(-1.0, 1.0, 6)
    if m.rng.random() < 0.5:
        push(m, Table(times, heights, spline="linear", outside="hold"))
        return
    levels = [0.0, *heights.tolist()]
    push(m, lambda t: levels[int(np.searchsorted(times, t, "right"))])


LAWS = (
    stop,
    friction,
    slipping,
    position_motor,
    speed_motor,
    controller,
    saturation,
    sampled,
    user_law,
    rope,
    user_block,
    load,
    pieces,
)
BESIDE = (stop, friction, slipping, user_law)
"""What may act besides."""


@dataclass
class Case:
    """A model, and how to run it."""

    machine: Machine
    names: str
    step: float
    end: float


def case(seed: int) -> Case:
    """The model of a seed."""
    rng = np.random.default_rng([21, 2, seed])
    m = machine(rng)
    chosen = [LAWS[seed % len(LAWS)]]
    if rng.random() < 0.3:
        chosen.append(BESIDE[int(rng.integers(len(BESIDE)))])
    for law in chosen:
        law(m)
    step = 2.0 * np.pi / m.rate / float(rng.uniform(40.0, 200.0))
    return Case(m, "+".join(law.__name__ for law in chosen), step, 200.0 * step)


def exact(own: Case, t: Array, method: str, rtol: float) -> Array:
    """Coordinates ``(len(t), n)`` by the equations of motion in plain numbers."""
    m = own.machine
    n, acts = len(m.masses), m.acts
    mass = np.array([[sum(m.masses[max(i, j) :]) for j in range(n)] for i in range(n)])
    inverse = np.linalg.inv(mass)
    at = np.cumsum([2 * n] + [act.states for act in acts])

    def rates(t: float, y: Array) -> Array:
        force, result = np.zeros(n), np.empty(len(y))
        for act, k in zip(acts, at, strict=False):
            own_force, own_rates = act.law(t, y[act.k], y[n + act.k], y[k : k + act.states])
            force[act.k] += own_force
            result[k : k + act.states] = 0.0 if act.period else own_rates
        result[:n], result[n : 2 * n] = y[n : 2 * n], inverse @ force
        return result

    y = np.zeros(at[-1])
    y[n : 2 * n] = m.starts
    sampling = [(act, k) for act, k in zip(acts, at, strict=False) if act.period]
    instants = {0.0, own.end, *(own_t for own_t in m.breaks if own_t < own.end)}
    for act, _ in sampling:
        instants |= {i * act.period for i in range(math.ceil(own.end / act.period))}
    found, begins = np.empty((len(t), n)), sorted(instants)
    scale = np.array([m.swing] * n + [m.swing * m.rate] * n + [m.swing] * (len(y) - 2 * n))
    for a, b in zip(begins, begins[1:], strict=False):
        for act, k in sampling:
            if abs(a / act.period - round(a / act.period)) < 1e-9:
                y[k] = act.law(a, y[act.k], y[n + act.k], y[k : k + 1])[1][0]
        end = math.nextafter(b, a)  # loads are as they were before they jump
        inside = (t >= a) & (t < end)
        asked = np.append(t[inside], end)
        part = solve_ivp(rates, (a, end), y, method, asked, rtol=rtol, atol=rtol * scale, max_step=0.5 * own.step)
        assert part.success, part.message
        found[inside], y = part.y[:n, :-1].T, part.y[:, -1].copy()
        found[t >= end] = y[:n]
    return found


@dataclass
class Verdict:
    """How a run ended: right, warned, refused, silent, or unknown where there is no truth."""

    word: str
    names: str
    error: float = 0.0
    """Over the motion."""
    estimate: float = 0.0
    steps: int = 0
    said: str = ""

    def __str__(self) -> str:
        text = f"{self.word:8s} {self.names:28s} error {self.error:.1e} estimate {self.estimate:.1e} {self.steps} steps"
        return f"{text} {self.said}"


class _Said(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep what counts as a warning of the result: repeated steps do not."""
        if "were repeated" not in (text := record.getMessage()):
            self.texts.append(text)


def judged(seed: int) -> Verdict:
    """A run with defaults against the truth."""
    own, said = case(seed), _Said()
    log = logging.getLogger("fem_mbs")
    log.addHandler(said)
    try:
        result = mbs.simulate(own.machine.model, own.end, own.step)
    except mbs.FemMbsError as error:
        return Verdict("refused", own.names, said=str(error)[:400])
    finally:
        log.removeHandler(said)
    t = result.t
    here = np.stack([np.asarray(result.coordinate(joint)).reshape(len(t), -1)[:, 0] for joint in own.machine.joints], 1)
    there, again = exact(own, t, "LSODA", 1e-9), exact(own, t, "Radau", 1e-7)
    error, motion = float(np.abs(here - there).max()), float(np.abs(there).max())
    accuracy = result.stats.error
    assert accuracy is not None
    estimate = accuracy.angle if own.machine.turns else accuracy.length
    allowed = max(MARGIN * estimate, SHARE * motion)
    word = "right" if error <= allowed else "warned" if said.texts else "silent"
    if not float(np.abs(there - again).max()) <= AGREE * max(allowed, error):  # LSODA gives nan now and then
        word = "unknown"
    return Verdict(word, own.names, error / motion, estimate / motion, result.stats.steps, "; ".join(said.texts))


if __name__ == "__main__":
    import sys
    import time
    from collections import Counter

    table: dict[str, Counter[str]] = {}
    for seed in range(int(sys.argv[1]), int(sys.argv[2])):
        started = time.process_time()
        verdict = judged(seed)
        table.setdefault(LAWS[seed % len(LAWS)].__name__, Counter())[verdict.word] += 1
        if verdict.word != "right" or "-v" in sys.argv:
            print(seed, verdict, f"{time.process_time() - started:.1f} s", flush=True)
    words = "right", "warned", "refused", "silent", "unknown"
    for name, counts in [*table.items(), ("all", sum(table.values(), Counter()))]:
        print(f"| {name} | {' | '.join(str(counts[word]) for word in words)} |")
