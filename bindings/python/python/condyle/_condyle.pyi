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
    "Frames",
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
    "retarget",
    "rig",
    "sample_frames",
    "slerp",
    "to_matrices",
    "two_bone",
]

_Array = NDArray[np.float32]
class _Bar(Protocol):
    def update(self, n: int, /) -> object: ...

_Skinning = Literal["linear", "dual"]
_Arrays = tuple[_Array, _Array, _Array]
_ClipLike = int | str | Clip | None

__version__: str

class Error(ValueError):
    """Invalid argument or operation. The message states the expected value and the value found."""

class FileError(Error):
    """File that cannot be used. `problems` lists all problems found, errors first."""

    problems: list[Problem]

@final
class Problem:
    """Problem found in a file: its location, a description, and how it was handled."""

    def __new__(cls, severity: str, place: str, count: int, what: str, action: str) -> Problem: ...
    @property
    def severity(self) -> str:
        """Severity: "error", "warning" or "note"."""
    @property
    def place(self) -> str:
        """First location: a JSON pointer, a line or an array name. Empty for the whole file."""
    @property
    def count(self) -> int:
        """Number of locations."""
    @property
    def what(self) -> str:
        """Value found at the first location, and the expected value."""
    @property
    def action(self) -> str:
        """How the problem was handled, or a possible remedy."""
    def __getnewargs__(self) -> tuple[str, str, int, str, str]: ...

@final
class Skeleton:
    """Joint hierarchy of a character, parents before children.

    Parameters
    ----------
    `parents` : array_like of int, shape (J,)
        Parent index of each joint, -1 for a root.
    `names` : list of str, optional
        Joint names. Default: empty.
    `rotations` : array_like, shape (J, 4), optional
        Rest rotations as quaternions x, y, z, w. Default: identity.
    `translations`, `scales` : array_like, shape (J, 3), optional
        Rest translations and scales. Default: 0 and 1.

    Examples
    --------
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
        """One name per joint. Names may repeat or be empty."""
    @property
    def parents(self) -> NDArray[np.int32]:
        """Parent index of each joint, int32: smaller than the joint's index, or -1 for a root."""
    @property
    def rest(self) -> Poses:
        """Local transforms of the rest pose: rotations (J, 4), translations (J, 3) and scales (J, 3)."""
    def index(self, name: str) -> int:
        """Return the index of the first joint with this name.

        >>> condyle.Skeleton([-1, 0], names=["hips", "spine"]).index("spine")
        1
        """
    def to_bytes(self) -> bytes:
        """Return the skeleton as the bytes of a .condyle file, for `Skeleton.from_bytes`. Pickles use the
        same bytes.
        """
    @staticmethod
    def from_bytes(data: bytes) -> Skeleton:
        """Return the first skeleton in the bytes of a .condyle file, such as `to_bytes` writes."""
    def __len__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...

