"""What arguments may be: checks of what a user gives, and annotations by which ``checked`` finds them.

Every message begins with a label that names the user's object and its argument: a text, or anything that makes one when
it is printed (``checked.py``).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Iterable, Sequence
from difflib import get_close_matches
from functools import partial
from pathlib import Path as FilePath
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import TYPE_CHECKING, Annotated, Any, TypeVar
from unicodedata import category

import numpy as np

from fem_mbs.arrays import Array, ArrayLike
from fem_mbs.errors import ModelError

ROTATION_TOLERANCE = 1e-8
ROTATION_ROUNDING = 1e-14
SYMMETRY_TOLERANCE = 1e-8
SHOWN = 100
FEW = 16
MOST = 2**53
"""Whole numbers up to this one are exact."""
LARGEST, SMALLEST = 1e60, 1e-60
"""No quantity is larger in any units, and none that has to be positive smaller; fourth powers of them are numbers."""

Kind = TypeVar("Kind")


def shown(value: object) -> str:
    """A value on one line, cut where it gets long."""
    if type(value).__repr__ is object.__repr__:
        return article(type(value).__name__)
    try:
        text = " ".join(repr(value).split())
    except Exception:  # whatever a user's class raises, and whole numbers of thousands of digits
        text = f"<{type(value).__name__}>"
    return text if len(text) <= SHOWN else f"{text[:SHOWN]} ..."


def article(name: str) -> str:
    """A name with its article."""
    return f"{'an' if name[0] in 'AEIOUaeiou' else 'a'} {name}"


def listed(items: Iterable[object], separator: str = ", ", *, most: int = 8) -> str:
    """The first items of many, in words."""
    texts = [str(item) for item in items]
    return (separator.join(texts[:most]) or "none") + (f" and {len(texts) - most} more" if len(texts) > most else "")


ALIKE = 0.62
"""Likeness of two names from which one may stand for the other."""
USUAL = (
    "t=time,times step=dt,timestep,step_size t_end=tmax,t_final gravity=potential tube=pipe from_file=read,load "
    "after=delayed to_pandas=to_dataframe add=add_body,add_element,add_joint,add_load,add_rigid_body "
    "check=dof,dofs,degrees_of_freedom constraints=joints elements=bodies,loads,n,num simulate=solve,integrate,run "
    "modes=eigenvalues,eigenmodes reaction=torque,force,forces point=location,position,anchor,pivot position=pos "
    "angular_velocity=omega mass=m inertia=J,I center_of_mass=com,cog radius=r rho=density density=rho nu=poisson "
    "y_axis=up value=force,moment,load,torque stiffness=k damping=c,d free_length=l0 kinetic=mu friction=mu "
    "axis=direction,normal normal=axis,direction lead=pitch law=motion proportional=kp,P integral=ki,I "
    "derivative=kd,D P=kp I=ki D=kd count=n,num tolerance=tol,rtol force_tolerance=tol rho_inf=rho,spectral_radius "
    "RevoluteJoint=Hinge,HingeJoint,PinJoint FixedJoint=Weld,WeldJoint,ClampJoint,LockJoint,RigidJoint "
    "SphericalJoint=BallJoint PrismaticJoint=SliderJoint,TranslationalJoint UniversalJoint=CardanJoint,HookeJoint "
    "GeneralJoint=GenericJoint PointOnLineJoint=InLineJoint PointOnPlaneJoint=InPlaneJoint Moment=Torque "
    "Coupling=Gear,GearJoint,RackAndPinion,CoordinateConstraint Bushing=RigidBodySpringDamper,CartesianSpringDamper "
    "JointSpring=TorsionSpring,TorsionalSpring,TorsionalSpringDamper,LinearSpringDamper,CoordinateSpringDamper "
    "PointMass=Mass,ConcentratedMass,MassPoint Ball=Sphere Box=Brick,Cuboid,Cube Cylinder=Disc,Disk,Wheel "
    "Plane=Floor,Wall,HalfSpace center=point,position,location Beam=Cable,Cable2D,TimoshenkoBeam "
    "Shell=Plate NodeSensor=Accelerometer,Sensor SmoothStep=Step Harmonic=Cosine,Sine Table=Spline "
    "translation=position,displacement rotation=orientation"
)
"""Names, and what others call it."""
OURS: dict[str, list[str]] = {}
"""Names by those of others."""
for _own, _others in (pair.split("=") for pair in USUAL.split()):
    for _other in _others.split(","):
        OURS.setdefault(_other, []).append(_own)


def nearest(name: str, known: Iterable[str], else_: str = "there are") -> str:
    """Which of the ``known`` names one that is not among them may stand for.

    Where none is near, all of them, after the words of ``else_``, or nothing.
    """
    known = list(known)
    begun = [own for own in known if len(name) > 2 and own.lower().startswith(name.lower())]
    words = {*name.lower().split("_")}
    alike = [own for own in known if words & {*own.lower().split("_")}]  # "energy" for "kinetic_energy"
    near = [own for own in OURS.get(name, ()) if own in known]
    near = near or get_close_matches(name, known, 3, ALIKE) or begun[:3] or alike[:3]
    if near:
        return f"is it {' or '.join(map(repr, near))}?"
    return f"{else_} {listed(known, most=16)}" if else_ else ""


def real(value: object) -> Array | None:
    """A new array of real numbers; None if ``value`` holds others: text, complex or masked ones, truth values, None."""
    try:
        if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
            return None
        result = np.array(value)
        if result.dtype == np.float64:
            return result
        with np.errstate(over="ignore"):
            return result.astype(float) if result.dtype.kind in "iuf" else None
    except Exception:  # whatever a user's class raises
        return None


def real_or_complex(value: object) -> Array | None:
    """The same, also of complex numbers."""
    try:
        result = np.array(value)
    except Exception:  # whatever a user's class raises
        return None
    return result if result.dtype.kind == "c" else real(value)


def array(value: ArrayLike, label: object, *shapes: tuple[int | None, ...], what: str = "") -> Array:
    """A new array of finite numbers of one of the shapes, or a :class:`ModelError` that begins with ``label``.

    None in a shape stands for any positive number.
    """
    result = real(value)
    if result is None or (shapes and result.shape not in shapes and not any(_fits(result, own) for own in shapes)):
        of_shape = " of the shape " + " or ".join(map(str, shapes)).replace("None", "n") if shapes else " of numbers"
        expected = what or f"an array{of_shape}"
        shape = "" if result is None else f" of shape {result.shape}"
        raise ModelError(f"{label} must be {expected}, received {shown(value)}{shape}")
    # of a few numbers, a list tells faster
    if result.size < FEW and all(-LARGEST <= own <= LARGEST for own in result.ravel().tolist()):
        return result
    if (np.abs(result) <= LARGEST).all():
        return result
    if np.isfinite(result).all():
        raise ModelError(f"{label} must not be larger than {LARGEST:g}, received {shown(result)}; look at the units")
    raise ModelError(f"{label} must be finite, received {shown(result)}; look for a division by zero in the script")


def _fits(array: Array, expected: tuple[int | None, ...]) -> bool:
    pairs = zip(array.shape, expected, strict=False)
    return array.ndim == len(expected) and all(n == m or (m is None and n > 0) for n, m in pairs)


def vector(value: ArrayLike, label: object) -> Array:
    """Three finite numbers, or a :class:`ModelError` that begins with ``label``."""
    return array(value, label, (3,), what="three numbers")


def divisor(value: object, of: object) -> float:
    """What something is to be divided by."""
    result = real(value)
    if result is None or result.shape != () or not result or not np.isfinite(result):
        raise ModelError(f"{of} can be divided by a finite number other than zero, received {shown(value)}")
    return float(result)


def number(
    value: object,
    label: object,
    *,
    positive: bool = False,
    low: float = -LARGEST,
    high: float = LARGEST,
    unit: str = "",
) -> float:
    """One finite (positive) number between bounds, or a :class:`ModelError` that begins with ``label``."""
    if type(value) is int and -MOST < value < MOST:
        value = float(value)
    elif type(value) is not float:
        result = real(value)
        if result is None or result.shape != ():
            what = f"a {'positive ' if positive else ''}number{unit}" if unit else "a number"
            raise ModelError(f"{label} must be {what}, received {shown(value)}")
        value = float(result)
    if low <= value <= high and (not positive or value >= SMALLEST):
        return value
    if positive and not value > 0.0 or abs(value) == np.inf or value != value:
        kind = f"{'positive' if positive else 'finite'} number{unit}"
        raise ModelError(f"{label} must be a {kind}, received {value}")
    if abs(value) > LARGEST or (positive and value < SMALLEST):
        where = f"between {SMALLEST:g} and {LARGEST:g}" if positive else f"of at most {LARGEST:g} in size"
        raise ModelError(f"{label} must be a number {where}, received {value}; look at the units")
    least = "above 0" if positive else f"at least {low:.4g}"
    bounds = f"in [{low:.4g}, {high:.4g}]" if high < LARGEST and not positive else least
    bounds += f" and at most {high:.4g}" if high < LARGEST and positive else ""
    raise ModelError(f"{label} must be {bounds}, received {value}")


def whole_number(value: object, label: object, least: int | None = 1) -> int:
    """A whole number of at least ``least``, or a :class:`ModelError` that begins with ``label``."""
    result = real(value)
    whole = result is not None and result.shape == () and abs(result) < MOST and result % 1.0 == 0.0
    if result is None or not whole or (least is not None and result < least):
        least_text = "" if least is None else f" of at least {least}"
        raise ModelError(f"{label} must be a whole number{least_text}, received {shown(value)}")
    return int(result)


def truth(value: object, label: object) -> bool:
    """True or False, or a :class:`ModelError` that begins with ``label``."""
    if not isinstance(value, bool | np.bool_):
        raise ModelError(f"{label} must be True or False, received {shown(value)}")
    return bool(value)


def flags(value: object, label: object) -> bool | tuple[bool, ...]:
    """True or False, or three of them, or a :class:`ModelError` that begins with ``label``."""
    if isinstance(value, bool | np.bool_):
        return bool(value)
    several = isinstance(value, list | tuple) or isinstance(value, np.ndarray) and value.ndim == 1
    if several and len(value) == 3:  # type: ignore[arg-type]
        three = tuple(truth(own, label) for own in value)  # type: ignore[attr-defined]
        return three[0] if len(set(three)) == 1 else three
    raise ModelError(f"{label} must be True or False, or three of these, for the axes x, y, z, received {shown(value)}")


def text(value: object, label: object, empty: bool = False) -> str:
    """Text that can be printed and written to a file, or a :class:`ModelError` that begins with ``label``."""
    if not isinstance(value, str) or not (value or empty):
        raise ModelError(f"{label} must be text, received {shown(value)}")
    if not value.isprintable() and any(category(letter) in ("Cc", "Cs") for letter in value):
        raise ModelError(f"{label} must be text that can be printed, received {shown(value)}")
    return str(value)


def path(value: object, label: object) -> FilePath:
    """A path, with ``~`` for the home of the user, or a :class:`ModelError` that begins with ``label``."""
    if not isinstance(value, str | os.PathLike):
        raise ModelError(f"{label} must be a text such as 'out/name', received {shown(value)}")
    text(os.fspath(value), label, empty=True)
    try:
        return FilePath(value).expanduser()
    except RuntimeError as error:
        raise ModelError(f"{label} has no such home, received {shown(value)}: {error}") from None


WRITTEN_BY = {
    **{".db": "save", ".h5": "to_hdf5", ".hdf5": "to_hdf5", ".csv": "to_csv"},
    **dict.fromkeys((".pvd", ".vtu", ".vtkhdf"), "to_paraview"),
    **dict.fromkeys((".gif", ".mp4"), "animate") | dict.fromkeys((".png", ".svg", ".pdf"), "plot"),
}
"""Suffixes that programs go by, and the method of a solution that writes such files."""
FOREIGN = ".xlsx", ".xls", ".ods", ".vtk", ".vtp", ".vtm", ".mat", ".json", ".nc", ".pkl", ".parquet", ".npy", ".npz"
"""Those of files that nothing here writes, but for their own."""


def named_file(given: FilePath, suffix: str, label: str) -> FilePath:
    """A path with a suffix, unless it has one that is none of another format, or a :class:`ModelError`."""
    if given.name in ("", ".."):
        raise ModelError(f"{label} must name a file, received '{given}'; try '{given / f'run{suffix}'}'")
    other = WRITTEN_BY.get(given.suffix.lower())
    if other and other != WRITTEN_BY.get(suffix):
        raise ModelError(
            f"{label} '{given}' has the suffix of files that solution.{other}(path) writes; try "
            f"'{given.with_suffix(suffix)}'"
        )
    if given.suffix.lower() in FOREIGN and given.suffix.lower() != suffix:
        raise ModelError(f"{label} '{given}' has the suffix of another format; try '{given.with_suffix(suffix)}'")
    return given if given.suffix else given.with_suffix(suffix)


def writable(file: FilePath, label: str) -> FilePath:
    """A file that can be written, tried before what goes into it is computed; missing folders are made."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        new = not file.exists()
        file.open("ab").close()
        if new:
            file.unlink()
    except OSError as error:
        raise ModelError(
            f"{label}cannot write '{file}': {error.strerror or error}; choose a place where you may write"
        ) from error
    return file


