import os
from collections.abc import Iterator, Sequence
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

class Error(ValueError):
    """What was asked for cannot be done: the message says what was found and what was expected."""

class FileError(Error):
    """A file that cannot be used. `problems` holds everything that is wrong with it, errors first."""

    problems: list[Problem]

@final
class Problem:
    """What is wrong with a file, where, and what was done about it."""

    def __new__(cls, severity: str, place: str, count: int, what: str, action: str) -> Problem: ...
    @property
    def severity(self) -> str:
        """"error", "warning" or "note"."""
    @property
    def place(self) -> str:
        """The first place: a JSON pointer, a line, or an array; empty for the whole file."""
    @property
    def count(self) -> int:
        """At how many places it was found."""
    @property
    def what(self) -> str:
        """What was found at the first place, and what was expected."""
    @property
    def action(self) -> str:
        """What was done about it, or what can be done."""
    def __getnewargs__(self) -> tuple[str, str, int, str, str]: ...

@final
class Skeleton:
    """The joints of a character, parents before their children.

    `parents` holds the index of each joint's parent, -1 for a root. The rest pose is what `rotations` (quaternions x, y, z, w),
    `translations` and `scales` say, one row for each joint; without them it is the identity.

    >>> arm = condyle.Skeleton([-1, 0], names=["shoulder", "elbow"], translations=[[0, 0, 0], [0, 1, 0]])
    >>> len(arm), arm.names, arm.parents.tolist()
    (2, ['shoulder', 'elbow'], [-1, 0])
    >>> arm.rest.translations[1].tolist()
    [0.0, 1.0, 0.0]
    """

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
    def names(self) -> list[str]:
        """One name for each joint; neither unique nor necessarily there."""
    @property
    def parents(self) -> NDArray[np.int32]:
        """The index of each joint's parent, which is smaller than the joint's own; -1 for a root. An int32 array."""
    @property
    def rest(self) -> Poses:
        """The local transforms at rest: rotations (J, 4), translations (J, 3) and scales (J, 3)."""
    def index(self, name: str) -> int:
        """The index of the first joint of a name.

        >>> condyle.Skeleton([-1, 0], names=["hips", "spine"]).index("spine")
        1
        """
    def to_bytes(self) -> bytes:
        """As bytes that `Skeleton.from_bytes` reads: a file .condyle. Pickles are made of them."""
    @staticmethod
    def from_bytes(data: bytes) -> Skeleton:
        """From what `to_bytes` has made."""
    def __len__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...

