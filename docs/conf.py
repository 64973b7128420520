"""Sphinx configuration of the site: `make docs`. Neither the build nor the pages load anything from the network."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "_ext"), str(HERE.parent / "src")]

from pictures_of_examples import PicturesOfExamples  # noqa: E402  # a module in _ext

from suffice.version import __version__  # noqa: E402

project, author = "suffice", "The suffice authors"
version = release = __version__
project_copyright = author

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_gallery.gen_gallery",
    "plain_docstrings",
    "live_pages",
]
exclude_patterns = ["reproduction/runs", "examples"]
smartquotes = False  # an option begins with two hyphens
nitpicky = True
nitpick_ignore_regex = [("py:.*", ".*")]  # types of other packages and of private modules have no page

myst_heading_anchors = 4  # as code hosts make them

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
autodoc_class_signature = "mixed"
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 90
add_module_names = False
napoleon_google_docstring = False
napoleon_use_ivar = True  # attributes as a field list: autodoc lists properties itself
napoleon_use_rtype = False
default_role = "code"  # docstrings put `code` in single backticks

sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "made/examples",
    "image_scrapers": (PicturesOfExamples(),),
    "reset_modules": (),
    "download_all_examples": False,
    "show_signature": False,
    "show_memory": False,
    "capture_repr": (),  # what is printed is shown, not what the last line returns
    "min_reported_time": 1e9,  # show no run times,
    "write_computation_times": False,  # nor the page about them, which loads styles from the network
    "remove_config_comments": True,
}

html_theme = "pydata_sphinx_theme"
html_title = "suffice"
html_static_path = ["_static"]
html_css_files = ["suffice.css"]
html_show_sourcelink = False
html_copy_source = False
html_show_copyright = False
html_theme_options = {
    "logo": {"text": "suffice"},
    "show_prev_next": False,
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "header_links_before_dropdown": 7,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": [],
    "footer_end": [],
    "pygments_light_style": "tango",
    "pygments_dark_style": "monokai",
}
html_sidebars = {page: [] for page in ("index", "install", "tutorial", "concepts", "theory", "notation", "commands")}
html_context = {"default_mode": "auto"}
