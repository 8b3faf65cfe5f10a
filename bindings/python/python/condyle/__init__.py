"""Skeletal animation on NumPy arrays.

Load glTF characters and motion capture; get joints, matrices and skinned vertices of whole clips as float32
arrays.

>>> model = condyle.open("two_joints.glb")
>>> times = np.linspace(0.0, model.clips[0].end, 100)
>>> model.joints("bend", times).shape
(100, 2, 3)
>>> model.skin("bend", times).shape
(100, 20, 3)

Arrays
    Float32 arrays in C order are used without a copy, read-only or not. Other real numbers, memory orders and
    lists are converted. ``out=`` is written in place and must be a float32 array (uint8 for pictures) in C
    order with the right shape. Invalid arguments raise `Error` with the expected and the actual value.

Threads
    Other Python threads run during a call, and must not write to its arrays. ``threads=`` sets the number of
    threads that a call uses; None uses all cores. The results do not depend on it.

Numerics
    The fastest instruction set of the CPU is used. With ``CONDYLE_NUMERIC=portable`` in the environment,
    results are bit-identical on all machines.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._condyle import (
    Body,
    BodyModel,
    BodyMotion,
    Clip,
    Error,
    FileError,
    Frames,
    Library,
    Model,
    Primitive,
    Problem,
    Skeleton,
    __version__,
    add,
    aim,
    blend,
    chain,
    compare,
    difference,
    error_bound,
    forward_kinematics,
    from_bytes,
    from_matrices,
    interpolate,
    join,
    nlerp,
    open,
    retarget,
    rig,
    sample_frames,
    slerp,
    to_matrices,
    two_bone,
)
from ._pictures import Picture

if TYPE_CHECKING:
    from . import dask as dask
    from . import jobs as jobs
    from . import ray as ray

# Imported on first use, because most programs do not need their dependencies.
_LATER = ("dask", "jobs", "ray")

__all__ = [
    "Body",
    "BodyModel",
    "BodyMotion",
    "Clip",
    "Difference",
    "Error",
    "FileError",
    "Frames",
    "Library",
    "Model",
    "Picture",
    "Place",
    "Poses",
    "Primitive",
    "Problem",
    "Skeleton",
    "Vertices",
    "__version__",
    "add",
    "aim",
    "blend",
    "chain",
    "compare",
    "difference",
    "error_bound",
    "forward_kinematics",
    "from_bytes",
    "from_matrices",
    "interpolate",
    "join",
    "nlerp",
    "open",
    "retarget",
    "rig",
    "sample_frames",
    "slerp",
    "to_matrices",
    "two_bone",
]


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})


class Poses(NamedTuple):
    """Local transforms.

    `rotations` (..., 4) are quaternions x, y, z, w. `translations` and `scales` are (..., 3).
    """

    rotations: NDArray[np.float32]
    translations: NDArray[np.float32]
    scales: NDArray[np.float32]


class Vertices(NamedTuple):
    """Skinned vertices.

    `positions` and `normals` are (T, V, 3), `tangents` are (T, V, 4). Fields that were not requested hold
    None.
    """

    positions: NDArray[np.float32]
    normals: NDArray[np.float32] | None = None
    tangents: NDArray[np.float32] | None = None


class Place(NamedTuple):
    """Time and location of the largest distance: a vertex of a primitive of the first model, or a joint."""

    seconds: float
    mesh: str | None = None
    primitive: int | None = None
    vertex: int | None = None
    joint: str | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Difference:
    """Distance between two models while a clip plays, in metres. Returned by `compare`.

    Attributes
    ----------
    `name` : str
        Name of the clip. Empty for models without clips.
    `worst` : float
        Largest distance between a vertex and its counterpart.
    `where` : Place
        Time and location of `worst`.
    percentile_99 : float
        99th percentile of the distances of all vertices at all times, at most 1/2048 too large.
    `mean_of_max` : float
        Mean of `distances`.
    `times` : ndarray of float64, shape (T,)
        Compared times in seconds.
    `distances` : ndarray of float64, shape (T,)
        Largest distance at each time.
    `paired` : "order", "place" or "joints"
        Vertices are paired by order or by rest position. Otherwise joints are compared.
    `pairs` : int
        Number of paired vertices of the first model, or of paired joints.
    `unpaired` : tuple of int
        Number of vertices or joints of each model without a counterpart.
    `reach` : float or None
        Radius in metres of the compared ball around each joint. None for vertices.
    `unknown` : tuple of tuples of str
        Names of the joints of each model that have no counterpart and were not compared.
    """

    name: str
    worst: float
    where: Place
    percentile_99: float
    mean_of_max: float
    times: NDArray[np.float64]
    distances: NDArray[np.float64]
    paired: Literal["order", "place", "joints"]
    pairs: int
    unpaired: tuple[int, int]
    reach: float | None = None
    unknown: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())

    def __repr__(self) -> str:
        what = "joints" if self.paired == "joints" else f"vertices paired by {self.paired}"
        name = self.name.replace('"', '\\"')
        return f'<condyle.Difference "{name}": {self.worst:.3g} m at {len(self.times)} moments, {self.pairs} {what}>'