@final
class Clip:
    """Poses of a skeleton over time, as authored or compressed. A model's `clips` are such; `encode` compresses one."""

    @property
    def name(self) -> str:
        """Its name in the file, which may be empty."""
    @property
    def start(self) -> float:
        """The time of its first key, in seconds. Before it the first key holds."""
    @property
    def end(self) -> float:
        """The time of its last key, in seconds. After it the last key holds."""
    @property
    def duration(self) -> float:
        """Seconds from its first key to its last."""
    @property
    def skeleton(self) -> Skeleton:
        """The joints that it moves."""
    @property
    def compressed(self) -> bool:
        """Whether it is compressed."""
    @property
    def rate(self) -> float | None:
        """Frames a second that it was compressed at, None for a clip as authored."""
    @property
    def shell(self) -> float | None:
        """The radius around joints within which its bound holds, in the skeleton's units: the `shell` of
        `encode`.

        None for a clip as authored, where its file does not state it, and where every joint has vertices.

        >>> condyle.open("two_joints.glb").clips[0].encode(shell=0.25).shell
        0.25
        """
    @property
    def times(self) -> NDArray[np.float64]:
        """The times of all its keys, or of its frames if it is compressed, in seconds and rising: those of the frames of motion capture.

        >>> clip = condyle.open("two_joints.glb").clips[0]
        >>> clip.times.tolist(), len(clip.sample(clip.times).rotations)
        ([0.25, 0.5, 0.75, 1.0, 1.5, 1.75], 6)
        """
    @property
    def extras(self) -> list[str]:
        """What it holds besides poses, which `sample` leaves out: any of "morph weights and tracks", "root motion" and "events"."""
    def sample(
        self, times: ArrayLike, *, out: Poses | _Arrays | None = None, threads: int | None = 1
    ) -> Poses:
        """The local transforms of all joints at each of `times`, in seconds: Poses of rotations (T, J, 4), translations (T, J, 3) and scales (T, J, 3).

        `out` is a Poses to write them to, or three such arrays.

        >>> clip = condyle.open("two_joints.glb").clips[0]
        >>> clip.sample(np.linspace(clip.start, clip.end, 10)).rotations.shape
        (10, 2, 4)
        """
    def encode(
        self,
        budget: float = 0.0005,
        *,
        shell: float,
        effort: _Effort = "normal",
        rate: float | None = None,
        progress: _Bar | None = None,
    ) -> Clip:
        """The clip compressed: no point within `shell` of a joint is farther than `budget` from its place, both in the skeleton's units.

        `shell` has no default: a clip knows no mesh and no unit. In metres 0.03 suits a person without a mesh; `Model.encode` bounds every vertex
        instead. `effort` is "fast", "normal" or "best"; `rate` is in frames a second, or None for the authored one. `progress` is a bar whose total
        is 100: tqdm's, or anything else with an `update`.

        >>> small = condyle.open("two_joints.glb").clips[0].encode(1e-3, shell=0.03)
        >>> small.compressed, len(pickle.dumps(small)) < 2000
        (True, True)
        """
    def retime(
        self,
        start: float | None = None,
        end: float | None = None,
        *,
        duration: float | None = None,
        speed: float | None = None,
        rate: float | None = None,
        name: str | None = None,
    ) -> Clip:
        """A clip as authored of a part of this one, from `start` to `end` in its seconds, that begins at 0: stretched to `duration` seconds or played at
        `speed`, and with keys at `rate` frames a second, if these are given.

        A negative speed plays it backwards: steps then switch at the same moments, so that each value holds for as long as it did. Keys at the cut are
        what `sample` gives there, and the curve between them is the same one; at a `rate`, lines are straight between frames, with one more at the end
        if that is no frame. A compressed clip is sampled at its own rate first, without what `extras` names. `name` is the new clip's, without it that of this one.

        >>> clip = condyle.open("two_joints.glb").clips[0]
        >>> back = clip.retime(0.25, 0.75, speed=-2)
        >>> back.start, back.end, bool(np.allclose(back.sample([0.0]).rotations, clip.sample([0.75]).rotations, atol=1e-6))
        (0.0, 0.25, True)
        """
    @staticmethod
    def from_poses(
        skeleton: Skeleton,
        times: ArrayLike,
        rotations: ArrayLike | None = None,
        translations: ArrayLike | None = None,
        scales: ArrayLike | None = None,
        *,
        name: str = "",
    ) -> Clip:
        """A clip of your own arrays: at each of `times`, in seconds and rising, `rotations` (T, J, 4), unit quaternions x, y, z, w, `translations` (T, J, 3)
        and `scales` (T, J, 3), and straight lines between them. What is not given is as the skeleton has it at rest.

        >>> arm = condyle.Skeleton([-1])
        >>> clip = condyle.Clip.from_poses(arm, [0, 1], translations=[[[0, 0, 0]], [[0, 4, 0]]], name="rise")
        >>> clip.sample([0.25]).translations.tolist()
        [[[0.0, 1.0, 0.0]]]
        """
    def plot(
        self,
        count: int = 8,
        *,
        size: tuple[int, int] = (240, 300),
        yaw: float = 35.0,
        pitch: float = 12.0,
        progress: _Bar | None = None,
    ) -> Picture:
        """A contact sheet of its bones at `count` evenly spaced moments: (H, W, 3) of uint8, which a notebook shows. `Model.sheet` draws a character, and its
        `size`, `yaw`, `pitch` and `progress` are the same; but where the front of a clip's bones is nobody says, so they are seen from +Z.

        >>> condyle.open("two_joints.glb").clips[0].plot(4, size=(100, 120)).shape
        (120, 400, 3)
        """
    def save(self, path: str | os.PathLike[str], *, rate: float | None = None) -> None:
        """Writes it to a file that other programs read, whole or not at all: .bvh, .glb of the joints alone, or .condyle if it is compressed.

        A BVH has `rate` frames a second; without it the clip's own, which its keys must then have. Of a compressed clip a .glb has the fewest
        keys within a 16th of the clip's bound. What the file has no place for is left out with a UserWarning: in a BVH scales of joints and
        what `extras` names, in a .glb events. `Model.save` writes meshes too.

        >>> clip = condyle.open("two_joints.glb").clips[0]
        >>> clip.save("bend.bvh", rate=60)
        >>> condyle.open("bend.bvh").clips[0]
        <condyle.Clip "bend": 1.500 s, 2 joints>
        """
    def to_bytes(self) -> bytes:
        """As bytes that `Clip.from_bytes` reads: a file .condyle of the skeleton and this clip. A clip as authored has to be encoded first; pickles,
        which can go to other processes, are made of either.
        """
    @staticmethod
    def from_bytes(data: bytes) -> Clip:
        """From what `to_bytes` has made: the first clip of a file .condyle."""

