import os
from collections.abc import Sequence
from typing import Any, Literal, Protocol, final, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import Difference, Picture, Poses, Vertices

__all__ = [
    "Body",
    "BodyModel",
    "BodyMotion",
    "Clip",
    "Error",
    "FileError",
    "Library",
    "Model",
    "Primitive",
    "Problem",
    "Skeleton",
    "__version__",
    "_picture_file",
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

_Array = NDArray[np.float32]
class _Bar(Protocol):
    def update(self, n: int, /) -> object: ...

_Effort = Literal["fast", "normal", "best"]
_Skinning = Literal["linear", "dual"]
_Arrays = tuple[_Array, _Array, _Array]
_ClipLike = int | str | Clip | None

__version__: str

class Error(ValueError): ...

class FileError(Error):
    problems: list[Problem]

@final
class Problem:
    def __new__(cls, severity: str, path: str, count: int, what: str, action: str) -> Problem: ...
    @property
    def severity(self) -> str: ...
    @property
    def path(self) -> str: ...
    @property
    def count(self) -> int: ...
    @property
    def what(self) -> str: ...
    @property
    def action(self) -> str: ...
    def __getnewargs__(self) -> tuple[str, str, int, str, str]: ...

@final
class Skeleton:
    def __new__(
        cls,
        parents: Sequence[int] | NDArray[np.integer],
        *,
        names: Sequence[str] | None = None,
        rotations: ArrayLike | None = None,
        translations: ArrayLike | None = None,
        scales: ArrayLike | None = None,
    ) -> Skeleton: ...
    @property
    def names(self) -> list[str]: ...
    @property
    def parents(self) -> NDArray[np.int32]: ...
    @property
    def rest(self) -> Poses: ...
    def index(self, name: str) -> int: ...
    def to_bytes(self) -> bytes: ...
    @staticmethod
    def from_bytes(data: bytes) -> Skeleton: ...
    def __len__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...

@final
class Clip:
    @property
    def name(self) -> str: ...
    @property
    def start(self) -> float: ...
    @property
    def end(self) -> float: ...
    @property
    def duration(self) -> float: ...
    @property
    def skeleton(self) -> Skeleton: ...
    @property
    def compressed(self) -> bool: ...
    @property
    def rate(self) -> float | None: ...
    @property
    def times(self) -> NDArray[np.float64]: ...
    @property
    def extras(self) -> list[str]: ...
    def sample(
        self, times: ArrayLike, *, out: Poses | _Arrays | None = None, threads: int | None = 1
    ) -> Poses: ...
    def encode(
        self,
        budget: float = 0.0005,
        *,
        shell: float,
        effort: _Effort = "normal",
        rate: float | None = None,
        progress: _Bar | None = None,
    ) -> Clip: ...
    def retime(
        self,
        start: float | None = None,
        end: float | None = None,
        *,
        duration: float | None = None,
        speed: float | None = None,
        rate: float | None = None,
    ) -> Clip: ...
    @staticmethod
    def from_poses(
        skeleton: Skeleton,
        times: ArrayLike,
        rotations: ArrayLike | None = None,
        translations: ArrayLike | None = None,
        scales: ArrayLike | None = None,
        *,
        name: str = "",
    ) -> Clip: ...
    def plot(
        self,
        count: int = 8,
        *,
        size: tuple[int, int] = (240, 300),
        yaw: float = 35.0,
        pitch: float = 12.0,
        progress: _Bar | None = None,
    ) -> Picture: ...
    def to_bytes(self) -> bytes: ...
    @staticmethod
    def from_bytes(data: bytes) -> Clip: ...

@final
class Primitive:
    @property
    def name(self) -> str: ...
    @property
    def node(self) -> int: ...
    @property
    def mesh(self) -> int: ...
    @property
    def index(self) -> int: ...
    @property
    def start(self) -> int: ...
    @property
    def stop(self) -> int: ...
    @property
    def slice(self) -> slice: ...
    @property
    def skinned(self) -> bool: ...
    @property
    def in_default_scene(self) -> bool: ...
    @property
    def has_normals(self) -> bool: ...
    @property
    def has_tangents(self) -> bool: ...
    @property
    def triangles(self) -> NDArray[np.uint32]: ...
    def __len__(self) -> int: ...

@final
class Model:
    @property
    def name(self) -> str: ...
    @property
    def skeleton(self) -> Skeleton: ...
    @property
    def clips(self) -> tuple[Clip, ...]: ...
    @property
    def primitives(self) -> tuple[Primitive, ...]: ...
    @property
    def vertex_count(self) -> int: ...
    @property
    def problems(self) -> tuple[Problem, ...]: ...
    @property
    def unit(self) -> float | None: ...
    def joints(
        self, clip: _ClipLike, times: ArrayLike, *, out: _Array | None = None, threads: int | None = 1
    ) -> _Array: ...
    def matrices(
        self, clip: _ClipLike, times: ArrayLike, *, out: _Array | None = None, threads: int | None = 1
    ) -> _Array: ...
    @overload
    def skin(
        self,
        clip: _ClipLike,
        times: ArrayLike,
        *,
        normals: Literal[False] = False,
        tangents: Literal[False] = False,
        out: _Array | None = None,
        threads: int | None = 1,
        progress: _Bar | None = None,
    ) -> _Array: ...
    @overload
    def skin(
        self,
        clip: _ClipLike,
        times: ArrayLike,
        *,
        normals: Literal[True],
        tangents: bool = False,
        out: Vertices | None = None,
        threads: int | None = 1,
        progress: _Bar | None = None,
    ) -> Vertices: ...
    @overload
    def skin(
        self,
        clip: _ClipLike,
        times: ArrayLike,
        *,
        normals: bool = False,
        tangents: Literal[True],
        out: Vertices | None = None,
        threads: int | None = 1,
        progress: _Bar | None = None,
    ) -> Vertices: ...
    def encode(
        self,
        clip: int | str | Clip,
        budget: float = 0.0005,
        *,
        shell: float = 0.03,
        effort: _Effort = "normal",
        rate: float | None = None,
        progress: _Bar | None = None,
    ) -> Clip: ...
    def pack(
        self,
        budget: float = 0.0005,
        *,
        shell: float = 0.03,
        effort: _Effort = "normal",
        progress: _Bar | None = None,
    ) -> bytes: ...
    def with_clips(self, clips: Sequence[Clip]) -> Model: ...
    def render(
        self,
        clip: _ClipLike = None,
        times: ArrayLike | None = None,
        *,
        size: tuple[int, int] = (640, 640),
        yaw: float = 35.0,
        pitch: float = 12.0,
        skeleton: bool = False,
        bounds: bool = False,
        hitboxes: bool = False,
        skinning: _Skinning = "linear",
        out: NDArray[np.uint8] | None = None,
        threads: int | None = 1,
        progress: _Bar | None = None,
    ) -> Picture: ...
    def sheet(
        self,
        clip: _ClipLike,
        count: int = 8,
        *,
        size: tuple[int, int] = (240, 300),
        yaw: float = 35.0,
        pitch: float = 12.0,
        skeleton: bool = False,
        bounds: bool = False,
        hitboxes: bool = False,
        skinning: _Skinning = "linear",
        progress: _Bar | None = None,
    ) -> Picture: ...

@final
class Library:
    def __new__(cls, path: str | os.PathLike[str]) -> Library: ...
    @property
    def path(self) -> str: ...
    @property
    def names(self) -> list[str]: ...
    @property
    def skeletons(self) -> list[Skeleton]: ...
    @property
    def units(self) -> list[float | None]: ...
    @property
    def skeleton_indices(self) -> NDArray[np.int64]: ...
    @property
    def columns(self) -> dict[str, list[Any]]: ...
    @property
    def left_out(self) -> list[dict[str, str]]: ...
    def index(self, name: str) -> int: ...
    def skeleton(self, clip: int | str) -> Skeleton: ...
    def sample(
        self,
        indices: ArrayLike,
        times: ArrayLike,
        *,
        out: Poses | _Arrays | None = None,
        threads: int | None = 1,
    ) -> Poses: ...
    def sample_ragged(
        self, indices: ArrayLike, times: ArrayLike, *, threads: int | None = 1
    ) -> tuple[Poses, NDArray[np.int64]]: ...
    def __getitem__(self, clip: int | str, /) -> Clip: ...
    def __len__(self) -> int: ...
    def __reduce__(self) -> tuple[type[Library], tuple[str]]: ...

@final
class BodyModel:
    def __new__(cls, path: str | os.PathLike[str]) -> BodyModel: ...
    @property
    def joint_count(self) -> int: ...
    @property
    def vertex_count(self) -> int: ...
    @property
    def shape_count(self) -> int: ...
    @property
    def triangles(self) -> NDArray[np.uint32]: ...
    def shaped(self, betas: ArrayLike | None = None) -> Body: ...

@final
class Body:
    @property
    def skeleton(self) -> Skeleton: ...
    @property
    def positions(self) -> _Array: ...
    def vertices(
        self,
        rotations: ArrayLike,
        translations: ArrayLike | None = None,
        *,
        out: _Array | None = None,
        threads: int | None = 1,
    ) -> _Array: ...

@final
class BodyMotion:
    def __new__(cls, path: str | os.PathLike[str]) -> BodyMotion: ...
    @property
    def rate(self) -> float: ...
    @property
    def betas(self) -> _Array: ...
    @property
    def gender(self) -> str: ...
    def clip(self, body: Body) -> Clip: ...
    def __len__(self) -> int: ...

def _picture_file(pixels: NDArray[np.uint8], fps: float, name: str | os.PathLike[str]) -> bytes: ...
def open(
    path: str | os.PathLike[str],
    *,
    model: str | None = None,
    body: Body | None = None,
    unit: float | None = None,
    up: Literal["y", "z"] = "y",
) -> Model: ...
def from_bytes(
    data: bytes,
    name: str = "bytes",
    *,
    model: str | None = None,
    body: Body | None = None,
    unit: float | None = None,
    up: Literal["y", "z"] = "y",
) -> Model: ...
def compare(
    a: Model,
    b: Model,
    clip: _ClipLike = None,
    *,
    fps: float | None = None,
    unit: float | None = None,
    shell: float | None = None,
    threads: int | None = 1,
    progress: _Bar | None = None,
) -> list[Difference]: ...
def forward_kinematics(
    skeleton: Skeleton | Sequence[int] | NDArray[np.integer],
    rotations: ArrayLike,
    translations: ArrayLike | None = None,
    scales: ArrayLike | None = None,
    *,
    out: _Array | None = None,
    threads: int | None = 1,
) -> _Array: ...
def to_matrices(
    rotations: ArrayLike,
    translations: ArrayLike | None = None,
    scales: ArrayLike | None = None,
    *,
    out: _Array | None = None,
    threads: int | None = 1,
) -> _Array: ...
def from_matrices(
    matrices: ArrayLike, *, out: Poses | _Arrays | None = None, threads: int | None = 1
) -> Poses: ...
def blend(
    skeleton: Skeleton,
    poses: Sequence[Poses | _Arrays],
    weights: ArrayLike,
    *,
    out: Poses | _Arrays | None = None,
    threads: int | None = 1,
) -> Poses: ...
def difference(
    poses: Poses | _Arrays,
    reference: Poses | _Arrays,
    *,
    out: Poses | _Arrays | None = None,
    threads: int | None = 1,
) -> Poses: ...
def add(
    base: Poses | _Arrays,
    difference: Poses | _Arrays,
    amount: float = 1.0,
    *,
    out: Poses | _Arrays | None = None,
    threads: int | None = 1,
) -> Poses: ...
def interpolate(
    a: ArrayLike,
    b: ArrayLike,
    t: ArrayLike,
    *,
    method: str = "slerp9",
    shorter: bool = True,
    extrapolate: bool = False,
    out: _Array | None = None,
    threads: int | None = 1,
) -> _Array: ...
def join(
    path: str | os.PathLike[str],
    parts: Sequence[bytes | str | os.PathLike[str]],
    *,
    names: Sequence[str] | None = None,
    units: Sequence[float | None] | None = None,
    told: str | None = None,
) -> None: ...
def slerp(
    a: ArrayLike, b: ArrayLike, t: ArrayLike, *, out: _Array | None = None, threads: int | None = 1
) -> _Array: ...
def nlerp(
    a: ArrayLike, b: ArrayLike, t: ArrayLike, *, out: _Array | None = None, threads: int | None = 1
) -> _Array: ...
def error_bound(method: str, max_angle: float) -> float: ...
def two_bone(
    skeleton: Skeleton,
    poses: Poses | _Arrays,
    joints: Sequence[int | str],
    goals: ArrayLike,
    *,
    poles: ArrayLike | None = None,
    orientations: ArrayLike | None = None,
    soft: float = 0.0,
    weight: float = 1.0,
    out: Poses | _Arrays | None = None,
    threads: int | None = 1,
) -> Poses: ...
def aim(
    skeleton: Skeleton,
    poses: Poses | _Arrays,
    joint: int | str,
    axis: Sequence[float],
    targets: ArrayLike,
    *,
    origin: Sequence[float] = ...,
    up: tuple[Sequence[float], Sequence[float]] | None = None,
    weight: float = 1.0,
    out: Poses | _Arrays | None = None,
    threads: int | None = 1,
) -> Poses: ...
def chain(
    skeleton: Skeleton,
    poses: Poses | _Arrays,
    joints: Sequence[int | str],
    goals: ArrayLike,
    *,
    orientations: ArrayLike | None = None,
    offset: Sequence[float] = ...,
    method: Literal["least_squares", "cyclic_descent", "fabrik"] = "least_squares",
    tolerance: float = 1e-4,
    iterations: int = 50,
    weight: float = 1.0,
    out: Poses | _Arrays | None = None,
    threads: int | None = 1,
) -> Poses: ...
