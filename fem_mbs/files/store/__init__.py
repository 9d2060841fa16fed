"""Runs in files: written as they come, opened in other processes, gone on with."""
