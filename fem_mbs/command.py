"""The console script ``fem-mbs``: one command after the other adds itself."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from fem_mbs import validation
from fem_mbs.checks import doctor

COMMANDS = validation.add, doctor.add


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry of the console script; returns its exit status."""
    parser = argparse.ArgumentParser("fem-mbs", description="Flexible multibody dynamics on Lie groups.")
    commands = parser.add_subparsers(required=True, metavar="command")
    for add in COMMANDS:
        add(commands)
    options = parser.parse_args(arguments)
    return int(options.run(options))
