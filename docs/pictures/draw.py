"""Draw the pictures of the documentation pages with the scripts of the gallery: `python docs/pictures/draw.py`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def main() -> None:
    """Draw all pictures, in half a minute; building the site reports pictures that are out of date."""
    for script in sorted((HERE.parent / "examples").glob("plot_*.py")):
        subprocess.run([sys.executable, script], cwd=HERE, check=True, stdout=subprocess.DEVNULL)
    for picture in HERE.glob("*.png"):
        picture.unlink()


if __name__ == "__main__":
    main()
