"""A run: the loop that time integration and statics share, with events, output, progress and failures."""

from fem_mbs.run.driver import Accepted, Callback, Walk, drive
from fem_mbs.run.events import EventFunction, Events
from fem_mbs.run.progress import progress_bar
from fem_mbs.run.recorder import AtTimes, Between, Recorder, Wanted, output_times
from fem_mbs.run.store import EveryFew, Store

__all__ = [
    "Accepted",
    "AtTimes",
    "Between",
    "Callback",
    "EventFunction",
    "Events",
    "EveryFew",
    "Recorder",
    "Store",
    "Wanted",
    "Walk",
    "drive",
    "output_times",
    "progress_bar",
]
