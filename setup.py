"""The build: what ``pyproject.toml`` says, with the element library where it is imported.

The folder ``elements`` is the package ``fem_mbs.elements``: another distribution owns the import name ``elements``. A
link in ``fem_mbs`` leads to it. An installation of the clone (``pip install -e``) is one line in a ``.pth`` file, which
editors and type checkers read as Python does, to a folder that holds ``fem_mbs`` and nothing else of the clone.
"""

import os
import subprocess
from pathlib import Path

from setuptools import setup
from setuptools.command.editable_wheel import editable_wheel

ROOT = Path(__file__).resolve().parent
INSTALLED = ".installed"


def link(path: Path, folder: Path) -> None:
    """Make a link to a folder of the clone; a source distribution holds the files themselves."""
    if path.exists():
        return
    path.parent.mkdir(exist_ok=True)
    if os.name == "nt":  # where a junction needs no rights, which a symbolic link does
        subprocess.run(["cmd", "/c", "mklink", "/J", str(path), str(folder)], check=True)
    else:
        path.symlink_to(os.path.relpath(folder, path.parent))


class InstallClone(editable_wheel):
    """``pip install -e``: the folder that is put on the path of Python."""

    def finalize_options(self) -> None:
        """Let packages be found there, by which setuptools writes a ``.pth`` file and no import hook."""
        link(ROOT / INSTALLED / "fem_mbs", ROOT / "fem_mbs")
        self.distribution.package_dir = {"": INSTALLED}
        super().finalize_options()


link(ROOT / "fem_mbs" / "elements", ROOT / "elements")
setup(cmdclass={"editable_wheel": InstallClone})
