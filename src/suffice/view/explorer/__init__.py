"""A model as a page that one can explore: pan, zoom, search, replay, compare."""

from suffice.view.explorer.page import page_of

__all__ = ["page_of"]
