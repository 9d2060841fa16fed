"""What a check has looked at: law by law, checked, or why it does not apply."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

Law: TypeAlias = Callable[[Any], str | None]
"""Raises :class:`ContractError` where a law does not hold; returns why it does not apply, None if it was checked."""


@dataclass(frozen=True)
class LawReport:
    """What ``check_element`` and its kin return: iterates over the names of the laws that were checked.

    Attributes
    ----------
    subject : str
        What was held to the laws.
    does_not_apply : dict of str to str
        The reasons of the laws that are none for it, by name: parts of the contract that it does not offer.
    """

    subject: str
    checked: tuple[str, ...]
    does_not_apply: Mapping[str, str]

    def __iter__(self) -> Iterator[str]:
        return iter(self.checked)

    def __len__(self) -> int:
        return len(self.checked)

    def __str__(self) -> str:
        lines = [f"{self.subject}: {len(self)} laws hold", *(f"  {name}: checked" for name in self)]
        lines += [f"  {name}: does not apply, {reason}" for name, reason in self.does_not_apply.items()]
        return "\n".join(lines)


def hold(subject: str, laws: Mapping[str, Law], *trials: Any) -> LawReport:
    """Hold what is tried to laws; one that applies in one of the trials counts as checked."""
    reasons: dict[str, str | None] = {}
    for trial in trials:
        for name, law in laws.items():
            reason = law(trial)
            reasons[name] = None if reasons.get(name, reason) is None else reason
    checked = tuple(name for name, reason in reasons.items() if reason is None)
    return LawReport(subject, checked, {name: reason for name, reason in reasons.items() if reason is not None})
