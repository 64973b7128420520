"""How kernels are compiled: once for each machine, without the interpreter's lock.

The compiled cache of a kernel notices a change only in the file it is of. Those of `tables` and `comparing` are called
from other files too, which are to be touched after a change there.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit


def jit(kernel: Callable[..., Any]) -> Any:
    """Compile when first called, and keep the result on disk where there is a place for it."""
    # this error model spares every division a test for zero
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
    try:
        return njit(cache=True, **options)(kernel)
    except RuntimeError:  # neither the package nor the user's cache can be written
        return njit(**options)(kernel)


at = np.uint64  # what is not negative: an index that is signed costs a test whether it counts from the end
EQUAL_DISTANCE = 1e-12  # distances closer than this are equal; the oldest state wins
