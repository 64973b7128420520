"""How kernels are compiled: once for each machine, without the interpreter's lock.

A kernel calls only kernels of its own file, because the compiled cache notices a change only in the file it is of.
"""

from numba import njit

jit = njit(cache=True, nogil=True, error_model="numpy")  # no test for zero at every division

TIE = 1e-12  # distances closer than this are equal; the oldest state wins
