"""What a model can do and what looks wrong of it, before it runs."""

from fem_mbs.check.examine import examine
from fem_mbs.check.report import Check, Finding

__all__ = ["Check", "Finding", "examine"]
