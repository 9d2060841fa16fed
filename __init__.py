"""The package, for a script in the folder around the clone: Python takes the clone for it, as it has its name."""

from pathlib import Path

_clone = Path(__file__).resolve().parent
__path__ = [str(_clone / "fem_mbs"), str(_clone)]
_package = _clone / "fem_mbs" / "__init__.py"
exec(compile(_package.read_text(encoding="utf-8"), str(_package), "exec"))