def function(value: Kind, label: object, of: str = "") -> Kind:
    """Something that can be called, or a :class:`ModelError` that begins with ``label``."""
    if not callable(value):
        raise ModelError(f"{label} must be a function{of}, received {shown(value)}")
    return value


def one_of(value: object, allowed: Collection[str], label: object) -> str:
    """One of the allowed words, or a :class:`ModelError` that begins with ``label``."""
    if not isinstance(value, str) or value not in allowed:
        raise ModelError(f"{label} must be one of {', '.join(map(repr, allowed))}, received {shown(value)}")
    return value


def name_of(function: Callable[..., Any]) -> str:
    """What messages call something that can be called: the name of a function, or of the class of an object."""
    named = isinstance(function, FunctionType | BuiltinFunctionType | MethodType | type)
    return function.__name__ if named else type(function).__name__


def direction(value: ArrayLike, label: object) -> Array:
    """A unit vector along ``value``, or a :class:`ModelError` that begins with ``label``."""
    result = vector(value, label)
    largest = np.abs(result).max()
    if largest == 0.0:
        raise ModelError(f"{label} must have a length, received {result}")
    result /= largest  # the square of a small number may be zero
    return np.asarray(result / np.linalg.norm(result))


def symmetric(value: ArrayLike, label: object, size: int | None = None, diagonal: str = "") -> Array:
    """A matrix that is symmetric, whatever the units of its rows, or a :class:`ModelError` that begins with ``label``.

    Of some ``size``, or any; where there are words for a ``diagonal``, also from that alone.
    """
    what = f"{diagonal}{' or ' * bool(diagonal)}a symmetric {f'{size}x{size} ' if size else ''}matrix"
    result = array(value, label, (size, size), *([(size,)] if diagonal else []), what=what)
    result = np.diag(result) if result.ndim == 1 else result
    units = np.sqrt(np.abs(np.diag(result)))
    if len({*result.shape}) > 1 or (np.abs(result - result.T) > SYMMETRY_TOLERANCE * np.outer(units, units)).any():
        raise ModelError(f"{label} must be {what}, received {shown(value)}")
    return result


