"""What tests of derivatives share."""

from __future__ import annotations

import pytest

from fem_mbs.derivatives import direct, sensitivities
from fem_mbs.errors import ModelError
from fem_mbs.run import copies, simulate
from tests.derivatives.varied import Given


@pytest.fixture
def held_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every run takes the same steps."""
    for run in (simulate.simulate, copies.simulate_many):  # their annotations are read at the first call
        with pytest.raises(ModelError):
            run(None, 1.0, 0.1)  # type: ignore[arg-type]
    for module in (direct, simulate, sensitivities):
        monkeypatch.setattr(module, "FixedStep", Given)
