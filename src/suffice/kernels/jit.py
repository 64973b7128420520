"""Compilation of kernels, once for each machine, to code that releases the interpreter lock.

Compiling takes seconds, much longer than the work on a small log. So some kernels run in another way until they have
had enough work in a process: by NumPy, or interpreted. The result is the same (docs/decisions/0042).

The cache of a compiled kernel notices changes only in its own file. Kernels of `tables` and `comparing` are called from
other files, which must be touched after a change there.
"""

import os
import sys
from collections.abc import Callable
from functools import partial
from time import thread_time
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
from numba.core.types import unliteral  # noqa: E402

PATIENCE = 2.5  # seconds that a kernel may run in another way in a process; the slowest take 6 to compile
BY_NUMPY = 1 << 16  # elements of arguments above which a kernel's NumPy version is not used
INTERPRETED = 1 << 15  # elements of arguments above which the source of a kernel is not interpreted


def jit(kernel: Callable[..., Any]) -> Any:
    """Compile a kernel when it is first called, and cache the result on disk if possible.

    A name with an underscore is for other kernels only: without an entry point for Python it compiles faster.
    """
    # this error model avoids a test for zero before every division
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
    if kernel.__name__.startswith("_"):
        options["no_cpython_wrapper"] = True
    try:
        return _once_for_all_literals(njit(cache=True, **options)(kernel))
    except RuntimeError:  # neither the package folder nor the user's cache folder can be written
        return _once_for_all_literals(njit(**options)(kernel))


def _once_for_all_literals(compiled: Any) -> Any:
    """Compile a kernel that others call with 0, 1 and a variable once, not three times."""
    template_for = compiled.get_call_template
    compiled.get_call_template = lambda types, named: template_for(tuple(map(unliteral, types)), named)
    return compiled


def jit_unless_small(plain: Callable[..., Any]) -> Callable[[Callable[..., Any]], "_Tiered"]:
    """Compile a kernel that has much work; until then its NumPy version `plain` gives the same result."""
    return lambda kernel: _Tiered(jit(kernel), lambda: plain, BY_NUMPY)


def jit_unless_rare(kernel: Callable[..., Any] | None = None, *, most: int = INTERPRETED) -> Any:
    """Compile a kernel that has much work; until then its source is interpreted, with the same result.

    Arguments of more than `most` elements are much work.
    """
    if kernel is None:
        return partial(jit_unless_rare, most=most)
    compiled = jit(kernel)
    return _Tiered(compiled, lambda: interpreted(compiled), most)


class _Tiered:
    """A kernel that is compiled when it gets large arrays, or has run for some time; at once if it is in the cache."""

    def __init__(self, compiled: Any, plain: Callable[[], Callable[..., Any]], most: int) -> None:
        self.compiled, self._make, self._most = compiled, plain, most
        self._left: float | None = None  # seconds
        self._plain: Callable[..., Any] | None = None
        self.py_func = compiled.py_func
        self.__name__, self.__doc__ = compiled.py_func.__name__, compiled.py_func.__doc__

    def __call__(self, *arguments: Any) -> Any:
        if self._left is None:
            self._left = 0.0 if _is_cached(self.compiled) else PATIENCE
        if self._left <= 0 or _elements(arguments) > self._most:
            return self.compiled(*arguments)
        begin = thread_time()
        result = self.plain(*arguments)
        self._left -= thread_time() - begin
        return result

    @property
    def plain(self) -> Callable[..., Any]:
        """The version that is not compiled."""
        if self._plain is None:
            self._plain = self._make()
        return self._plain


def _elements(argument: Any) -> int:
    """Return the number of elements of arrays, also in tuples of them."""
    if isinstance(argument, tuple):
        return sum(map(_elements, argument))
    return int(getattr(argument, "size", 1))


def _is_cached(compiled: Any) -> bool:
    """Return whether a kernel was compiled on this machine before; a private attribute of Numba tells where."""
    files = getattr(getattr(compiled, "_cache", None), "_cache_file", None)
    return os.path.exists(getattr(files, "_index_path", ""))


_NAMESPACES: dict[str, dict[str, Any]] = {}  # by module: its names, with kernels interpreted


def interpreted(kernel: Any) -> Callable[..., Any]:
    """Return the source of a kernel as a Python function, with all kernels that it calls."""
    function = _as_python(kernel)

    def run(*arguments: Any) -> Any:
        changed: list[tuple[Any, Any]] = []
        wide = [_widened(argument, changed) for argument in arguments]
        with np.errstate(all="ignore"):  # compiled code does not warn
            result = _as_returned(function(*wide))
        for narrow, copy in changed:
            if narrow.flags.writeable:
                narrow[...] = copy
        return result

    return run


def _widened(argument: Any, changed: list[tuple[Any, Any]]) -> Any:
    """Convert integers to 64 bits, because compiled arithmetic has as many; `changed` lists arrays and their copies."""
    if isinstance(argument, np.ndarray):
        if argument.dtype.kind not in "iu" or argument.dtype.itemsize == 8:
            return argument
        changed.append((argument, argument.astype(np.int64)))
        return changed[-1][1]
    if isinstance(argument, tuple) and hasattr(argument, "_make"):
        return argument._make([_widened(field, changed) for field in argument])
    return argument


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
