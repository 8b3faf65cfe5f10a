"""Skeletal animation on NumPy arrays.

Files go in; joints, matrices and skinned vertices come out, as float32 arrays of whole clips at once.

>>> model = condyle.open("two_joints.glb")
>>> times = np.linspace(0.0, model.clips[0].end, 100)
>>> model.joints("bend", times).shape
(100, 2, 3)
>>> model.skin("bend", times).shape
(100, 20, 3)

Arrays of float32 in C order are taken where they lie, read-only ones too; other real numbers and other orders are
converted to that first. ``out=`` is written in place, and has to be such an array of the right shape, of uint8 for pictures. What is wrong raises `Error`
with what was found and what was wanted. While a call computes, other Python threads run; they must not write the arrays that it
was given. ``threads=`` is on how many threads it computes itself, None for as many as the machine runs at once: the numbers are the same for any.

The instruction set is the best of the machine. With ``CONDYLE_NUMERIC=portable`` in the environment the numbers have the same bits on every
machine.
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
    slerp,
    to_matrices,
    two_bone,
)
from ._pictures import Picture

if TYPE_CHECKING:
    from . import dask as dask
    from . import jobs as jobs
    from . import ray as ray

# Imported when they are first used: they need more modules than most programs do.
_LATER = ("dask", "jobs", "ray")

__all__ = [
    "Body",
    "BodyModel",
    "BodyMotion",
    "Clip",
    "Difference",
    "Error",
    "FileError",
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
    """Local transforms: rotations (..., 4) as quaternions x, y, z, w, translations (..., 3) and scales (..., 3)."""

    rotations: NDArray[np.float32]
    translations: NDArray[np.float32]
    scales: NDArray[np.float32]


class Vertices(NamedTuple):
    """Vertices: positions (T, V, 3), normals (T, V, 3) and tangents (T, V, 4), None for what was not asked for."""

    positions: NDArray[np.float32]
    normals: NDArray[np.float32] | None = None
    tangents: NDArray[np.float32] | None = None


class Place(NamedTuple):
    """Where and when two models are furthest apart: a vertex of a primitive of the first one, or the joint."""

    seconds: float
    mesh: str | None = None
    primitive: int | None = None
    vertex: int | None = None
    joint: str | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Difference:
    """How far two models are apart while a clip plays, in metres: what `compare` finds.

    `worst` is the largest distance between a vertex and its counterpart, and `where` is its Place. `percentile_99` is the 99th percentile
    over all vertices and moments, at most 1 in 2048 too large, and `mean_of_max` the mean of `distances` (T,): the largest one at each of
    `times` (T,), in seconds. `pairs` is how many vertices of the first model have a counterpart, by their "order" or their "place" at
    rest, or how many joints where `paired` is "joints"; `unpaired` is how many of each model have none. `unknown` are the names of
    joints without a counterpart, of each model: nothing is known of their distance. Of models without clips `name` is "".
    `reach` is the radius in metres of the ball around each joint that is compared, None for vertices.
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