@final
class Clip:
    """Poses of a skeleton over time, compressed or uncompressed.

    `Model.clips` holds the clips of a file, `encode` compresses a clip.
    """

    @property
    def name(self) -> str:
        """Name in the file, which may be empty."""
    @property
    def start(self) -> float:
        """Time of the first key in seconds. Earlier times sample the first key."""
    @property
    def end(self) -> float:
        """Time of the last key in seconds. Later times sample the last key."""
    @property
    def duration(self) -> float:
        """Seconds between the first and the last key."""
    @property
    def skeleton(self) -> Skeleton:
        """Skeleton that the clip animates."""
    @property
    def compressed(self) -> bool:
        """Whether the clip is compressed."""
    @property
    def rate(self) -> float | None:
        """Frames per second of a compressed clip, or None for an uncompressed one."""
    @property
    def shell(self) -> float | None:
        """Radius around joints within which the error bound of a compressed clip holds, in the skeleton's
        units.

        It is the `shell` argument of `encode`. None for an uncompressed clip, if the file does not
        state it, and if every joint has vertices.

        >>> condyle.open("two_joints.glb").clips[0].encode(shell=0.25).shell
        0.25
        """
    @property
    def times(self) -> NDArray[np.float64]:
        """Times of all keys, or of all frames of a compressed clip, in seconds and increasing. (K,),
        float64.

        >>> clip = condyle.open("two_joints.glb").clips[0]
        >>> clip.times.tolist(), len(clip.sample(clip.times).rotations)
        ([0.25, 0.5, 0.75, 1.0, 1.5, 1.75], 6)
        """
    @property
    def extras(self) -> list[str]:
        """Data that `sample` does not return: any of "morph weights and tracks", "root motion" and
        "events".
        """
    def sample(
        self, times: ArrayLike, *, out: Poses | _Arrays | None = None, threads: int | None = 1
    ) -> Poses:
        """Sample the local transforms of all joints.

        Parameters
        ----------
        `times` : array_like, shape (T,)
            Times in seconds.
        `out` : Poses or tuple of three ndarrays, optional
            Arrays for the result.
        `threads` : int or None
            Number of threads. None uses all cores.

        Returns
        -------
        Poses
            Rotations (T, J, 4), translations (T, J, 3) and scales (T, J, 3).

        Examples
        --------
        >>> clip = condyle.open("two_joints.glb").clips[0]
        >>> clip.sample(np.linspace(clip.start, clip.end, 10)).rotations.shape
        (10, 2, 4)
        """
    def to_frames(self, budget: float = 0.0002, *, shell: float) -> Frames:
        """Unpack the clip into evenly spaced poses, which sample and blend faster.

        Parameters
        ----------
        `budget` : float
            Maximum error of every point within `shell` of a joint, in the skeleton's units, in addition to
            the error of a compressed clip.
        `shell` : float
            Radius around each joint, in the skeleton's units. `Model.to_frames` bounds the error at every
            vertex instead.

        Returns
        -------
        Frames

        Notes
        -----
        The smallest form within the budget is kept, with at most 120 poses per second. Small jumps between
        segments of a compressed clip are smoothed; `Frames.seam_error` bounds the difference. Raises `Error`
        for a clip with other jumps, unless the budget is as large as the jump.

        Examples
        --------
        >>> clip = condyle.open("two_joints.glb").clips[0].retime(0.25, 0.5)
        >>> frames = clip.to_frames(1e-3, shell=0.5)
        >>> frames.error <= 1e-3, frames.sample([0.3]).rotations.shape
        (True, (1, 2, 4))
        """
    def encode(
        self,
        budget: float = 0.0005,
        *,
        shell: float,
        best: bool = False,
        rate: float | None = None,
        progress: _Bar | None = None,
    ) -> Clip:
        """Return a compressed clip with a bounded error.

        Parameters
        ----------
        `budget` : float
            Maximum error of every point within `shell` of a joint, in the skeleton's units.
        `shell` : float
            Radius around each joint, in the skeleton's units. 0.03 suits a person in metres. There is
            no default, because a clip knows neither a mesh nor a unit; `Model.encode` bounds the error
            at every vertex instead.
        `best` : bool
            Whether to search longer for a smaller result.
        `rate` : float, optional
            Frames per second. Default: the rate of the authored keys.
        `progress` : object with an `update` method, optional
            Progress bar with a total of 100, such as tqdm's.

        Returns
        -------
        Clip

        Examples
        --------
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
        """Return a part of the clip, stretched, reversed or resampled, as an uncompressed clip that starts
        at 0.

        Parameters
        ----------
        `start`, `end` : float, optional
            Part of this clip in seconds. Default: the whole clip.
        `duration` : float, optional
            Duration of the result in seconds. Excludes `speed`.
        `speed` : float, optional
            Playback speed. A negative speed reverses the clip.
        `rate` : float, optional
            Frames per second of the new keys. By default the authored keys are kept.
        `name` : str, optional
            Name of the result. Default: the name of this clip.

        Returns
        -------
        Clip

        Notes
        -----
        Keys at the cuts have the sampled values, and the curves between keys do not change. In a
        reversed clip, steps switch at the same moments, so each value holds for the same time. With
        `rate`, values are interpolated linearly between frames. One more key is added at the end if it
        is not on a frame. A compressed clip is first sampled at its own rate; this drops the data
        listed in `extras`.

        Examples
        --------
        >>> clip = condyle.open("two_joints.glb").clips[0]
        >>> back = clip.retime(0.25, 0.75, speed=-2)
        >>> back.start, back.end
        (0.0, 0.25)
        >>> bool(np.allclose(back.sample([0.0]).rotations, clip.sample([0.75]).rotations, atol=1e-6))
        True
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
        """Create a clip from arrays, with linear interpolation between keys.

        Parameters
        ----------
        `skeleton` : Skeleton
            Skeleton that the clip animates.
        `times` : array_like, shape (T,)
            Times of the keys in seconds, increasing.
        `rotations` : array_like, shape (T, J, 4), optional
            Unit quaternions x, y, z, w relative to the parent joint.
        `translations`, `scales` : array_like, shape (T, J, 3), optional
            Translations and scales relative to the parent joint. Omitted components keep the rest pose.
        `name` : str
            Name of the clip.

        Returns
        -------
        Clip

        Examples
        --------
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
        """Draw a contact sheet of the skeleton at `count` evenly spaced times: (H, W, 3), uint8.

        `Model.sheet`, which draws the mesh, documents `size`, `yaw`, `pitch` and `progress`. A clip
        does not know the front of the character, so the camera angles start at +Z.

        >>> condyle.open("two_joints.glb").clips[0].plot(4, size=(100, 120)).shape
        (120, 400, 3)
        """
    def save(self, path: str | os.PathLike[str], *, rate: float | None = None) -> None:
        """Write the clip to a file for other programs.

        Parameters
        ----------
        `path` : str or PathLike
            File, which appears only when it is complete. Its extension selects the format: .bvh, .glb
            (joints only), or .condyle (compressed clips only).
        `rate` : float, optional
            Frames per second of a BVH. Default: the rate of the clip, whose keys must be evenly spaced.

        Notes
        -----
        A compressed clip is written to a .glb with as few keys as possible, with an error within 1/16
        of the clip's bound. Data that the format cannot store is left out with a UserWarning: joint
        scales and `extras` in a BVH, events in a .glb. `Model.save` writes meshes too.

        Examples
        --------
        >>> clip = condyle.open("two_joints.glb").clips[0]
        >>> clip.save("bend.bvh", rate=60)
        >>> condyle.open("bend.bvh").clips[0]
        <condyle.Clip "bend": 1.500 s, 2 joints>
        """
    def to_bytes(self) -> bytes:
        """Return the skeleton and the clip as the bytes of a .condyle file, for `Clip.from_bytes`.

        Raises `Error` for an uncompressed clip; call `encode` first. Both kinds of clip can be pickled.
        """
    @staticmethod
    def from_bytes(data: bytes) -> Clip:
        """Return the first clip in the bytes of a .condyle file, such as `to_bytes` writes."""

@final
class Frames:
    """Clip unpacked into evenly spaced poses, which sample and blend faster than the clip.

    `Clip.to_frames` and `Model.to_frames` create them. They take about ten times the memory of a
    compressed clip. They have no morph weights, tracks, root motion or events: sample these from the
    clip. They cannot be pickled; pickle the clip.
    """

    @property
    def name(self) -> str:
        """Name of the clip."""
    @property
    def skeleton(self) -> Skeleton:
        """Skeleton that the clip animates."""
    @property
    def start(self) -> float:
        """Time of the first pose in seconds, that of the clip."""
    @property
    def end(self) -> float:
        """Time of the last pose in seconds, that of the clip."""
    @property
    def rate(self) -> float:
        """Poses per second. 0 for a clip without duration."""
    @property
    def error(self) -> float:
        """Upper bound on the displacement between the clip and the frames, in the skeleton's units, without
        `seam_error`.
        """
    @property
    def seam_error(self) -> float:
        """Upper bound on half of the jumps between the segments of a compressed clip, which the frames
        smooth. 0 for an uncompressed clip.
        """
    @property
    def memory(self) -> int:
        """Size in bytes, including the clip."""
    def sample(
        self, times: ArrayLike, *, out: Poses | _Arrays | None = None, threads: int | None = 1
    ) -> Poses:
        """Sample the local transforms of all joints, like `Clip.sample`.

        `times` has any shape; the poses are (..., J, 4) and (..., J, 3).

        >>> clip = condyle.open("two_joints.glb").clips[0].retime(0.25, 0.5)
        >>> frames = clip.to_frames(1e-3, shell=0.5)
        >>> times = np.linspace(clip.start, clip.end, 10)
        >>> bool(np.allclose(frames.sample(times).rotations, clip.sample(times).rotations, atol=2e-3))
        True
        """

@final
class Primitive:
    """Part of a mesh with one material, at a node."""

    @property
    def name(self) -> str:
        """Name of the node, or for example "node 12" if it is unnamed."""
    @property
    def node(self) -> int:
        """Node index in the document."""
    @property
    def mesh(self) -> int:
        """Mesh index in the document."""
    @property
    def index(self) -> int:
        """Primitive index in the mesh."""
    @property
    def start(self) -> int:
        """Index of the first vertex among those of all primitives."""
    @property
    def stop(self) -> int:
        """Index after the last vertex."""
    @property
    def slice(self) -> slice:
        """Slice of the vertices among those of all primitives.

        >>> model = condyle.open("two_joints.glb")
        >>> model.skin(None, [0.0])[:, model.primitives[0].slice].shape
        (1, 20, 3)
        """
    @property
    def skinned(self) -> bool:
        """Whether a skin animates the primitive. Otherwise its node does."""
    @property
    def in_default_scene(self) -> bool:
        """Whether the document's default scene includes the primitive."""
    @property
    def has_normals(self) -> bool:
        """Whether the primitive has normals."""
    @property
    def has_tangents(self) -> bool:
        """Whether the primitive has tangents."""
    @property
    def triangles(self) -> NDArray[np.uint32]:
        """Vertex indices of the triangles, relative to the first vertex of the primitive: (N, 3), uint32.
        Empty for points and lines.
        """
    def __len__(self) -> int: ...