def is_of(value: object, module: str, *kinds: str) -> bool:
    """Whether a value is of classes of a module that takes long to import: as long as nobody has, nothing is."""
    loaded = sys.modules.get(module)
    return loaded is not None and isinstance(value, tuple(getattr(loaded, kind) for kind in kinds))


def is_rotation(value: object) -> bool:
    """Whether something is a rotation of scipy."""
    return is_of(value, "scipy.spatial.transform", "Rotation")


def rotation_matrix(value: Any, label: object) -> Array:
    """A rotation matrix, freed of small errors, or a :class:`ModelError` that begins with ``label``.

    ``R R^T = I``, ``det R = 1`` (Holzinger, Arnold, Gerstmayr 2024, eq. 16).
    """
    given = value.as_matrix() if is_rotation(value) else value
    result = array(
        given, label, (3, 3), what="a 3x3 matrix or one scipy Rotation, as .from_euler('z', 90, degrees=True)"
    )
    error, determinant = np.abs(result.T @ result - np.eye(3)).max(), np.linalg.det(result)
    if error > ROTATION_TOLERANCE or determinant < 0.0:
        raise ModelError(
            f"{label} must be a rotation matrix (orthogonal, determinant +1); its columns miss orthonormality by "
            f"{error:.1e} and its determinant is {determinant:+.3g}. scipy.spatial.transform.Rotation makes "
            "one from a rotation vector, Euler angles or a quaternion"
        )
    if error > ROTATION_ROUNDING:
        left, _, right = np.linalg.svd(result)
        result = left @ right
    return result


