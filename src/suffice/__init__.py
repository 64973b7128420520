"""suffice: learn the memory that suffices to act."""

from suffice.version import __version__

__all__ = ["__version__"]