@final
class Model:
    """Character or motion, loaded by `open`: a skeleton, clips and meshes."""

    @property
    def name(self) -> str:
        """Path or name that the model was opened with."""
    @property
    def skeleton(self) -> Skeleton:
        """All joints, parents before children."""
    @property
    def clips(self) -> tuple[Clip, ...]:
        """All clips, in file order."""
    @property
    def primitives(self) -> tuple[Primitive, ...]:
        """All mesh primitives, in the order of nodes and primitives. `primitive.slice` selects the
        vertices of one in the result of `skin`.
        """
    @property
    def vertex_count(self) -> int:
        """Number of vertices of all primitives."""
    @property
    def problems(self) -> tuple[Problem, ...]:
        """Problems of the file and how each was repaired: warnings first, then notes."""
    @property
    def unit(self) -> float | None:
        """Metres per unit of the model, or None if the file does not state it."""
    def joints(
        self, clip: _ClipLike, times: ArrayLike, *, out: _Array | None = None, threads: int | None = 1
    ) -> _Array:
        """Return the joint positions in model space at each time, (T, J, 3).

        Parameters
        ----------
        `clip` : int, str, Clip or None
            Index, name, or clip of an equal skeleton. None is the rest pose.
        `times` : array_like, shape (T,)
            Times in seconds.
        `out` : ndarray of float32, shape (T, J, 3), optional
            Array for the result.
        `threads` : int or None
            Number of threads. None uses all cores.

        Examples
        --------
        >>> model = condyle.open("two_joints.glb")
        >>> model.joints(None, [0.0]).round(3).tolist()
        [[[0.0, 0.0, 0.0], [0.0, 1.0, 0.0]]]
        """
    def matrices(
        self, clip: _ClipLike, times: ArrayLike, *, out: _Array | None = None, threads: int | None = 1
    ) -> _Array:
        """Return the model-space matrices of the joints at each time: rows of 3x4 matrices, (T, J, 3, 4).

        See `joints` for the parameters.

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
        """Return the skinned vertices in world space at each time. Applies morph targets.

        Parameters
        ----------
        `clip` : int, str, Clip or None
            Index, name, or clip of an equal skeleton. None is the rest pose.
        `times` : array_like, shape (T,)
            Times in seconds.
        `normals`, `tangents` : bool
            Return normals or tangents too.
        `out` : ndarray of float32, shape (T, V, 3), or Vertices, optional
            Array for the positions, or Vertices with `normals` or `tangents`.
        `threads` : int or None
            Number of threads. None uses all cores.
        `progress` : object with an `update` method, optional
            Progress bar with one step per time, such as tqdm's.

        Returns
        -------
        ndarray of float32, shape (T, V, 3), or Vertices
            Positions of all primitives in order. With `normals` or `tangents`, Vertices with normals
            (T, V, 3) and tangents (T, V, 4), whose last component is the handedness of the bitangent.
            Unrequested fields hold None.

        Notes
        -----
        Primitives without normals or tangents get zeros. Normals are rotated by the blend of the
        inverse transposes of the joint matrices, which equals the blended matrix unless scales are
        non-uniform. Tangents are rotated by the blended matrix.

        Examples
        --------
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
        best: bool = False,
        rate: float | None = None,
        progress: _Bar | None = None,
    ) -> Clip:
        """Return a compressed clip of this model, with the error bounded at every vertex.

        Parameters
        ----------
        `clip` : int, str or Clip
            Index, name, or clip of an equal skeleton.
        `budget` : float
            Maximum error of every vertex, in the units of the model.
        `shell` : float, optional
            Radius around joints without vertices within which the bound holds, in the units of the
            model. Default: 3 cm, converted by `unit`.
        `best`, `rate`, `progress`
            See `Clip.encode`.

        Returns
        -------
        Clip

        Examples
        --------
        >>> condyle.open("two_joints.glb").encode("bend", 1e-3)
        <condyle.Clip "bend": 1.500 s, 2 joints, compressed>
        """
    def to_frames(
        self, clip: int | str | Clip, budget: float = 0.0002, *, shell: float | None = None
    ) -> Frames:
        """Unpack a clip into evenly spaced poses, with the error bounded at every vertex.

        Parameters
        ----------
        `clip` : int, str or Clip
            Clip of this model's skeleton.
        `budget` : float
            Maximum error in the skeleton's units, in addition to the error of a compressed clip.
        `shell` : float, optional
            Radius around joints without vertices, in the skeleton's units. Default: 3 cm.

        Returns
        -------
        Frames
            See `Clip.to_frames` and `sample_frames`. Measured at the vertices of the bind pose, without morph
            targets.

        Examples
        --------
        >>> model = condyle.open("two_joints.glb")
        >>> model.to_frames(model.clips[0].retime(0.25, 0.5), 1e-3).error <= 1e-3
        True
        """
    def pack(
        self,
        budget: float = 0.0005,
        *,
        shell: float | None = None,
        best: bool = False,
        progress: _Bar | None = None,
    ) -> bytes:
        """Return the model as the bytes of a .condyle file, for `open` and `from_bytes`.

        Uncompressed clips are compressed with `budget` and `shell`, as by `encode`. The file also
        contains the meshes, and the source document without its animations, for its images and
        materials.

        Parameters
        ----------
        `budget`, `shell`, `best`
            See `encode`.
        `progress` : object with an `update` method, optional
            Progress bar with 100 steps per uncompressed clip.

        Examples
        --------
        >>> packed = condyle.from_bytes(condyle.open("two_joints.glb").pack())
        >>> packed.clips[0].compressed
        True
        """
    def save(
        self,
        path: str | os.PathLike[str],
        *,
        mesh_budget: float | None = None,
        compression: Literal["ext", "khr"] = "ext",
    ) -> None:
        """Write the model with all its clips to a file for other programs.

        The extension of `path` selects the format: .glb with meshes, materials and images, .bvh for a
        model with one clip, or .condyle, the result of `pack` with default arguments. The file appears
        only when it is complete.

        Parameters
        ----------
        `path` : str or PathLike
            File to write.
        `mesh_budget` : float, optional
            Writes smaller meshes to a .glb, with at most this error of a vertex, in the skeleton's units.
            By default meshes stay unchanged.
        `compression` : "ext" or "khr"
            Extension for smaller meshes: EXT_meshopt_compression, which most programs read, or
            KHR_meshopt_compression, whose files are smaller.

        Notes
        -----
        A compressed clip is written to a .glb with as few keys as possible, with an error within 1/16
        of the clip's bound. Data that the format cannot store is left out with a UserWarning; see
        `Clip.save`.

        The error of smaller meshes is measured in the rest pose and while the model's clips play, and not in
        other poses. Normals, tangents, colours and texture coordinates are rounded too, as by
        `condyle pack --mesh`.

        Examples
        --------
        >>> model = condyle.open("two_joints.glb")
        >>> model.with_clips([model.encode("bend")]).save("small.glb", mesh_budget=1e-3)
        >>> condyle.open("small.glb")
        <condyle.Model small.glb: 2 joints, 1 clip, 20 vertices>
        """
    def with_clips(self, clips: Sequence[Clip]) -> Model:
        """Return the same model with other clips of its skeleton, for example for `pack` or `compare`.

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
        """Draw the model.

        Parameters
        ----------
        `clip` : int, str, Clip or None
            Index, name, or clip of an equal skeleton. None is the rest pose.
        `times` : float or array_like, shape (T,), optional
            Times in seconds. Default: the start of the clip.
        `size` : tuple of int
            Width and height in pixels.
        `yaw`, `pitch` : float
            Camera angles in degrees: around the character from its front towards its left, and
            downwards.
        `skeleton`, `bounds`, `hitboxes` : bool
            Draw the joints over the mesh, the bounds, or the hitboxes.
        `skinning` : "linear" or "dual"
            Linear blend or dual-quaternion skinning. `bounds` requires "linear".
        `out` : ndarray of uint8, optional
            Array for the result.
        `threads` : int or None
            Number of threads. None uses all cores.
        `progress` : object with an `update` method, optional
            Progress bar with one step per time, such as tqdm's.

        Returns
        -------
        Picture
            Pixels (H, W, 3) for a single time, or (T, H, W, 3) for an array of times. Notebooks display
            it, and `Picture.save` writes it. Its `fps` is the inverse of the mean step between `times`.

        Notes
        -----
        One camera keeps the whole clip in view. A model without meshes is drawn as bones. A UserWarning
        reports images that cannot be drawn.

        Examples
        --------
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
        """Draw a contact sheet of `count` evenly spaced times of a clip, (H, W, 3).

        Each picture has the given `size` and is labelled with its time. See `render` for the other
        parameters; `progress` gets one step per picture.

        >>> condyle.open("two_joints.glb").sheet("bend", 3, size=(120, 160)).shape
        (160, 360, 3)
        """

