"""Steps of equal length; where one fails, halved, or led beyond its end."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple
from zlib import crc32

from fem_mbs.arrays import Array
from fem_mbs.contracts import Limit, Method
from fem_mbs.errors import ModelError
from fem_mbs.run.interfaces import Hardness, Kinks, Plan, StepControl

MAX_HALVINGS, OF_START = 8, 12
"""Of a step without a solution, and of a hard start."""
BEYOND_AFTER = 4
"""After so many halvings a step tries to pass the end of the nominal one, which may be a singular position."""
MAX_STEPS = 10_000_000
EASY, NOTICED = 0.75, 1e-7
"""After a part of a start that is no harder than this, the next one is twice as long; a local error that is worth a
shorter one."""
LEFT_OVER = 1e-6
"""A rest of this share of a step is rounding and goes to the step before."""
ALLOWED, OF_PATH, OF_STATES = 1e-5, 2e-4, 1e-3
"""Local error of nodes in a step across a kink above which it is taken in parts; the same over its path; of states."""
OF_DERIVATIVES = 0.03
"""Share of these errors where derivatives are to be taken, which are worse by what a contact makes of its instant."""
LEAST = 1e-10
"""A local error that is nothing, however still everything is: over the extent, rad, or over the size of a variable."""
SHORTEST = 2.0**-12
"""Shortest part of a step because of its error."""
SHRINK, GROW, SAFETY = 0.1, 2.0, 0.8
"""How far parts become shorter or longer at once; the error that is aimed at."""
SUDDEN, FADING = 3.0, 0.9
"""A local error so many times the usual one tells of a kink; how much of that is left after a step."""
FALLS = 1.0 / 3.0, 1.5
"""Between these times what it is by its order, the local error of half a step is that of a smooth motion."""
YOUNG, GROSS = 2.0, 1e-3
"""A motion that has grown so much since its speed was looked at has just begun: its errors grow with it, up to here."""
LASTING, ALIKE = 2.0, 1.0 / 32.0
"""How fast the usual error grows in parts of steps: in the time of a step, or in so many parts that cross no kink."""
SLOW, CREPT = 2.0**-8, 300
"""Parts that are short, and so many of them in a row that something keeps them so."""
SEEN = 8
"""The speed is looked at in every so many steps."""
DOUBTFUL = 0.01
"""What the shortest parts have missed, over the largest speed, is worth a warning from here on."""
TINY = 1e-12


class FixedStepMemory(NamedTuple):
    """Where a run with equal steps stands."""

    begin: float
    """Time in s at which it began, or started anew."""
    target: int
    """Number of the nominal step that is under way."""
    halvings: int
    h: float
    """Length of steps: the nominal one, or a little less so that a whole number of them leads to the next jump."""
    beyond: bool = False
    """Whether it tries to pass the end of the next step."""
    order: int = 0
    """The power of the step with which local errors fall; 0 where there is no estimate."""
    part: float = 0.0
    """Length of the parts that steps are taken in after a kink, 0 for whole steps."""
    branches: int = -1
    """A number that stands for the sides of their kinks on which laws are; -1 where none tells."""
    speed: float = 0.0
    """Largest speed so far, over the extent or in rad/s."""
    coarse: float = 0.0
    """What parts that were too short already have missed: the sum of their local errors over their lengths."""
    usual: float = -1.0
    """Local error of whole steps lately; negative before the first."""
    rough: bool = False
    """Whether the last step was across a kink, or a part of such a one, and not as smooth as steps usually are."""
    crept: int = 0
    """Short parts in a row."""
    tried: tuple[float, ...] = ()
    """Local errors of the nodes in a first step that is halved, and in the halves, as if these were whole steps."""


def _excess(of_nodes: float, of_all: float, path: float) -> float:
    """Local errors of a step across a kink over what is allowed."""
    return max(of_nodes / (min(ALLOWED, OF_PATH * path) or ALLOWED), of_all / OF_STATES, TINY)


def _number(branches: Array | None) -> int:
    return -1 if branches is None else crc32(branches.tobytes())


def _tried_again(memory: FixedStepMemory, h: float, of_nodes: float, error: float, kinks: Kinks) -> dict[str, Any]:
    """What changes where a first step is tried again, with errors as if it were whole; nothing where it is not.

    It is halved while functions of users bend in it, until its error falls; then it is as long as before.
    """
    tried = memory.tried
    smooth = bool(tried) and FALLS[0] * tried[-1] < of_nodes < FALLS[1] * tried[-1]
    share = (h / memory.h) ** memory.order
    if not smooth and (tried or _excess(share * of_nodes, 0.0, kinks.speed() * h) <= 1.0):
        return {}
    if kinks.bend():
        return {"tried": (*tried, of_nodes), "halvings": memory.halvings + 1}
    whole = memory.halvings - len(tried)
    return {"usual": max(*tried, error), "halvings": whole, "speed": kinks.speed()} if smooth else {}


@dataclass(frozen=True)
class FixedStep(StepControl):
    """Steps of ``h`` s, the last one cut to end with the run; between jumps, equal steps of at most ``h``.

    A step that fails is tried again with half the length, at most ``MAX_HALVINGS`` times; the nominal length returns
    with the next nominal step. However short, the last part of a step has the same end. Where that is a position that
    no step can end at, such as one where rigid bars are in line, a step to the middle of the next one passes it.

    Until the first nominal step after a start or a jump has passed, what is hard is halved, too, and the part after one
    that is not is twice as long: forces that fall by far within a step, as the drag of a fast start, make an implicit
    step end with a velocity that is wrong, or opposite, and stays so.

    A step across a kink of a law (a stop that is met, a limit, friction that reverses) is taken in parts if its local
    error is above ``ALLOWED``. Their length follows the error until whole steps do. Where laws of users are asked, a
    local error that is suddenly large tells of a kink. So does that of a first step that does not fall with it, down to
    where functions do not bend in it.

    With ``narrow``, the part that crosses a kink is as short as can be, and those after it have smaller errors. What a
    step misses depends on where in it the kink lies, and that moves with the parameters of a model, while steps are
    held where derivatives are taken: these are off by a share that falls with the length of this part, not with its
    error (docs/derivatives.md).
    """

    Memory: ClassVar[type] = FixedStepMemory

    h: float
    narrow: bool = False

    def begin(
        self, method: Method, t: float, t_end: float, branches: Array | None = None
    ) -> tuple[FixedStepMemory, float]:
        count = (t_end - t) / self.h
        if count > MAX_STEPS:
            raise ModelError(
                f"simulate: t_end = {t_end:g} s in steps of {self.h:g} s are {count:.1e} steps, more than can be kept "
                f"({MAX_STEPS:.0e}); look at the units"
            )
        if t == 0.0 and count < 1.0 - LEFT_OVER:  # a run that goes on may end within a step
            raise ModelError(
                f"simulate: step = {self.h:g} s is longer than the run, which ends at t_end = {t_end:g} s; "
                f"did you mean simulate(model, t_end={self.h:g}, step={t_end:g})?"
            )
        memory = FixedStepMemory(t, 1, 0, self.h, order=method.error_order or 0, branches=_number(branches))
        return memory, min(self.h, t_end - t)

    def restart(self, memory: FixedStepMemory, t: float, jump: float) -> tuple[FixedStepMemory, float]:
        count = 0 if jump == math.inf else math.ceil((jump - t) / self.h - LEFT_OVER)
        h = (jump - t) / count if count else self.h
        return memory._replace(begin=t, target=1, halvings=0, h=h, beyond=False), h

    def further(self, memory: FixedStepMemory, t: float, t_end: float) -> FixedStepMemory:
        """Equal steps to another end, in a run that goes on: they follow one that has passed."""
        memory, h = self.restart(memory, t, t_end)
        return memory._replace(begin=t - h, target=2)

    def plan(self, memory: FixedStepMemory, t: float, t_end: float) -> Plan | None:
        begin, target, halvings, h, beyond = memory[:5]
        last = max(1, math.ceil((t_end - begin) / h - LEFT_OVER))
        if target > last or t >= t_end:
            return None
        end = t_end if target == last else begin + target * h
        part = (end - begin - (target - 1) * h) * 0.5**halvings
        rest = end - t
        if beyond:
            return Plan(rest + 0.5 * min(h, t_end - end), t_end if target == last else None)
        if memory.part:
            parts = math.ceil(rest / memory.part - LEFT_OVER)
            return Plan(rest / parts, None) if parts > 1 else Plan(rest, end)
        if target == 1 and halvings:
            part = rest / math.ceil(rest / part - LEFT_OVER)
        # what is left of a step by rounding is no step
        return Plan(rest, end) if rest <= (1.0 + LEFT_OVER) * part else Plan(part, None)

    def failed(self, memory: FixedStepMemory, plan: Plan) -> FixedStepMemory | None:
        """Halve the step, or once try to pass its end."""
        if memory.part > SHORTEST * memory.h:
            return memory._replace(part=SHRINK * plan.h)
        if memory.halvings >= MAX_HALVINGS or memory.part:
            return None
        if memory.halvings == BEYOND_AFTER and not memory.beyond:
            return memory._replace(beyond=True)
        return memory._replace(halvings=memory.halvings + 1, beyond=False)

    def judge(
        self, memory: FixedStepMemory, plan: Plan, error: float | None, kinks: Kinks | None, hardness: Hardness
    ) -> tuple[bool, FixedStepMemory]:
        """Accept every step that crosses no kink of a law, and is no hard start."""
        changes: dict[str, Any] = {}
        starts, halvings = memory.target == 1 and not memory.part and not memory.beyond, memory.halvings
        hard = hardness() if starts and error is not None else 0.0
        if hard > 1.0 and halvings < OF_START and error is not None and error > NOTICED:
            return False, memory._replace(halvings=halvings + 1)
        if kinks is not None and error is not None:
            passed, changes = self._across(memory, plan.h, error, kinks)
            if not passed:
                return False, memory._replace(**{"halvings": 0, **changes})
        if plan.end is not None or memory.beyond:  # every step comes by, and _replace takes three times as long
            cut = plan.end is not None and plan.end < memory.begin + (memory.target - LEFT_OVER) * memory.h
            target = memory.target if cut else memory.target + 1  # a run that ended within a step may go on
            memory = FixedStepMemory(memory.begin, target, 0, memory.h, False, *memory[5:])
        elif starts and halvings and hard <= EASY:
            changes.update(halvings=halvings - 1)
        return True, memory._replace(**changes) if changes else memory

    def _across(self, memory: FixedStepMemory, h: float, error: float, kinks: Kinks) -> tuple[bool, dict[str, Any]]:
        """Whether a step passes that may have crossed a kink, and what changes in the memory."""
        of_nodes, error = kinks.errors(error)
        branches, share = _number(kinks.branches), (h / memory.h) ** memory.order
        first, crossed = memory.usual < 0.0, branches != memory.branches
        asks = len(kinks.system.watched) > len(kinks.system.kinked)
        if first and asks and not (memory.part or crossed):
            if again := _tried_again(memory, h, of_nodes / share, error / share, kinks):
                return False, again
        sudden = not first and error > max(SUDDEN * share * memory.usual, LEAST)
        young = sudden and error < GROSS and kinks.speed() > YOUNG * memory.speed
        if memory.part or crossed or sudden and not young or first and memory.tried:
            return self._in_parts(memory, h, of_nodes, error, branches, max(memory.speed, kinks.speed()))
        usual = max(error / share, FADING * memory.usual)
        changes = {"branches": branches, "usual": usual, "rough": False}
        if first or sudden or memory.target % SEEN == 0:
            changes["speed"] = max(memory.speed, kinks.speed())
        return True, changes

    def _in_parts(
        self, memory: FixedStepMemory, h: float, of_nodes: float, error: float, branches: int, speed: float
    ) -> tuple[bool, dict[str, Any]]:
        """The same of a step across a kink, or of a part of one: the length of the next follows its error."""
        share, shortest, crossed = (h / memory.h) ** memory.order, SHORTEST * memory.h, branches != memory.branches
        is_long = h > (1.0 + 2.0 * LEFT_OVER) * shortest  # to which a whole number of parts leads
        if self.narrow and crossed and is_long and memory.crept < CREPT:
            return False, {"part": max(0.5 * h, shortest)}
        excess = _excess(of_nodes, error, speed * h) / (OF_DERIVATIVES if self.narrow else 1.0)
        if error <= LEAST or not crossed and error <= share * memory.usual:  # as in smooth motion
            excess = TINY
        # of the error of velocities, which lasts, over the step
        factor = SAFETY * excess ** (-1.0 / (memory.order - 1))
        part = h * min(max(factor, SHRINK), GROW)
        if excess > 1.0 and is_long:
            return False, {"part": max(part, shortest)}
        coarse = memory.coarse + (of_nodes / h if excess > 1.0 else 0.0)
        usual = ALLOWED
        if memory.usual >= 0.0:  # what lasts for some steps is no kink
            lasts = h / memory.h if crossed else max(h / memory.h, ALIKE)
            usual = min(max(error / share, memory.usual), memory.usual * LASTING**lasts)
        crept = memory.crept + 1 if h < SLOW * memory.h else 0
        changes = {"branches": branches, "speed": speed, "part": part if part < memory.h else 0.0, "coarse": coarse}
        return True, changes | {"usual": usual, "rough": excess > TINY, "crept": crept}

    def across_kink(self, memory: FixedStepMemory) -> bool:
        return memory.rough

    def creeps(self, memory: FixedStepMemory) -> str:
        if memory.crept != CREPT:
            return ""
        return (
            f"{CREPT} steps in a row were shorter than {SLOW:.0e} of the given one, {self.h:g} s, and more may follow. "
            "A force that jumps with the motion, as friction by the sign of a velocity, may hold bodies where it "
            "jumps. No step resolves that: let it change over a small range, as tanh(v/v0) does, or take JointFriction"
        )

    def beyond_limit(self, memory: FixedStepMemory, limit: Limit, h: float, rest: float) -> str:
        return f"steps of {h:.3g} s are beyond the limit of stability, {limit}" if h > limit.step else ""

    def attempts(self, memory: FixedStepMemory, h: float) -> str:
        return f"; the step was halved {memory.halvings} times, down to {h:.3g} s" if memory.halvings else ""

    def warning(self, memory: FixedStepMemory) -> str:
        """Kinks that the shortest parts of steps do not resolve."""
        if not memory.coarse > DOUBTFUL * memory.speed:
            return ""
        return (
            f"steps across kinks of laws (stops, limits, friction, functions that jump) have too large an error even "
            f"where they are {SHORTEST:.0e} of the given step: try a smaller step than {self.h:g} s"
        )
