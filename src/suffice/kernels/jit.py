"""Compilation of kernels, once for each machine, to code that releases the interpreter lock.

Compiling takes seconds, much longer than the work on a small log. So some kernels run in another way until they have
had enough work in a process: by NumPy, or interpreted. The result is the same (docs/decisions/0042).

The cache of a compiled kernel notices changes only in its own file. Kernels of `tables` and `comparing` are called from
other files, which must be touched after a change there.
"""

import os
import sys
from collections.abc import Callable
from types import FunctionType
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

BY_NUMPY = 1 << 23  # elements of arguments that a kernel's NumPy version handles in a process: about 0.1 s
SMALL_ARRAYS = 1 << 16  # elements of one call, above which compiled code is faster even if it must be compiled
INTERPRETED = 1 << 15  # elements of arguments that a kernel's source handles as Python in a process: about 0.2 s


def jit(kernel: Callable[..., Any]) -> Any:
    """Compile a kernel when it is first called, and cache the result on disk if possible.

    A name with an underscore is for other kernels only: without an entry point for Python it compiles faster.
    """
    # this error model avoids a test for zero before every division
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
    if kernel.__name__.startswith("_"):
        options["no_cpython_wrapper"] = True
    try:
        return njit(cache=True, **options)(kernel)
    except RuntimeError:  # neither the package folder nor the user's cache folder can be written
        return njit(**options)(kernel)


def jit_unless_small(plain: Callable[..., Any]) -> Callable[[Callable[..., Any]], "_Tiered"]:
    """Compile a kernel that has much work; until then its NumPy version `plain` gives the same result."""
    return lambda kernel: _Tiered(jit(kernel), lambda: plain, SMALL_ARRAYS, BY_NUMPY)


def jit_unless_rare(kernel: Callable[..., Any]) -> "_Tiered":
    """Compile a kernel that has much work; until then its source is interpreted, with the same result."""
    compiled = jit(kernel)
    return _Tiered(compiled, lambda: interpreted(compiled), INTERPRETED, INTERPRETED)


class _Tiered:
    """A kernel that is compiled when a call, or all calls in a process, have more than some elements as arguments."""

    def __init__(self, compiled: Any, plain: Callable[[], Callable[..., Any]], at_once: int, in_all: int) -> None:
        self.compiled, self._make, self._at_once, self._left = compiled, plain, at_once, in_all
        self._plain: Callable[..., Any] | None = None
        self.py_func = compiled.py_func
        self.__name__, self.__doc__ = compiled.py_func.__name__, compiled.py_func.__doc__

    def __call__(self, *arguments: Any) -> Any:
        if self._left > 0:
            elements = sum(getattr(argument, "size", 1) for argument in arguments)
            self._left -= elements
            if elements <= self._at_once:
                return self.plain(*arguments)
        return self.compiled(*arguments)

    @property
    def plain(self) -> Callable[..., Any]:
        """The version that is not compiled."""
        if self._plain is None:
            self._plain = self._make()
        return self._plain


_NAMESPACES: dict[str, dict[str, Any]] = {}  # by module: its names, with kernels interpreted


def interpreted(kernel: Any) -> Callable[..., Any]:
    """Return the source of a kernel as a Python function, with all kernels that it calls."""
    function = _as_python(kernel)

    def run(*arguments: Any) -> Any:
        with np.errstate(all="ignore"):  # compiled code does not warn
            return _as_returned(function(*arguments))

    return run


def _as_returned(result: Any) -> Any:
    """Convert scalars of NumPy to those of Python, which compiled code returns."""
    if isinstance(result, tuple):
        return tuple(map(_as_returned, result))
    return result.item() if isinstance(result, np.generic) else result


def _as_python(kernel: Any) -> FunctionType:
    module = kernel.py_func.__module__
    if module not in _NAMESPACES:
        names = _NAMESPACES[module] = dict(vars(sys.modules[module]))
        names.update({name: _as_python(value) for name, value in names.items() if hasattr(value, "py_func")})
    return FunctionType(kernel.py_func.__code__, _NAMESPACES[module], kernel.py_func.__name__)


at = np.uint64  # unsigned indices avoid a test whether an index counts from the end
EQUAL_DISTANCE = 1e-12  # distances closer than this are equal; the oldest state wins