@final
class Library:
    """Memory-mapped clips of a .condyle file, such as `condyle encode FOLDER` writes.

    A file of any size opens in milliseconds, and clips that are not used take no memory. Processes that
    map the same file share its memory, and a pickle contains only the path.

    Do not change the file while it is open. To replace it, write another file and rename it, as
    `condyle encode FOLDER` does. If the file became shorter, the next call raises FileError. If it is
    cut short during a call, the process ends with SIGBUS, as with any mapped file.

    >>> library = condyle.Library("motion.condyle")
    >>> len(library), library.names[0], library.skeleton(0)
    (1, 'bend', <condyle.Skeleton of 2 joints>)
    >>> library.sample([0, 0, 0], [0.0, 0.5, 1.0]).rotations.shape
    (3, 2, 4)
    """

    def __new__(cls, path: str | os.PathLike[str]) -> Library: ...
    @property
    def path(self) -> str:
        """Absolute path of the file."""
    @property
    def names(self) -> list[str]:
        """Names of all clips, in file order."""
    @property
    def skeletons(self) -> list[Skeleton]:
        """All skeletons. Clips with equal skeletons share one."""
    @property
    def units(self) -> list[float | None]:
        """Metres per unit of each of `skeletons`, or None if the file does not state it."""
    @property
    def skeleton_indices(self) -> NDArray[np.int64]:
        """Index into `skeletons` for each clip, int64."""
    @property
    def columns(self) -> dict[str, list[Any]]:
        """Metadata of the clips: a dict of lists with one value per clip, such as "source", "tags",
        "seconds", "frames" and "error_max_m".

        Empty if the file has no metadata.
        """
    @property
    def left_out(self) -> list[dict[str, str]]:
        """Files that could not be packed: a list of dicts with "source" and "why"."""
    def index(self, name: str) -> int:
        """Return the index of the first clip with this name."""
    def skeleton(self, clip: int | str) -> Skeleton:
        """Return the skeleton of a clip, given by index or name."""
    def sample(
        self,
        indices: ArrayLike,
        times: ArrayLike,
        *,
        out: Poses | _Arrays | None = None,
        threads: int | None = 1,
    ) -> Poses:
        """Sample one pose per pair of clip index and time.

        Parameters
        ----------
        `indices` : array_like of int, shape (N,)
            Clip indices.
        `times` : array_like, shape (N,)
            Time of each pose in seconds.
        `out` : Poses or tuple of three ndarrays, optional
            Arrays for the result.
        `threads` : int or None
            Number of threads. None uses all cores. The results do not depend on it.

        Returns
        -------
        Poses
            Rotations (N, J, 4), translations (N, J, 3) and scales (N, J, 3). J is the largest joint
            count of these clips; rows beyond the joints of a skeleton hold the identity.

        Notes
        -----
        Pairs may be in any order. They are sorted, so each clip is read and checked once per 131,072
        pairs. A check takes some microseconds per 10 kB of clip, so a call with many pairs takes less
        time per pair. Up to 64 clips of at most 64 KiB (4 MiB in total) from calls with a single pair
        stay in memory after their check.

        Examples
        --------
        >>> library = condyle.Library("motion.condyle")
        >>> library.sample([0, 0], [1.0, 0.0]).translations.shape
        (2, 2, 3)
        """
    def sample_ragged(
        self, indices: ArrayLike, times: ArrayLike, *, threads: int | None = 1
    ) -> tuple[Poses, NDArray[np.int64]]:
        """Sample one pose per pair, like `sample`, without padding.

        Returns
        -------
        `poses` : Poses
            Joints of all pairs, concatenated: rotations (M, 4), translations (M, 3) and scales (M, 3).
        `offsets` : ndarray of int64, shape (N + 1,)
            Pair i has the rows `offsets[i]:offsets[i + 1]`.

        Examples
        --------
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
    """Body model in the `.npz` layout of the SMPL family.

    It holds a mean shape, shape and pose corrections, and skinning weights. Model files are available
    from their authors, under their licences.
    """

    def __new__(cls, path: str | os.PathLike[str]) -> BodyModel: ...
    @property
    def joint_count(self) -> int:
        """Number of joints."""
    @property
    def vertex_count(self) -> int:
        """Number of vertices."""
    @property
    def shape_count(self) -> int:
        """Number of shape coefficients."""
    @property
    def triangles(self) -> NDArray[np.uint32]:
        """Vertex indices of the triangles: (N, 3), uint32."""
    def shaped(self, betas: ArrayLike | None = None) -> Body:
        """Return the body of a person.

        `betas` (N,) are the first shape coefficients of the person; missing ones are 0. If there are
        more than the model has, the extra ones are ignored with a UserWarning.
        """

@final
class Body:
    """Body of a person, created by `BodyModel.shaped`."""

    @property
    def skeleton(self) -> Skeleton:
        """Skeleton of the body."""
    @property
    def positions(self) -> _Array:
        """Rest positions of the vertices in metres: (V, 3)."""
    def vertices(
        self,
        rotations: ArrayLike,
        translations: ArrayLike | None = None,
        *,
        out: _Array | None = None,
        threads: int | None = 1,
    ) -> _Array:
        """Return the vertex positions in each frame, (T, V, 3). Applies shape, pose corrections and
        skinning.

        Parameters
        ----------
        `rotations` : array_like, shape (T, J, 4)
            Unit quaternions x, y, z, w of each joint relative to its parent.
        `translations` : array_like, shape (T, 3), optional
            Offset of the root from its rest position, in metres. Default 0.
        `out` : ndarray of float32, shape (T, V, 3), optional
            Array for the result.
        `threads` : int or None
            Number of threads. None uses all cores.

        Notes
        -----
        One call for many frames is faster than one call per frame.
        """

@final
class BodyMotion:
    """Motion in the `.npz` layout of AMASS."""

    def __new__(cls, path: str | os.PathLike[str]) -> BodyMotion: ...
    @property
    def rate(self) -> float:
        """Frames per second."""
    @property
    def betas(self) -> _Array:
        """Shape coefficients of the recorded person: float32."""
    @property
    def gender(self) -> str:
        """Gender of the matching body model: "female", "male" or "neutral", or "" if the file does not
        state it.
        """
    @property
    def problems(self) -> tuple[Problem, ...]:
        """Problems of the file, and how each was repaired."""
    def clip(self, body: Body) -> Clip:
        """Return the motion as a clip for the skeleton of a body.

        Joints are matched by the names that the motion's layout defines. A UserWarning reports repaired
        frames, and animated joints that the body lacks.
        """
    def __len__(self) -> int: ...

def _picture_file(pixels: NDArray[np.uint8], fps: float, name: str | os.PathLike[str]) -> bytes:
    """Encode pixels (H, W, 3), or frames (T, H, W, 3), in the format that the extension of `name` selects."""
def open(
    path: str | os.PathLike[str],
    *,
    model: str | None = None,
    body: Body | None = None,
    unit: float | None = None,
    up: Literal["y", "z"] = "y",
) -> Model:
    """Open a character or motion file: .glb, .gltf, .vrm, .vrma, .condyle, .bvh or .npz.

    Parameters
    ----------
    `path` : str or PathLike
        File to open.
    `model` : str, optional
        Name of the model, if a .condyle file holds several.
    `body` : Body, optional
        Body that moves, for a .npz motion in the AMASS layout.
    `unit` : float, optional
        Metres per unit of the file. It sets `Model.unit`, which `pack` stores and `compare` uses.
        Coordinates do not change.
    `up` : "y" or "z"
        Up axis of the file. "z" rotates the motion to +Y up, for AMASS and some capture systems.

    Returns
    -------
    Model
        Problems that could be repaired are in `Model.problems`.

    Raises
    ------
    FileError
        The file cannot be used. `FileError.problems` lists all problems.
    OSError
        The file does not exist or cannot be read.

    Notes
    -----
    A .npz body model of the SMPL family yields the skeleton of its mean shape, without clips or meshes;
    `BodyModel` gives access to its vertices. For a .npz, `up` rotates only the motion, because body
    models stand along Y at rest. A .condyle file that was rotated before packing stays unchanged; other
    compressed clips cannot be rotated.

    Examples
    --------
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
    """Open a character or motion from bytes. See `open` for the parameters and exceptions.

    Files that a .gltf refers to are not loaded.

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
    """Measure the distance between the vertices of two models while their clips play.

    Typically `b` is a compressed or exported version of `a`.

    Parameters
    ----------
    `a`, `b` : Model
        Models to compare.
    `clip` : int, str, Clip or None
        Clip of `a`. None compares every clip of `a` that has a counterpart in `b`.
    `fps` : float, optional
        Comparisons per second. By default the clips are compared at all keys of both, and at three
        times between successive keys.
    `unit` : float, optional
        Metres per unit of the models. Default: the unit of `a`, else that of `b`, else 1.
    `shell` : float, optional
        Radius in metres around each joint, used if joints are compared. Default: the smallest
        `Clip.shell` of both models, else 0.03.
    `threads` : int or None
        Number of threads. None uses all cores.
    `progress` : object with an `update` method, optional
        Progress bar with 100 steps for each pair of clips.

    Returns
    -------
    list of Difference
        One per pair of clips. Models without clips are compared at rest: one Difference without a name.

    Notes
    -----
    Vertices are paired by order if paired vertices have the same rest position, otherwise by rest
    position. If less than half of the vertices of each model can be paired, all points within `shell`
    of each joint are compared. Joints without a counterpart are listed in `Difference.unknown`. Clips
    are paired by name, or by order if no names match and both models have the same number of clips. A
    repeated clip name gets a number.

    Examples
    --------
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
    """Compute model-space matrices of joints from their local transforms.

    Parameters
    ----------
    `skeleton` : Skeleton or array_like of int, shape (J,)
        Skeleton, or the parent index of each joint: -1 for a root, parents before children.
    `rotations` : array_like, shape (..., J, 4)
        Unit quaternions x, y, z, w relative to the parent joint.
    `translations`, `scales` : array_like, shape (..., J, 3) or (J, 3), optional
        Values per frame, or the same for all frames. Default: the rest pose of the skeleton.
    `out` : ndarray of float32, shape (..., J, 3, 4), optional
        Array for the result.
    `threads` : int or None
        Number of threads. None uses all cores.

    Returns
    -------
    ndarray of float32, shape (..., J, 3, 4)
        Rows of 3x4 matrices.

    Examples
    --------
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
    """Return the matrices of rotations, translations and scales: the rows of 3x4 matrices, (..., 3, 4).

    `rotations` are unit quaternions x, y, z, w (..., 4). `translations` and `scales` are (..., 3), by
    default 0 and 1.

    >>> condyle.to_matrices([0, 0, 0, 1], [1, 2, 3]).tolist()
    [[1.0, 0.0, 0.0, 1.0], [0.0, 1.0, 0.0, 2.0], [0.0, 0.0, 1.0, 3.0]]
    """
def from_matrices(
    matrices: ArrayLike, *, out: Poses | _Arrays | None = None, threads: int | None = 1
) -> Poses:
    """Decompose matrices (..., 3, 4) into Poses: rotations (..., 4), translations (..., 3) and scales
    (..., 3).

    The scale along x is negative for a mirroring matrix. A matrix with shear yields the nearest
    transform.

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
    """Return the weighted mean of several poses, joint by joint, in each frame.

    Parameters
    ----------
    `skeleton` : Skeleton
        Skeleton of the poses. Its rest pose is the default reference.
    `poses` : list of Poses
        L poses of the same shape, with rotations (..., J, 4).
    `weights` : array_like, shape (L,) or (L, ...)
        One weight per pose, or one per pose and frame. Weights are normalised to sum 1. Where the sum
        is 0, joints take the reference pose.
    `about` : "rest" or "first"
        Reference pose for the hemisphere of the rotations: the rest pose, or the first of `poses`.
    `out` : Poses, optional
        Arrays for the result.
    `threads` : int or None
        Number of threads. None uses all cores.

    Returns
    -------
    Poses
        Blended poses in the shape of one input.

    Notes
    -----
    About the rest pose, the mean of +100 and -100 degrees from rest is 0. Two neighbouring frames on
    either side of half a turn from rest then have a mean that is far from both. Use "first" if the
    other poses are less than half a turn away from the first.

    Examples
    --------
    >>> clip = condyle.open("two_joints.glb").clips[0]
    >>> early, late = clip.sample([0.0, 0.1]), clip.sample([1.0, 1.1])
    >>> condyle.blend(clip.skeleton, [early, late], [0.75, 0.25]).rotations.shape
    (2, 2, 4)

    Rotations by +100 and -100 degrees about Y:

    >>> wheel = condyle.Skeleton([-1])
    >>> both = [condyle.Poses([[0, y, 0, 0.643]], [[0] * 3], [[1] * 3]) for y in (0.766, -0.766)]
    >>> condyle.blend(wheel, both, [0.5, 0.5]).rotations.round(3).tolist()
    [[0.0, 0.0, 0.0, 1.0]]
    >>> condyle.blend(wheel, both, [0.5, 0.5], about="first").rotations.round(3).tolist()
    [[0.0, 1.0, 0.0, 0.0]]
    """
