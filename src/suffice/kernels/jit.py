"""Compilation of kernels, once for each machine, to code that releases the interpreter lock.

The cache of a compiled kernel notices changes only in its own file. Kernels of `tables` and `comparing` are called from
other files, which must be touched after a change there.
"""

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from suffice.errors import SettingsError

_THREADS = os.environ.get("NUMBA_NUM_THREADS", "1")
if not (_THREADS.isdecimal() and int(_THREADS) > 0):  # the compiler would fail, or print a traceback
    raise SettingsError(
        f"the environment variable NUMBA_NUM_THREADS={_THREADS} is not a number of threads. Set it to 1 or more, or "
        "unset it."
    )

from numba import njit  # noqa: E402 after the check


def jit(kernel: Callable[..., Any]) -> Any:
    """Compile a kernel when it is first called, and cache the result on disk if possible."""
    # this error model avoids a test for zero before every division
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
    try:
        return njit(cache=True, **options)(kernel)
    except RuntimeError:  # neither the package folder nor the user's cache folder can be written
        return njit(**options)(kernel)


at = np.uint64  # unsigned indices avoid a test whether an index counts from the end
EQUAL_DISTANCE = 1e-12  # distances closer than this are equal; the oldest state wins