@final
class Primitive:
    """A part of a mesh at a node: the vertices of one material."""

    @property
    def name(self) -> str:
        """The name of the node, or "node 12"."""
    @property
    def node(self) -> int:
        """The index of the node in the document."""
    @property
    def mesh(self) -> int:
        """The index of the mesh in the document."""
    @property
    def index(self) -> int:
        """Its own index in the mesh."""
    @property
    def start(self) -> int:
        """The index of its first vertex among those of all primitives."""
    @property
    def stop(self) -> int:
        """One more than the index of its last vertex."""
    @property
    def slice(self) -> slice:
        """Where its vertices are among those of all primitives.

        >>> model = condyle.open("two_joints.glb")
        >>> model.skin(None, [0.0])[:, model.primitives[0].slice].shape
        (1, 20, 3)
        """
    @property
    def skinned(self) -> bool:
        """Whether a skin moves it, instead of its node."""
    @property
    def in_default_scene(self) -> bool:
        """Whether the document's default scene shows it."""
    @property
    def has_normals(self) -> bool:
        """Whether it has normals."""
    @property
    def has_tangents(self) -> bool:
        """Whether it has tangents."""
    @property
    def triangles(self) -> NDArray[np.uint32]:
        """The corners of its triangles, counted from its own first vertex: uint32, (N, 3). Points and lines have none."""
    def __len__(self) -> int: ...