def rig(model: Model, map: dict[str, str | None] | None = None) -> dict[str, str]:
    """Find the joints of a humanoid by a map in the file, by names, and by the shape of the skeleton.

    Parameters
    ----------
    `model` : Model
        Model with the skeleton.
    `map` : dict of str to str or None, optional
        Corrections: joint names by role, with None for a role that no joint has.

    Returns
    -------
    dict of str to str
        Joint names by role. The roles are the humanoid bones of VRM 1.0, such as ``leftUpperArm``.

    Raises
    ------
    Error
        If the skeleton is not a humanoid, with the roles that have no joint.

    Examples
    --------
    >>> try:
    ...     condyle.rig(condyle.open("two_joints.glb"))
    ... except condyle.Error as error:
    ...     print("no humanoid" in str(error))
    True
    """
def retarget(
    source: Model,
    target: Model,
    clip: _ClipLike = None,
    *,
    ratio: float | Literal["legs", "hip-height"] = "legs",
    hands: bool = False,
    ground: Literal["rest", "clip"] | None = None,
    source_map: dict[str, str | None] | None = None,
    target_map: dict[str, str | None] | None = None,
) -> tuple[Model, dict[str, dict[str, Any]]]:
    """Put the motion of one humanoid on another one, with feet that stand.

    Parameters
    ----------
    `source` : Model
        Model with the motion. Its rest pose, bone axes, joint names, unit and proportions may differ.
    `target` : Model
        Character that receives the motion.
    `clip` : int, str, Clip or None
        Clip of the source. None takes all clips.
    `ratio` : float or {'legs', 'hip-height'}
        Size of the steps: by the legs and the distance of the hips, by the height of the hips, or a multiple
        of the source's in metres. A model without a unit counts as one in metres.
    `hands` : bool
        Keeps hands that are near each other so, for claps and objects in both hands.
    `ground` : {'rest', 'clip'} or None
        Takes the ground under the motion from its rest pose or from each clip. None takes whichever fits.
    `source_map`, `target_map` : dict of str to str or None, optional
        Corrections of `rig`.

    Returns
    -------
    tuple of Model and dict
        The target with only the retargeted clips, and the certificate of each by its name. A number is added
        to a name that occurs earlier. A certificate has planted frames, and how far feet slide, miss their
        place or are off their height. Lengths are in mm. A target without a unit counts as one in metres.

    Raises
    ------
    Error
        If a skeleton is not a humanoid, the source has no clips, or the ratio is unknown.
    """
