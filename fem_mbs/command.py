"""The console script ``fem-mbs``; what a command needs is loaded when it runs, as that takes long."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from fem_mbs.version import __version__


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry of the console script; returns its exit status."""
    parser = argparse.ArgumentParser("fem-mbs", description="Flexible multibody dynamics on Lie groups.")
    parser.add_argument("--version", action="version", version=f"fem-mbs {__version__}")
    commands = parser.add_subparsers(required=True, metavar="command")

    validating = commands.add_parser("validate", help="compare with published benchmarks")
    validating.add_argument("names", nargs="*", help="run the cases whose name or kind contains one of these")
    validating.add_argument("--all", action="store_true", help="run the slow cases as well")
    validating.add_argument("--list", action="store_true", help="list the cases and run none")
    validating.add_argument("--json", metavar="FILE", help="write the results, to standard output for '-'")
    validating.set_defaults(run=_validate, parser=validating)

    examining = commands.add_parser("doctor", help="check the model of a script before it runs")
    examining.add_argument("script", help="a Python file that makes a model and runs it")
    examining.add_argument("arguments", nargs=argparse.REMAINDER, help="what the script gets in sys.argv")
    examining.set_defaults(run=_doctor)

    options = parser.parse_args(arguments)
    return int(options.run(options))


def _validate(options: argparse.Namespace) -> int:
    from fem_mbs.validation import validate

    return validate(options)


def _doctor(options: argparse.Namespace) -> int:
    from fem_mbs.doctor import doctor

    return doctor(options.script, options.arguments)