if TYPE_CHECKING:
    from typing import TypeAlias

    from scipy.spatial.transform import Rotation

    RotationLike: TypeAlias = ArrayLike | Rotation
else:
    RotationLike = Annotated[Any, rotation_matrix]

Positive = Annotated[float, partial(number, positive=True)]
Seconds = Annotated[float, partial(number, positive=True, unit=" of seconds")]
NotNegative = Annotated[float, partial(number, low=0.0)]
UnitInterval = Annotated[float, partial(number, low=0.0, high=1.0)]
PositiveInt = Annotated[int, whole_number]
Index = Annotated[int, partial(whole_number, least=0)]
Flags = Annotated[bool | Sequence[bool], flags]
"""For all directions alike, or along and about the axes x, y, z."""
Name = Annotated[str, text]
Path = Annotated[str | FilePath, path]
Vector3 = Annotated[ArrayLike, vector]
"""Three finite numbers."""
Direction = Annotated[ArrayLike, direction]
"""Three numbers with a length; the function gets the unit vector."""


def shaped(*shapes: tuple[int | None, ...], what: str = "") -> Any:
    """A rule: finite numbers of one of the shapes, where None stands for any number; ``what`` says it in words."""
    return lambda value, label: array(value, label, *shapes, what=what)


def or_function(rule: Callable[[Any, Any], Any], value: Any, label: Any) -> Any:
    """What obeys a rule, or a function, as it is."""
    if callable(value):
        return value
    try:
        return rule(value, label)
    except ModelError as error:
        raise ModelError(f"{error}" + ("; a function may be given, too" if real(value) is None else "")) from None


def choice(allowed: Collection[str]) -> Any:
    """A rule: one of these words."""

    def rule(value: object, label: object) -> str:
        return one_of(value, allowed, label)

    rule.allowed = allowed  # type: ignore[attr-defined]
    return rule
