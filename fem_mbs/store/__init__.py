"""Runs in files: written as they come, opened in other processes, gone on with."""

from fem_mbs.store.load import load, resume

__all__ = ["load", "resume"]