@final
class Model:
    """A character or a motion as `open` has read it: its skeleton, its clips and its meshes."""

    @property
    def name(self) -> str:
        """What it was opened as."""
    @property
    def skeleton(self) -> Skeleton:
        """All joints, parents before their children."""
    @property
    def clips(self) -> tuple[Clip, ...]:
        """All clips, in the order of the file."""
    @property
    def primitives(self) -> tuple[Primitive, ...]:
        """All meshes in pieces of one material, in the order of nodes and primitives: `primitive.slice` is where its vertices are in what `skin` returns."""
    @property
    def vertex_count(self) -> int:
        """How many vertices all primitives have."""
    @property
    def problems(self) -> tuple[Problem, ...]:
        """What was odd about the file and how it was repaired: warnings first, then notes."""
    @property
    def unit(self) -> float | None:
        """How many metres one of its units is, None where the file does not say."""
    def joints(
        self, clip: _ClipLike, times: ArrayLike, *, out: _Array | None = None, threads: int | None = 1
    ) -> _Array:
        """Where the joints are at each of `times`, in seconds: (T, J, 3), in model space.

        `clip` is an index, a name, a Clip of this skeleton, or None for the pose at rest.

        >>> model = condyle.open("two_joints.glb")
        >>> model.joints(None, [0.0]).round(3).tolist()
        [[[0.0, 0.0, 0.0], [0.0, 1.0, 0.0]]]
        """
    def matrices(
        self, clip: _ClipLike, times: ArrayLike, *, out: _Array | None = None, threads: int | None = 1
    ) -> _Array:
        """The model matrices of the joints at each of `times`: (T, J, 3, 4), rows of a 3 by 4 matrix each. `clip` is as in `joints`.

        >>> condyle.open("two_joints.glb").matrices("bend", [0.0]).shape
        (1, 2, 3, 4)
        """
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
    ) -> _Array:
        """The vertices at each of `times`, in world space: positions (T, V, 3), all primitives one after another. `clip` is as in `joints`; morph targets
        are applied.

        With `normals` or `tangents` the result is a Vertices of positions, normals (T, V, 3) and tangents (T, V, 4) with the handedness of the
        bitangent, None where they were not asked for. They are 0 for primitives that have none. A normal is
        turned by the blend of its joints' inverse transposes, which without uneven scale is the blended matrix, as the library does by
        default; a tangent by the blended matrix. `out` is an array to write positions to, or then a Vertices. `progress` is a bar with a step for each of `times`: tqdm's, or anything else with an `update`.

        >>> model = condyle.open("two_joints.glb")
        >>> model.skin("bend", np.linspace(0, 1, 5)).shape
        (5, 20, 3)
        >>> model.skin(None, [0.0], normals=True).normals.shape
        (1, 20, 3)
        """
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
    @overload
    def skin(
        self,
        clip: _ClipLike,
        times: ArrayLike,
        *,
        normals: bool = False,
        tangents: bool = False,
        out: _Array | Vertices | None = None,
        threads: int | None = 1,
        progress: _Bar | None = None,
    ) -> _Array | Vertices: ...
    def encode(
        self,
        clip: int | str | Clip,
        budget: float = 0.0005,
        *,
        shell: float | None = None,
        effort: _Effort = "normal",
        rate: float | None = None,
        progress: _Bar | None = None,
    ) -> Clip:
        """A clip of this model compressed, within `budget` of the authored one at every vertex, in the units of the model; around joints without vertices it
        holds at the distance `shell`, without one 3 cm by `unit`. `clip`, `effort`, `rate` and `progress` are as in `joints` and `Clip.encode`.

        >>> condyle.open("two_joints.glb").encode("bend", 1e-3)
        <condyle.Clip "bend": 1.500 s, 2 joints, compressed>
        """
    def pack(
        self,
        budget: float = 0.0005,
        *,
        shell: float | None = None,
        effort: _Effort = "normal",
        progress: _Bar | None = None,
    ) -> bytes:
        """The model as the bytes of a file .condyle, which `open` and `from_bytes` read: clips that are not compressed yet are encoded with `budget` and `shell`, as
        `encode` has them. Besides them it holds the meshes, and the document without its animations, of which images and materials are.
        `progress` is a bar with 100 steps for each of these.

        >>> packed = condyle.from_bytes(condyle.open("two_joints.glb").pack())
        >>> packed.clips[0].compressed
        True
        """
    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes it with all its clips to a file that other programs read, whole or not at all: .glb, with its meshes, materials and images; .bvh, if
        it has one clip; or .condyle, which is `pack` with its defaults.

        Of compressed clips a .glb has the fewest keys within a 16th of the clip's bound. What the file has no place for is left out with a UserWarning, as `Clip.save` says.

        >>> model = condyle.open("two_joints.glb")
        >>> model.with_clips([model.encode("bend")]).save("small.glb")
        >>> condyle.open("small.glb")
        <condyle.Model small.glb: 2 joints, 1 clip, 20 vertices>
        """
    def with_clips(self, clips: Sequence[Clip]) -> Model:
        """The same model with these clips of its skeleton in place of its own, to be packed, compared or handed on.

        >>> model = condyle.open("two_joints.glb")
        >>> coarse = model.with_clips([model.encode("bend", 0.05)])
        >>> condyle.compare(model, coarse)[0].worst < 0.05
        True
        """
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
    ) -> Picture:
        """Pictures of it: (H, W, 3) of uint8 at one of `times`, or (T, H, W, 3) at several, all through one camera that keeps the whole clip in view. Without
        `times` the clip's start is drawn, without a clip the pose at rest. A notebook shows what comes out, and its `save` writes a file.

        `size` is width and height in pixels; `yaw` and `pitch` say in degrees how far around the character from its front towards its left the
        camera is, and how far it looks down. `skeleton` draws the joints over the mesh, `bounds` and `hitboxes` what is around it; `skinning` is "linear" or
        "dual". `clip` and `progress` are as in `joints` and `skin`; what has no meshes is drawn as its bones. Images that cannot be drawn are warned of. The
        picture's `fps` is one by the mean step between `times`.

        >>> model = condyle.open("two_joints.glb")
        >>> picture = model.render("bend", 0.5, size=(320, 240))
        >>> picture.shape, picture.dtype
        ((240, 320, 3), dtype('uint8'))
        >>> model.render("bend", np.linspace(0, 1, 5), size=(64, 64), skeleton=True).save("bend.gif")
        """
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
    ) -> Picture:
        """A contact sheet of `count` evenly spaced moments of a clip, each of `size` and labelled with its time: (H, W, 3). The rest is as in `render`; `progress` has a step for each of them.

        >>> condyle.open("two_joints.glb").sheet("bend", 3, size=(120, 160)).shape
        (160, 360, 3)
        """

@final
class Library:
    """The clips of a file .condyle, as `condyle encode FOLDER` makes of a folder: mapped, so that a file of any size is opened in milliseconds,
    and what is not asked for takes no memory. Processes that map the same file share it, and a pickle is its path. The file must stay as it is while
    it is open: to write it anew, write another one and rename it, as `condyle encode FOLDER` does. A file that became shorter is refused by the next call;
    one that is cut short during a call ends the process (SIGBUS), as with any mapped file.

    >>> library = condyle.Library("motion.condyle")
    >>> len(library), library.names[0], library.skeleton(0)
    (1, 'bend', <condyle.Skeleton of 2 joints>)
    >>> library.sample([0, 0, 0], [0.0, 0.5, 1.0]).rotations.shape
    (3, 2, 4)
    """

    def __new__(cls, path: str | os.PathLike[str]) -> Library: ...
    @property
    def path(self) -> str:
        """The file."""
    @property
    def names(self) -> list[str]:
        """The names of all clips, in their order."""
    @property
    def skeletons(self) -> list[Skeleton]:
        """All skeletons. Clips of files with the same one share it."""
    @property
    def units(self) -> list[float | None]:
        """How many metres a unit of each of `skeletons` is, None where the file does not say."""
    @property
    def skeleton_indices(self) -> NDArray[np.int64]:
        """For each clip, which of `skeletons` it moves: an int64 array."""
    @property
    def columns(self) -> dict[str, list[Any]]:
        """What is known of the clips: a dict of lists with a value for each, such as "source", "tags", "seconds", "frames" and "error_max_m". Empty
        where the file says nothing.
        """
    @property
    def left_out(self) -> list[dict[str, str]]:
        """What could not be packed: a list of dicts with "source" and "why"."""
    def index(self, name: str) -> int:
        """The index of the clip of a name."""
    def skeleton(self, clip: int | str) -> Skeleton:
        """The skeleton that a clip moves, the clip by index or name."""
    def sample(
        self,
        indices: ArrayLike,
        times: ArrayLike,
        *,
        out: Poses | _Arrays | None = None,
        threads: int | None = 1,
    ) -> Poses:
        """One pose for each of `indices`, clips of the library, at as many `times`, in seconds: Poses of rotations (N, J, 4), translations (N, J, 3) and
        scales (N, J, 3). J is the most joints that one of these clips has; those that a skeleton lacks are the identity.

        Pairs may come in any order: they are sorted, so that a clip is read and checked once for each 131,072 of them. Checking takes some microseconds for every ten
        kilobytes of a clip, so many pairs in a call take less time each. Up to 64 clips that were asked for alone are kept as they were
        checked, unless they have more than 64 KiB: at most 4 MiB. The numbers are the same for any number of threads.

        >>> library = condyle.Library("motion.condyle")
        >>> library.sample([0, 0], [1.0, 0.0]).translations.shape
        (2, 2, 3)
        """
    def sample_ragged(
        self, indices: ArrayLike, times: ArrayLike, *, threads: int | None = 1
    ) -> tuple[Poses, NDArray[np.int64]]:
        """As `sample`, without what skeletons lack: Poses of all joints one after another, rotations (M, 4), translations (M, 3) and scales (M, 3), and
        offsets (N + 1,), int64: those of pair i are `offsets[i]:offsets[i + 1]`.

        >>> library = condyle.Library("motion.condyle")
        >>> poses, offsets = library.sample_ragged([0, 0], [1.0, 0.0])
        >>> poses.rotations.shape, offsets.tolist()
        ((4, 4), [0, 2, 4])
        """
    def __getitem__(self, clip: int | str, /) -> Clip: ...
    def __contains__(self, name: str, /) -> bool: ...
    def __iter__(self) -> Iterator[Clip]: ...
    def __len__(self) -> int: ...
    def __reduce__(self) -> tuple[type[Library], tuple[str]]: ...

@final
class BodyModel:
    """A body model in the `.npz` layout of the SMPL family: a mean shape, what a person's numbers and the rotations of a pose add to it, and how it is
    skinned. Files come from those who made the models, under their licences.
    """

    def __new__(cls, path: str | os.PathLike[str]) -> BodyModel: ...
    @property
    def joint_count(self) -> int:
        """How many joints it has."""
    @property
    def vertex_count(self) -> int:
        """How many vertices it has."""
    @property
    def shape_count(self) -> int:
        """How many numbers a person may have."""
    @property
    def triangles(self) -> NDArray[np.uint32]:
        """Three vertices for each triangle: (triangles, 3), uint32."""
    def shaped(self, betas: ArrayLike | None = None) -> Body:
        """The body of a person: `betas` are the first of their numbers, those that are missing are 0. Of more than the model has the first are used,
        with a UserWarning.
        """

@final
class Body:
    """The body of a person, which `BodyModel.shaped` makes."""

    @property
    def skeleton(self) -> Skeleton:
        """Its joints."""
    @property
    def positions(self) -> _Array:
        """The vertices at rest, (V, 3), metres."""
    def vertices(
        self,
        rotations: ArrayLike,
        translations: ArrayLike | None = None,
        *,
        out: _Array | None = None,
        threads: int | None = 1,
    ) -> _Array:
        """Where the vertices are, (T, V, 3): shape, pose correctives and skinning in one call.

        `rotations` are unit quaternions (T, J, 4) as x, y, z, w, of each joint on its parent. `translations` (T, 3) are where the root is, from where
        the model has it; without them it stays there. Batches are faster than one at a time.
        """

@final
class BodyMotion:
    """A motion in AMASS's `.npz` layout."""

    def __new__(cls, path: str | os.PathLike[str]) -> BodyMotion: ...
    @property
    def rate(self) -> float:
        """Frames per second."""
    @property
    def betas(self) -> _Array:
        """The numbers of the person who moved: float32."""
    @property
    def gender(self) -> str:
        """The model that is meant: "female", "male" or "neutral"; empty where the file does not say."""
    @property
    def problems(self) -> tuple[Problem, ...]:
        """What was odd about the file and how it was repaired."""
    def clip(self, body: Body) -> Clip:
        """The motion as a clip of a body's skeleton, which is sampled and compressed like any other. Joints are paired by the names that the layout of the
        motion gives them; a UserWarning reports what was repaired, and joints that turn but that the body lacks.
        """
    def __len__(self) -> int: ...

