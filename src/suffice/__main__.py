"""Entry point of the program: `suffice`, or `python -m suffice`."""

from typing import NoReturn

from suffice.files.signals import exit_if_signalled, exiting_on_signals


def main() -> NoReturn:
    """Run the command line so that signals end it promptly, even during imports."""
    with exiting_on_signals():
        from suffice.cli.main import main as run

        exit_if_signalled()
        run()


if __name__ == "__main__":
    main()
