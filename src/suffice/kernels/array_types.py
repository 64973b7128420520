"""Array types by element; the shape of an array is in a comment beside its field."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Codes = NDArray[np.integer]  # numbers of letters, symbols, actions, observations or rewards, in any integer type
Float = NDArray[np.float64]
Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]
Mask = NDArray[np.bool_]
UInt8 = NDArray[np.uint8]
UInt32 = NDArray[np.uint32]
UInt64 = NDArray[np.uint64]
