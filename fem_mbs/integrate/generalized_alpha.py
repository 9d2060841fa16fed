"""The options of the generalised-alpha methods; the equations of a step are in ``index3.py`` and ``index2.py``."""

from __future__ import annotations

from dataclasses import dataclass, field

from fem_mbs.errors import ModelError
from fem_mbs.integrate.parameters import Parameters, chung_hulbert
from fem_mbs.lie.parametrization import PARAMETRIZATIONS
from fem_mbs.model import instance, number, shown
from fem_mbs.solve import Newton

FORMULATIONS = ("index3", "index2")
STARTS = ("consistent", "perturbed")


@dataclass(frozen=True)
class GeneralizedAlpha:
    """The Lie group generalised-alpha method with the coefficients of Chung and Hulbert.

    Parameters
    ----------
    rho_inf : float
        Spectral radius at infinite frequency, in [0, 1]: 1 keeps the energy of high frequencies, 0 removes it at once.
    formulation : {"index3", "index2"}
        Constraints on position level, or on position and velocity level with the multipliers ``eta`` of Gear, Gupta and
        Leimkuhler.
    start : {"consistent", "perturbed"}
        Initial accelerations and multipliers from the hidden constraints with ``a_0 = vdot_0``, or with the
        perturbation of ``a_0`` and, for index 3, of ``v_0`` that keeps the multipliers of second order from the first
        step on (Arnold, Cardona, Bruels 2015, Tables 1 and 2).
    newton : Newton
        Options of Newton's method.
    parameters : Parameters, optional
        Coefficients; those of Chung and Hulbert for ``rho_inf`` by default (Arnold, Cardona, Bruels 2015, eq. 42).
    """

    rho_inf: float = 0.9
    formulation: str = "index3"
    start: str = "consistent"
    newton: Newton = field(default_factory=Newton)
    parameters: Parameters | None = None

    def __post_init__(self) -> None:
        instance(self.newton, Newton, f"{type(self).__name__}: newton")
        if not 0.0 <= number(self.rho_inf, f"{type(self).__name__}: rho_inf") <= 1.0:
            raise ModelError(f"{type(self).__name__}: rho_inf must be in [0, 1], received {self.rho_inf}")
        _one_of(self, "formulation", FORMULATIONS)
        _one_of(self, "start", STARTS)

    @property
    def coefficients(self) -> Parameters:
        """The coefficients that are used."""
        return self.parameters or chung_hulbert(self.rho_inf)

    @property
    def chart(self) -> str:
        """The coordinates of a step, see ``chart.py``."""
        return "group"

    @classmethod
    def hht(cls, alpha: float = 0.05, newton: Newton | None = None) -> GeneralizedAlpha:
        """The method of Hilber, Hughes and Taylor with numerical damping ``alpha`` in [0, 1/3]."""
        if not 0.0 <= number(alpha, f"{cls.__name__}.hht: alpha") <= 1.0 / 3.0:
            raise ModelError(f"{cls.__name__}.hht: alpha must be in [0, 1/3], received {alpha}")
        parameters = Parameters(0.0, alpha, 0.25 * (1.0 + alpha) ** 2, 0.5 + alpha)
        return cls((1.0 - alpha) / (1.0 + alpha), newton=newton or Newton(), parameters=parameters)


@dataclass(frozen=True)
class UpdatedLagrangian(GeneralizedAlpha):
    """The generalised-alpha method in local coordinates that start at zero in each step.

    The classical way to integrate rotations, for comparison (Bruels, Cardona, Arnold 2012, section 6; Cardona and
    Geradin 1988): Newmark's formulas hold for the coordinates, and velocities follow from their rates.

    Parameters
    ----------
    parametrization : {"conformal", "rotation_vector"}
        Coordinates of an increment: the conformal rotation vector (Wiener, Milenkovic) or the rotation vector, and on
        SE(3) their extensions to frames.
    rho_inf, formulation, start, newton, parameters
        As in :class:`GeneralizedAlpha`.
    """

    parametrization: str = "conformal"

    def __post_init__(self) -> None:
        super().__post_init__()
        _one_of(self, "parametrization", tuple(PARAMETRIZATIONS))

    @property
    def chart(self) -> str:
        """The coordinates of a step, see ``chart.py``."""
        return self.parametrization


def _one_of(method: GeneralizedAlpha, name: str, allowed: tuple[str, ...]) -> None:
    if getattr(method, name) not in allowed:
        raise ModelError(
            f"{type(method).__name__}: {name} must be one of {', '.join(map(repr, allowed))}, "
            f"received {shown(getattr(method, name))}"
        )