def sample_frames(
    frames: list[Frames],
    times: ArrayLike,
    weights: ArrayLike,
    *,
    masks: ArrayLike | None = None,
    out: Poses | _Arrays | None = None,
    threads: int | None = 1,
) -> Poses:
    """Sample several clips and blend them, for many characters in one call.

    Parameters
    ----------
    `frames` : list of Frames
        L unpacked clips of the same skeleton, at most 8.
    `times` : array_like, shape (L, ...)
        Time of each clip for each character, in seconds.
    `weights` : array_like, shape (L,) or (L, ...)
        One weight per clip, or one per clip and character. Weights are normalised to sum 1. Where the sum
        is 0, joints take the rest pose.
    `masks` : array_like, shape (L, J), optional
        Factor of the weight for each joint, 0 to 1.
    `out` : Poses, optional
        Arrays for the result.
    `threads` : int or None
        Number of threads. None uses all cores.

    Returns
    -------
    Poses
        Rotations (..., J, 4), translations (..., J, 3) and scales (..., J, 3).

    Notes
    -----
    The result does not depend on the order of the clips. Rotations are blended in the hemisphere of the
    rest pose, as by `blend`.

    Examples
    --------
    >>> model = condyle.open("two_joints.glb")
    >>> bend = model.to_frames(model.clips[0].retime(0.25, 0.5))
    >>> back = model.to_frames(model.clips[0].retime(0.25, 0.5, speed=-1))
    >>> crowd = np.random.default_rng(0).uniform(0, 0.25, (2, 1000))
    >>> condyle.sample_frames([bend, back], crowd, [0.75, 0.25]).rotations.shape
    (1000, 2, 4)
    """