def _picture_file(pixels: NDArray[np.uint8], fps: float, name: str | os.PathLike[str]) -> bytes:
    """Pixels (H, W, 3), or of several frames (T, H, W, 3), as a file of the format that the extension of `name` says."""
def open(
    path: str | os.PathLike[str],
    *,
    model: str | None = None,
    body: Body | None = None,
    unit: float | None = None,
    up: Literal["y", "z"] = "y",
) -> Model:
    """The character or the motion in a file: .glb, .gltf, .vrm, .vrma, .condyle, .bvh or .npz.

    `model` names one of several in a .condyle. A .npz is a motion in AMASS's layout, of which `body` says who moves, or a body model
    of the SMPL family, of whose mean shape this is the skeleton alone: `BodyModel` has its vertices. What was odd but could be used is in `Model.problems`; what could not be used raises
    FileError, which has all that is wrong in its `problems`. OSError if the file is not there or cannot be read.

    `unit` is how many metres a unit of the file is: `Model.unit`, which `pack` stores and `compare` measures by; numbers stay as they are. `up` is the up
    axis of the file, "y" or "z": with "z" the motion is turned to +Y up, as files of some capture systems and AMASS need it. Of a .npz only the motion is
    turned, as body models stand along Y at rest; a .condyle that was turned before stays as it is, and other compressed clips cannot be turned.

    >>> model = condyle.open("two_joints.glb")
    >>> model.clips[0].name, len(model.skeleton)
    ('bend', 2)
    >>> model.joints("bend", [0.0, 0.5]).shape
    (2, 2, 3)
    """
