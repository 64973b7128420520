"""`suffice`, or `python -m suffice`."""

from typing import NoReturn

from suffice.files.signals import ending_when_told, heed


def main() -> NoReturn:
    """Run the command line, which may be told to end even while it is imported."""
    with ending_when_told():
        from suffice.cli.main import main as run

        heed()
        run()


if __name__ == "__main__":
    main()
