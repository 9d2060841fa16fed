"""The version of the library, which its files and its figures name."""

__version__ = "0.2.0"