def from_bytes(
    data: bytes,
    name: str = "bytes",
    *,
    model: str | None = None,
    body: Body | None = None,
    unit: float | None = None,
    up: Literal["y", "z"] = "y",
) -> Model:
    """The character or the motion in bytes, as `open` has it of a file; what is beside a .gltf is not found.

    >>> condyle.from_bytes(pathlib.Path("two_joints.glb").read_bytes())
    <condyle.Model bytes: 2 joints, 1 clip, 20 vertices>
    """
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
) -> list[Difference]:
    """How far the vertices of two models are apart while their clips play: a model and what was made of it, whatever program made it. A Difference
    for each clip of `a` that has a counterpart in `b`, or for `clip` alone: an index, a name or one of `a.clips`.

    Vertices are paired by their order where that leads to one place in the rest poses, else by their places there. Where less than half of
    those of each model can be paired, joints are compared: all points within `shell` metres of each, which is
    `Difference.reach`; None is the smallest `Clip.shell` of either model, or 0.03 if no clip has one. Joints without a counterpart are in `Difference.unknown`. Two models without clips are compared at rest: one Difference without a name. Clips are paired by their names, or by their order if none has a namesake and there are as many in both. Both are posed at all keys of either and three times between each two, or `fps` times a second.

    A unit of the models is `unit` metres; None is what the file of `a`, or else that of `b`, says, and one where neither does. A clip's name that is not the
    first of its kind has a number behind it. `progress` is a bar with 100 steps for each pair of clips.

    >>> model = condyle.open("two_joints.glb")
    >>> packed = condyle.from_bytes(model.pack(budget=1e-3))
    >>> [bend] = condyle.compare(model, packed)
    >>> bend.name, bend.pairs, bend.paired, bend.worst < 1e-3
    ('bend', 20, 'order', True)
    >>> condyle.compare(model, model, "bend", fps=30)
    [<condyle.Difference "bend": 0 m at 46 moments, 20 vertices paired by order>]
    """
def forward_kinematics(
    skeleton: Skeleton | Sequence[int] | NDArray[np.integer],
    rotations: ArrayLike,
    translations: ArrayLike | None = None,
    scales: ArrayLike | None = None,
    *,
    out: _Array | None = None,
    threads: int | None = 1,
) -> _Array:
    """Model matrices of joints from their local transforms: (..., J, 3, 4), rows of a 3 by 4 matrix each.

    `skeleton` is a Skeleton or the parents of its joints, -1 for a root, parents first. `rotations` are unit quaternions (..., J, 4) as x, y, z, w.
    `translations` and `scales` are (..., J, 3), or (J, 3) for all frames; without them they are those of the skeleton at rest.

    >>> half = np.sqrt(0.5)
    >>> turned = np.array([[[0, 0, half, half], [0, 0, 0, 1]]])
    >>> matrices = condyle.forward_kinematics([-1, 0], turned, [[0, 0, 0], [0, 1, 0]])
    >>> matrices.shape
    (1, 2, 3, 4)
    >>> matrices[0, 1, :, 3].round(6).tolist()
    [-1.0, 0.0, 0.0]
    """
def to_matrices(
    rotations: ArrayLike,
    translations: ArrayLike | None = None,
    scales: ArrayLike | None = None,
    *,
    out: _Array | None = None,
    threads: int | None = 1,
) -> _Array:
    """Matrices (..., 3, 4) of rotations, translations and scales: the rows of a 3 by 4 matrix each.

    `rotations` are unit quaternions (..., 4) as x, y, z, w; `translations` and `scales` are (..., 3), 0 and 1 where they are left out.

    >>> condyle.to_matrices([0, 0, 0, 1], [1, 2, 3]).tolist()
    [[1.0, 0.0, 0.0, 1.0], [0.0, 1.0, 0.0, 2.0], [0.0, 0.0, 1.0, 3.0]]
    """
