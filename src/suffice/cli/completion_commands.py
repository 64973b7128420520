"""The command `completion`, which prints completion scripts for shells."""

from __future__ import annotations

from typing import Literal

from suffice.cli.app import app

HOW = {
    "bash": "source <(suffice completion bash)",
    "zsh": "source <(suffice completion zsh)",
    "fish": "suffice completion fish | source",
}


@app.command
def completion(shell: Literal["bash", "zsh", "fish"], /) -> None:
    """Print a script for Tab completion in your shell.

    It completes commands, options, their values, domains and files. Put the line for your shell into its start file:
    ~/.bashrc, ~/.zshrc (after compinit) or ~/.config/fish/config.fish.

    For example:

        source <(suffice completion bash)
        source <(suffice completion zsh)
        suffice completion fish | source

    Parameters
    ----------
    shell
        bash, zsh or fish.
    """
    print(f"# To use it: {HOW[shell]}")
    print(app.generate_completion(shell=shell))
