"""`suffice`, or `python -m suffice`."""

from typing import NoReturn

from suffice.endings import ending_when_told


def main() -> NoReturn:
    """Run the command line, which may be interrupted while it is still being imported."""
    with ending_when_told():
        from suffice.cli import main as run
    run()


if __name__ == "__main__":
    main()
