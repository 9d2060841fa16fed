"""Meshes that are too coarse for what they carry: looked for now and then in a run, and said once."""

from __future__ import annotations

import logging

import numpy as np

from fem_mbs.contracts import State
from fem_mbs.run.interfaces import StepSequence

LOG = logging.getLogger("fem_mbs")
EVERY = 10
"""Steps from one look to the next; what is said has lasted for two."""


class CoarseMeshes:
    """Looks at the cells of a run whose size limits what they can follow, see :class:`ElementBatch`."""

    def __init__(self, steps: StepSequence) -> None:
        self._steps = steps
        self._left = [(batch, np.full(len(batch.nodes), np.inf)) for batch in steps.system.coarse]
        self._count = 0
        self._last: State | None = None

    def after_step(self, state: State) -> None:
        """Look after every so many steps."""
        self._count, self._last = self._count + 1, state
        if self._count % EVERY == 0:
            self._look(state)

    def warning(self) -> str:
        """Look at the last state; what there is to say was said at once."""
        if self._last is not None and self._count % EVERY:
            self._look(self._last)
        return ""

    def _look(self, state: State) -> None:
        """Say where cells carry too much now and did so at the last look."""
        motion, left = self._steps.system.motion(state), []
        for batch, before in self._left:
            now, text = batch.coarse(motion)
            lasting = np.minimum(now, before)
            worst = int(lasting.argmax())
            if not lasting[worst] > 1.0:
                left.append((batch, now))
                continue
            owner = batch.owners[worst]
            cell = worst - batch.owners.index(owner)
            LOG.warning(
                "%s: %s: element %d %s (%d of %d elements)",
                self._steps.where.format(state.t),
                owner,
                cell + 1,
                text.format(lasting[worst]),
                (lasting > 1.0).sum(),
                len(lasting),
            )
        self._left = left