def from_matrices(
    matrices: ArrayLike, *, out: Poses | _Arrays | None = None, threads: int | None = 1
) -> Poses:
    """Rotations, translations and scales of matrices (..., 3, 4): Poses of the shapes (..., 4), (..., 3) and (..., 3).

    The scale along x is negative where a matrix mirrors. Of a matrix that shears, the nearest transform.

    >>> moved = condyle.from_matrices([[1, 0, 0, 1], [0, 1, 0, 2], [0, 0, 1, 3]])
    >>> moved.rotations.tolist(), moved.translations.tolist()
    ([0.0, 0.0, 0.0, 1.0], [1.0, 2.0, 3.0])
    """
def blend(
    skeleton: Skeleton,
    poses: Sequence[Poses | _Arrays],
    weights: ArrayLike,
    *,
    about: Literal["rest", "first"] = "rest",
    out: Poses | _Arrays | None = None,
    threads: int | None = 1,
) -> Poses:
    """The weighted mean of poses, joint by joint, in each frame.

    `poses` is a list of Poses of one shape, rotations (..., J, 4); `weights` has one number for each of them, or (L, ...) one for each
    of them in each frame. They are divided by their sum; where it is 0 a joint is that of the reference.

    `about` is the reference, in whose hemisphere rotations are averaged: "rest", the skeleton at rest, or "first", the first of the poses. About the
    rest pose the mean of +100 and -100 degrees from rest is 0, and two neighbouring frames on either side of half a turn from rest have a
    mean far from both; "first" is right wherever the other poses are less than half a turn away from the first.

    >>> clip = condyle.open("two_joints.glb").clips[0]
    >>> early, late = clip.sample([0.0, 0.1]), clip.sample([1.0, 1.1])
    >>> condyle.blend(clip.skeleton, [early, late], [0.75, 0.25]).rotations.shape
    (2, 2, 4)
    >>> wheel = condyle.Skeleton([-1])
    >>> turned = lambda degrees: condyle.Poses([[0, np.sin(np.radians(degrees / 2)), 0, np.cos(np.radians(degrees / 2))]], [[0, 0, 0]], [[1, 1, 1]])
    >>> both = [turned(100), turned(-100)]
    >>> [condyle.blend(wheel, both, [0.5, 0.5], about=about).rotations.round(3).tolist() for about in ("rest", "first")]
    [[[0.0, 0.0, 0.0, 1.0]], [[0.0, 1.0, 0.0, 0.0]]]
    """
def difference(
    poses: Poses | _Arrays,
    reference: Poses | _Arrays,
    *,
    out: Poses | _Arrays | None = None,
    threads: int | None = 1,
) -> Poses:
    """What poses differ by from others of the same shape: to be added to yet others by `add`.

    >>> clip = condyle.open("two_joints.glb").clips[0]
    >>> same = condyle.difference(clip.sample([0.5]), clip.sample([0.5]))
    >>> bool(same.translations.any()), float(same.scales.min())
    (False, 1.0)
    """
def add(
    base: Poses | _Arrays,
    difference: Poses | _Arrays,
    amount: float = 1.0,
    *,
    out: Poses | _Arrays | None = None,
    threads: int | None = 1,
) -> Poses:
    """Poses with a `difference` added to them: `amount` is how much of it, 1 for all.

    >>> clip = condyle.open("two_joints.glb").clips[0]
    >>> bend = condyle.difference(clip.sample([0.5]), clip.sample([0.0]))
    >>> bent = condyle.add(clip.sample([0.0]), bend)
    >>> np.allclose(bent.rotations, clip.sample([0.5]).rotations, atol=1e-6)
    True
    """
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
) -> _Array:
    """The rotations between `a` and `b`, unit quaternions (..., 4) as x, y, z, w, both of one shape.

    `t` is a number or an array (...), from 0 at `a` to 1 at `b`. `method` is one of "slerp4", "slerp6", "slerp9", "eberly1" to "eberly16",
    "eberly1-halved" to "eberly16-halved", "van-waveren", "exact", "nlerp", "corrected-nlerp" and "exponential-map"; `error_bound` says how far
    each may be off. The arc is the shorter one, or with `shorter=False` that to `b` as given. Factors are clamped to [0, 1] unless
    `extrapolate` is set.

    >>> print(condyle.interpolate([0, 0, 0, 1], [1, 0, 0, 0], 1 / 3).round(4))
    [0.5   0.    0.    0.866]
    >>> condyle.interpolate([[0, 0, 0, 1]] * 3, [[0, 0, 1, 0]] * 3, [0, 0.5, 1], method="nlerp").shape
    (3, 4)
    """
