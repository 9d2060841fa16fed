"""Pictures, films and curves of models and of what runs returned."""

from fem_mbs.look.film import Film
from fem_mbs.look.view import View

__all__ = ["Film", "View"]
