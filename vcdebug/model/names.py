"""Aliases for the primitive types that packages exchange."""

import numpy as np
import numpy.typing as npt

TaskId = str
"""A pod's UID: the key of a task in its job."""
TaskKey = str
"""`namespace/name` of a pod: the key of a task on its node, and its name in a trace."""
JobId = str
"""`namespace/name` of a PodGroup."""
QueueName = str
NodeName = str
SubJobId = str
Row = int
"""Position of a node in the NodeTable."""
Seq = int
"""Number of an event in a recording, from 1."""

FloatArray = npt.NDArray[np.float64]
KeptScores = npt.NDArray[np.float64 | np.float32]
"""Scores as float32 if that is exact, else float64: read only, or added to float64 scores."""
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
Codes = npt.NDArray[np.uint16]
"""One verdict per node row: 0 fits, otherwise a code of the session's ReasonTable."""