def difference(
    poses: Poses | _Arrays,
    reference: Poses | _Arrays,
    *,
    out: Poses | _Arrays | None = None,
    threads: int | None = 1,
) -> Poses:
    """Return the difference between poses and reference poses of the same shape, for use with `add`.

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
    """Return poses with a `difference` added. `amount` scales the difference: 1 adds all of it.

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
    """Interpolate between rotations.

    Parameters
    ----------
    `a`, `b` : array_like, shape (..., 4)
        Unit quaternions x, y, z, w.
    `t` : float or array_like, shape (...)
        Factors from 0 at `a` to 1 at `b`.
    `method` : str
        "slerp4", "slerp6", "slerp9", "eberly1" to "eberly16", "eberly1-halved" to "eberly16-halved",
        "van-waveren", "exact", "nlerp", "corrected-nlerp" or "exponential-map". `error_bound` returns
        the maximum error of each.
    `shorter` : bool
        Take the shorter arc. False takes the arc to `b` with the given sign.
    `extrapolate` : bool
        Do not clamp factors to [0, 1].
    `out` : ndarray of float32, shape (..., 4), optional
        Array for the result.
    `threads` : int or None
        Number of threads. None uses all cores.

    Returns
    -------
    ndarray of float32, shape (..., 4)

    Examples
    --------
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
    """Join the skeletons and clips of several .condyle files into one.

    Parameters
    ----------
    `path` : str or PathLike
        Output file. It may be one of the parts, and appears only when it is complete.
    `parts` : list of bytes, str or PathLike
        Contents of .condyle files, for example from `Clip.to_bytes`, or their paths.
    `names` : list of str, optional
        Names of all clips in order. Default: their current names.
    `units` : list of float or None, optional
        Metres per unit of each part, used if the part does not state it. None means unknown.
    `told` : str, optional
        JSON text for `Library.columns` and `Library.left_out`.

    Notes
    -----
    Equal skeletons are stored once. The output bytes do not depend on the grouping of the parts, so
    joined files can be joined again.

    Examples
    --------
    >>> clip = condyle.open("two_joints.glb").clips[0].encode(shell=0.03)
    >>> condyle.join("twice.condyle", [clip.to_bytes(), "motion.condyle"], names=["a", "b"])
    >>> condyle.Library("twice.condyle")["b"]
    <condyle.Clip "b": 1.500 s, 2 joints, compressed>
    """
def slerp(
    a: ArrayLike, b: ArrayLike, t: ArrayLike, *, out: _Array | None = None, threads: int | None = 1
) -> _Array:
    """Spherical linear interpolation, exact up to float32 rounding: `interpolate` with the method
    "slerp9".

    >>> print(condyle.slerp([0, 0, 0, 1], [1, 0, 0, 0], 0.5).round(4))
    [0.7071 0.     0.     0.7071]
    """
def nlerp(
    a: ArrayLike, b: ArrayLike, t: ArrayLike, *, out: _Array | None = None, threads: int | None = 1
) -> _Array:
    """Normalised linear interpolation: `interpolate` with the method "nlerp".

    >>> print(condyle.nlerp([0, 0, 0, 1], [1, 0, 0, 0], 0.5).round(4))
    [0.7071 0.     0.     0.7071]
    """
def error_bound(method: str, max_angle: float) -> float:
    """Return the maximum difference from exact slerp in any component, for a method of `interpolate`.

    `max_angle` is the largest angle between the two quaternions as 4D vectors, in radians: half of the
    rotation between them, at most pi / 2.

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
    """Solve two-bone limbs: in each frame, move the end of an arm or leg to a goal, or as close as
    possible.

    Parameters
    ----------
    `skeleton` : Skeleton
        Skeleton of the poses.
    `poses` : Poses
        Input poses, with rotations (..., J, 4).
    `joints` : sequence of three int or str
        Shoulder, elbow and hand, or hip, knee and foot. Each is a descendant of the previous one. The
        first two rotate.
    `goals` : array_like, shape (3,) or (..., 3)
        Goal of the third joint in model space, for all frames or per frame.
    `poles` : array_like, shape (3,) or (..., 3), optional
        Directions in model space towards which the middle joint bends.
    `orientations` : array_like, shape (4,) or (..., 4), optional
        Rotations of the third joint in model space, as quaternions x, y, z, w.
    `soft` : float
        Last fraction of the limb's length over which it straightens gradually, for example 0.05. 0 is
        off.
    `weight` : float
        Blend between the input pose (0) and the solution (1).
    `out` : Poses, optional
        Arrays for the result.
    `threads` : int or None
        Number of threads. None uses all cores.

    Returns
    -------
    Poses
        Solved poses in the shape of `poses`.

    Examples
    --------
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
    """Aim a joint: in each frame, rotate it until one of its axes points at a target.

    Parameters
    ----------
    `skeleton` : Skeleton
        Skeleton of the poses.
    `poses` : Poses
        Input poses, with rotations (..., J, 4).
    `joint` : int or str
        Joint to rotate.
    `axis` : sequence of three float
        Axis to aim, in the joint's local space.
    `targets` : array_like, shape (3,) or (..., 3)
        Targets in model space, for all frames or per frame.
    `origin` : sequence of three float
        Origin of the axis in the joint's local space, such as the position of the eyes.
    `up` : pair of (axis, direction), optional
        Second axis in the joint's local space, and the model-space direction that it follows as closely
        as possible. By default the joint takes the shortest rotation.
    `weight` : float
        Blend between the input pose (0) and the solution (1).
    `out` : Poses, optional
        Arrays for the result.
    `threads` : int or None
        Number of threads. None uses all cores.

    Returns
    -------
    Poses
        Solved poses in the shape of `poses`.

    Examples
    --------
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
    """Solve a chain of joints: in each frame, move the end of the chain to a goal, or as close as
    possible.

    Each frame starts from its own input pose.

    Parameters
    ----------
    `skeleton` : Skeleton
        Skeleton of the poses.
    `poses` : Poses
        Input poses, with rotations (..., J, 4).
    `joints` : sequence of int or str
        At most 64 joints. Each is a descendant of the previous one.
    `goals` : array_like, shape (3,) or (..., 3)
        Goals of the last joint in model space, for all frames or per frame.
    `orientations` : array_like, shape (4,) or (..., 4), optional
        Rotations of the last joint in model space, as quaternions x, y, z, w.
    `offset` : sequence of three float
        Point that reaches the goal, in the last joint's local space.
    `method` : "least_squares", "cyclic_descent" or "fabrik"
        Solver.
    `tolerance` : float
        Distance to the goal at which the solver stops, in the units of the skeleton.
    `iterations` : int
        Maximum number of iterations.
    `weight` : float
        Blend between the input pose (0) and the solution (1).
    `out` : Poses, optional
        Arrays for the result.
    `threads` : int or None
        Number of threads. None uses all cores.

    Returns
    -------
    Poses
        Solved poses in the shape of `poses`.

    Examples
    --------
    >>> tail = condyle.Skeleton([-1, 0, 1, 2], translations=[[0, 0, 0], [0, 1, 0], [0, 1, 0], [0, 1, 0]])
    >>> poses = condyle.chain(tail, tail.rest, [0, 1, 2, 3], [1, 1, 1])
    >>> bool(np.allclose(condyle.forward_kinematics(tail, *poses)[3, :, 3], 1, atol=2e-4))
    True
    """
