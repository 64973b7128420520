"""Commands in processes whose memory the operating system limits."""

from __future__ import annotations

import os
import resource
import subprocess
import sys


def confined(megabytes: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a process with limited memory, without allocators that reserve more than they use."""

    def confine() -> None:
        resource.setrlimit(resource.RLIMIT_DATA, (megabytes * 10**6, megabytes * 10**6))

    plain = {"ARROW_DEFAULT_MEMORY_POOL": "system", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "suffice", *arguments]
    return subprocess.run(
        command, preexec_fn=confine, env=os.environ | plain, capture_output=True, text=True, check=False
    )
