"""Entry point of the program: `suffice`, or `python -m suffice`."""

import sys
from typing import NoReturn

from suffice.cli.environment import prepare
from suffice.files.signals import exit_if_signalled, exiting_on_signals


def main() -> NoReturn:
    """Run the command line so that signals end it promptly, even during imports."""
    problem = prepare()
    if problem:
        print(f"suffice: {problem}", file=sys.stderr)
        sys.exit(2)
    with exiting_on_signals():
        from suffice.cli.main import main as run

        exit_if_signalled()
        run()


if __name__ == "__main__":
    main()