def join(
    path: str | os.PathLike[str],
    parts: Sequence[bytes | str | os.PathLike[str]],
    *,
    names: Sequence[str] | None = None,
    units: Sequence[float | None] | None = None,
    told: str | None = None,
) -> None:
    """Writes the skeletons and clips of several files .condyle as one to `path`; each of `parts` is a path, or bytes as of `Clip.to_bytes`. A skeleton
    that several have is there once. The result is the same bytes however the parts were grouped: parts may be joined ones.

    `names` are those of all clips in their order, None for those that they have. `units` say of each part how many metres a unit is where the part does
    not say it, None where nobody knows. `told` is the JSON that `Library.columns` and `Library.left_out` are read from. The file is there when
    it is whole; `path` may be one of the parts.

    >>> clip = condyle.open("two_joints.glb").clips[0].encode(shell=0.03)
    >>> condyle.join("twice.condyle", [clip.to_bytes(), "motion.condyle"], names=["a", "b"])
    >>> condyle.Library("twice.condyle")["b"]
    <condyle.Clip "b": 1.500 s, 2 joints, compressed>
    """
def slerp(
    a: ArrayLike, b: ArrayLike, t: ArrayLike, *, out: _Array | None = None, threads: int | None = 1
) -> _Array:
    """Spherical linear interpolation, exact but for the rounding of float32: `interpolate` with the method "slerp9".

    >>> print(condyle.slerp([0, 0, 0, 1], [1, 0, 0, 0], 0.5).round(4))
    [0.7071 0.     0.     0.7071]
    """
def nlerp(
    a: ArrayLike, b: ArrayLike, t: ArrayLike, *, out: _Array | None = None, threads: int | None = 1
) -> _Array:
    """Linear interpolation brought back to unit length: `interpolate` with the method "nlerp".

    >>> print(condyle.nlerp([0, 0, 0, 1], [1, 0, 0, 0], 0.5).round(4))
    [0.7071 0.     0.     0.7071]
    """
def error_bound(method: str, max_angle: float) -> float:
    """The most that a component of what a method of `interpolate` gives can differ from slerp's.

    `max_angle` is how far apart unit quaternions are as vectors, in radians: half of the rotation between them, at most pi / 2.

    >>> condyle.error_bound("slerp4", np.pi / 2) < 1.1e-4
    True
    """
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
) -> Poses:
    """Limbs that reach: in each frame the first two of three joints turn so that the third comes to a goal, or as near as it can.

    `joints` are shoulder, elbow and hand, or hip, knee and foot, by names or indices: each hangs on the one before it, with others in between or not.
    `goals` are places in model space, (3,) for all frames or (..., 3) for each; `poles` directions that the middle joint is bent towards,
    `orientations` how the third joint is to be turned in model space, as quaternions (4,) or (..., 4). `soft` is the part of the limb's length from
    which on it stretches ever more slowly, `weight` how much of the way it goes.

    >>> leg = condyle.Skeleton([-1, 0, 1], translations=[[0, 2, 0], [0, -1, 0], [0, -1, 0]])
    >>> poses = condyle.two_bone(leg, leg.rest, [0, 1, 2], [0.5, 0.8, 0.2], poles=[0, 0, 1])
    >>> bool(np.allclose(condyle.forward_kinematics(leg, *poses)[2, :, 3], [0.5, 0.8, 0.2], atol=1e-5))
    True
    """
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
) -> Poses:
    """Joints that point: in each frame a joint turns until its `axis`, in its own space, points at a target.

    `targets` are places in model space, (3,) for all frames or (..., 3) for each. `origin` is from where it points, in the joint's own space: where the eyes
    are. `up` is a second axis of the joint and the direction in model space that it is to be nearest to; without it the joint turns by the shortest way.

    >>> head = condyle.Skeleton([-1], names=["head"])
    >>> poses = condyle.aim(head, head.rest, "head", [0, 0, 1], [3, 0, 0])
    >>> condyle.to_matrices(*poses)[0, :, 2].round(6).tolist()
    [1.0, 0.0, 0.0]
    """
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
) -> Poses:
    """Chains that reach: in each frame `joints` turn so that the last of them comes to a goal, or as near as it can.

    `joints` are names or indices, at most 64, each below the one before it. `goals` and `orientations` are as `two_bone` has them; `offset` is the point that
    reaches, in the last joint's own space. `method` is "least_squares", "cyclic_descent" or "fabrik"; a goal is reached within `tolerance`, after at most
    so many `iterations`. Each frame is solved from its own pose.

    >>> tail = condyle.Skeleton([-1, 0, 1, 2], translations=[[0, 0, 0], [0, 1, 0], [0, 1, 0], [0, 1, 0]])
    >>> poses = condyle.chain(tail, tail.rest, [0, 1, 2, 3], [1, 1, 1])
    >>> bool(np.allclose(condyle.forward_kinematics(tail, *poses)[3, :, 3], 1, atol=2e-4))
    True
    """
