"""The pictures that pages show, drawn by the scripts of the gallery: `python docs/pictures/draw.py` draws them anew."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def main() -> None:
    """All of them, in half a minute; building the site says when one no longer is what its script draws."""
    for script in sorted((HERE.parent / "examples").glob("plot_*.py")):
        subprocess.run([sys.executable, script], cwd=HERE, check=True, stdout=subprocess.DEVNULL)
    for picture in HERE.glob("*.png"):
        picture.unlink()


if __name__ == "__main__":
    main()
