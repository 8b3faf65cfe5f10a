"""Batch jobs on whole libraries: pose, measure, encode, pack or retarget clips in any number of processes.

>>> from condyle import jobs
>>> done = jobs.run(jobs.Pose("motion.condyle", "posed", rate=30), workers=1)
>>> len(done["shards"]), done["clips"]
(1, 1)
>>> jobs.Posed("posed")[0].shape
(46, 2, 3)

A job is split into shards of `per_shard` clips of a library, or files of a folder. `plan` lists the shards,
`do` computes one in any process, and `finish` joins the results and writes ``manifest.json``. `run` performs
these steps on this machine. `condyle.ray` and `condyle.dask` run them on a cluster, whose machines must see
the files at the same paths.

Each file is written under a temporary name and renamed when it is complete. A receipt with the SHA-256 of the
shard is written after it. A shard with a receipt is not computed again; a shard without one is. A process may
therefore be killed at any moment, and running the job again continues it. A source that changes during a job
raises an error. A folder holds the results of one job at a time; the results of another job are replaced when
the new job is complete.

The output bytes do not depend on the number of workers. If machines differ, set ``CONDYLE_NUMERIC=portable``
on all of them.
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

import condyle
from condyle._shards import Bar, Facts, Job, Shard, digest_of, do, finish, hash_json, hash_of, run

__all__ = ["Bar", "Encode", "Job", "Measure", "Pack", "Pose", "Posed", "Retarget", "Shard", "do", "finish", "run"]

# Extensions of motion files.
_ENDINGS = (".bvh", ".fbx", ".glb", ".gltf", ".vrm", ".vrma", ".npz")


@dataclass(frozen=True)
class _OfLibrary(Job):
    """Job whose source is a .condyle file."""

    def plan(self) -> list[Shard]:
        digest = _digest(self.source)
        return self._shards(range(len(condyle.Library(self.source))), lambda _: digest)

    def state(self, items: Sequence[Any]) -> str:
        return _digest(self.source)

    def library(self) -> condyle.Library:
        """Library, opened once for all shards of this process."""
        return _library(self.source, _digest(self.source))


@dataclass(frozen=True)
class Pose(_OfLibrary):
    """Sample all clips at a fixed rate. `Posed` reads the result.

    Parameters
    ----------
    `source` : str
        Path of the library, a .condyle file.
    `out` : str
        Output folder.
    `per_shard` : int
        Number of clips per shard.
    `rate` : float
        Frames per second.
    `what` : "joints" or "matrices"
        Joint positions in model space, or 3x4 model matrices, in the units of the library.

    Notes
    -----
    A shard is an array with one row per joint and frame, all clips concatenated. ``index.npy`` has one int64
    row per clip: shard, first row, number of frames and number of joints.
    """

    _: KW_ONLY
    rate: float = 30.0
    what: Literal["joints", "matrices"] = "joints"

    kind = "pose"
    ending = ".npy"
    result = "index.npy"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._above_zero("rate")
        if self.what not in ("joints", "matrices"):
            raise condyle.Error(f"what must be 'joints' or 'matrices', got {self.what!r}")

    def write(self, shard: Shard, path: Path) -> Facts:
        library = self.library()
        clips = [library[int(at)] for at in shard.items]
        times = [_moments(clip, self.rate) for clip in clips]
        joints = [len(clip.skeleton) for clip in clips]
        rows = sum(len(t) * j for t, j in zip(times, joints))
        shape = (rows, 3) if self.what == "joints" else (rows, 3, 4)
        with path.open("wb") as file:
            # Clips are written one at a time, because a whole shard may exceed the memory.
            header = {"descr": "<f4", "fortran_order": False, "shape": shape}
            np.lib.format.write_array_header_1_0(file, header)
            for clip, t in zip(clips, times):
                matrices = condyle.forward_kinematics(clip.skeleton, *clip.sample(t))
                own = matrices[..., 3] if self.what == "joints" else matrices
                file.write(own.astype("<f4").tobytes())
        return {"frames": [len(t) for t in times], "joints": joints}

    def join(self, shards: list[Path], facts: list[Facts], path: Path) -> Facts:
        index = []
        for at, of in enumerate(facts):
            first = 0
            for frames, joints in zip(of["frames"], of["joints"]):
                index.append((at, first, frames, joints))
                first += frames * joints
        with path.open("wb") as file:
            np.save(file, np.array(index, "i8").reshape(-1, 4))
        return {"clips": len(index), "frames": sum(frames for _, _, frames, _ in index)}


class Posed:
    """Result of a `Pose` job: ``posed[i]`` holds clip i as joints (T, J, 3) or matrices (T, J, 3, 4).

    The arrays are read-only and memory-mapped. A pickle contains only the path of the folder.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._folder = Path(os.path.abspath(folder))
        manifest = json.loads((self._folder / "manifest.json").read_bytes())
        index = self._folder / Pose.result
        if manifest["kind"] != Pose.kind or hash_of(index) != manifest["result"]["sha256"]:
            raise condyle.Error(f"{folder} contains no poses, or the job is incomplete; run it again")
        self._files = [shard["file"] for shard in manifest["shards"]]
        self._index: NDArray[np.int64] = np.load(index)
        self._opened: dict[int, NDArray[np.float32]] = {}

    def __len__(self) -> int:
        return len(self._index)

    def __getitem__(self, clip: int) -> NDArray[np.float32]:
        at, first, frames, joints = map(int, self._index[clip])
        if at not in self._opened:
            self._opened[at] = np.load(self._folder / self._files[at], mmap_mode="r")
        rows = self._opened[at][first : first + frames * joints]
        return rows.reshape(frames, joints, *rows.shape[1:])

    def __reduce__(self) -> tuple[type[Posed], tuple[Path]]:
        return Posed, (self._folder,)


@dataclass(frozen=True)
class Measure(_OfLibrary):
    """Compute figures of all clips, one JSON object per line of ``figures.jsonl``.

    Each line has the name, skeleton index, number of joints and duration of a clip. It also has the bounding
    box of all joints at `rate` frames per second, and the maximum speed of a joint between frames. Lengths
    are in the units of the library.
    """

    _: KW_ONLY
    rate: float = 30.0

    kind = "measure"
    ending = ".jsonl"
    result = "figures.jsonl"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._above_zero("rate")

    def write(self, shard: Shard, path: Path) -> Facts:
        library = self.library()
        skeletons = library.skeleton_indices
        with path.open("w", encoding="utf-8", newline="\n") as file:
            for at in map(int, shard.items):
                file.write(json.dumps(self._line(library[at], int(skeletons[at]))) + "\n")
        return {}

    def _line(self, clip: condyle.Clip, skeleton: int) -> Facts:
        matrices = condyle.forward_kinematics(clip.skeleton, *clip.sample(_moments(clip, self.rate)))
        places = matrices[..., 3].astype("f8")
        steps = np.diff(places, axis=0)
        # Explicit, so that the order of summation is the same on all platforms.
        squares = steps[..., 0] ** 2 + steps[..., 1] ** 2 + steps[..., 2] ** 2
        return {
            "name": clip.name,
            "skeleton": skeleton,
            "joints": len(clip.skeleton),
            "seconds": clip.duration,
            "low": places.min(axis=(0, 1)).tolist(),
            "high": places.max(axis=(0, 1)).tolist(),
            "speed_max": float(np.sqrt(squares.max(initial=0.0))) * self.rate,
        }

    def join(self, shards: list[Path], facts: list[Facts], path: Path) -> Facts:
        lines = 0
        with path.open("wb") as file:
            for shard in shards:
                data = shard.read_bytes()
                lines += data.count(b"\n")
                file.write(data)
        return {"clips": lines}


@dataclass(frozen=True)
class Encode(_OfLibrary):
    """Re-encode a library with another error bound, as ``library.condyle``.

    Each clip is sampled at its own rate, or at `rate`, and encoded within `budget` metres of the samples. The
    existing error of the clip adds to this. A clip with data other than poses (`Clip.extras`) raises `Error`,
    because that data would be lost.
    """

    _: KW_ONLY
    budget: float = 0.0005
    shell: float = 0.03
    best: bool = False
    rate: float | None = None

    kind = "encode"
    ending = ".condyle"
    result = "library.condyle"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._above_zero("budget", "shell", *(["rate"] if self.rate is not None else []))

    def write(self, shard: Shard, path: Path) -> Facts:
        library = self.library()
        skeletons, units = library.skeleton_indices, library.units
        clips, metres = [], []
        for at in map(int, shard.items):
            clip, unit = library[at], units[skeletons[at]]
            if clip.extras:
                raise condyle.Error(f"the clip {clip.name!r} has {' and '.join(clip.extras)}, which would be lost")
            # A clip with a single frame has no rate.
            rate = self.rate or clip.rate or None
            frames = round(clip.duration * (rate or 30.0))
            times = np.unique(np.linspace(clip.start, clip.end, frames + 1, dtype="f4"))
            keys = condyle.Clip.from_poses(clip.skeleton, times, *clip.sample(times), name=clip.name)
            own = 1.0 if unit is None else unit
            small = keys.encode(self.budget / own, shell=self.shell / own, best=self.best, rate=rate)
            clips.append(small.to_bytes())
            metres.append(unit)
        condyle.join(path, clips, units=metres)
        return {}

    def join(self, shards: list[Path], facts: list[Facts], path: Path) -> Facts:
        library = self.library()
        # Stored errors and sizes are no longer valid.
        kept = ("name", "source", "tags", "seconds", "joints")
        columns = {name: column for name, column in library.columns.items() if name in kept}
        condyle.join(path, shards, told=json.dumps({"columns": columns, "left_out": library.left_out}))
        return {"clips": len(library)}


@dataclass(frozen=True)
class Pack(Job):
    """Encode all motion files of a folder (.bvh, .glb, .gltf, .vrm, .vrma, .npz) as ``library.condyle``.

    Parameters
    ----------
    `source` : str
        Folder of motion files.
    `out` : str
        Output folder.
    `per_shard` : int
        Number of files per shard.
    `budget` : float
        Maximum error in metres at each vertex, or within `shell` of joints without a mesh.
    `shell` : float
        Radius around joints in metres.
    `best` : bool
        Whether to search longer for a smaller result.
    `unit` : float, optional
        Metres per unit of the files. Default: the unit stated by each file, else 1.
    `up` : "y" or "z"
        Up axis of the files; see `open`.
    `body` : str or dict, optional
        Body model for .npz motions, shaped by the coefficients of each motion, in metres. A dict maps genders
        to files: ``{"female": "F.npz", "male": "M.npz", "neutral": "N.npz"}``. A motion whose gender is
        missing from the dict, or not stated, uses the neutral model.

    Notes
    -----
    Files that cannot be used are left out, and `Library.left_out` lists the reasons. Without a suitable body
    model, a .npz motion is left out too. Clips, names, order and tags match those of ``condyle encode
    FOLDER`` on one machine. The columns are only name, source, tags, seconds, rate_hz, joints and repairs,
    because errors are not measured. The bytes therefore differ from those of ``condyle encode FOLDER``.
    """

    _: KW_ONLY
    per_shard: int = 64
    budget: float = 0.0005
    shell: float = 0.03
    best: bool = False
    unit: float | None = None
    up: Literal["y", "z"] = "y"
    body: str | Mapping[str, str] | None = None

    kind = "pack"
    ending = ".condyle"
    result = "library.condyle"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._above_zero("budget", "shell", *(["unit"] if self.unit is not None else []))
        if self.up not in ("y", "z"):
            raise condyle.Error(f'up must be "y" or "z", got {self.up!r}')
        if isinstance(self.body, Mapping):
            unknown = [gender for gender in self.body if gender not in _GENDERS]
            if unknown or not self.body:
                found = ", ".join(map(repr, unknown)) or "empty"
                raise condyle.Error(f"body must map 'female', 'male' or 'neutral' to files, got {found}")
            self._set("body", {gender: os.path.abspath(path) for gender, path in sorted(self.body.items())})
        elif self.body is not None:
            self._set("body", os.path.abspath(self.body))

    def plan(self) -> list[Shard]:
        if not os.path.isdir(self.source):
            raise condyle.Error(f"{self.source} is not a folder")
        bodies = self._bodies()
        # Reports an unusable body model once instead of once per motion.
        for path in bodies:
            _body_model(path, _stamp(Path(path)))
        found = []
        for folder, _, names in os.walk(self.source):
            own = Path(folder).relative_to(self.source)
            found += [(own / name).as_posix() for name in names if name.lower().endswith(_ENDINGS)]
        # A body model contains no motion.
        found = [name for name in found if not any(_is_same(Path(self.source, name), Path(path)) for path in bodies)]
        if not found:
            raise condyle.Error(f"{self.source} contains no file that ends in {', '.join(_ENDINGS)}")
        return self._shards(tuple(sorted(found)), self.state)

    def state(self, items: Sequence[Any]) -> str:
        folder = Path(self.source)
        body = [_stamp(Path(path)) for path in self._bodies()]
        return hash_json([[name, *map(_stamp, _files_of(folder / name)), *(body if _is_of_body(name) else [])] for name in items])

    def settings(self) -> Facts:
        """Settings without the path of the body, because only the contents of its file matter."""
        told = super().settings()
        del told["settings"]["body"]
        return told

    def write(self, shard: Shard, path: Path) -> Facts:
        parts: list[bytes] = []
        units: list[float] = []
        lines: list[Facts] = []
        left_out: list[dict[str, str]] = []
        for source in map(str, shard.items):
            try:
                clips, unit, repairs = self._clips(source)
            except (condyle.Error, OSError, UnicodeError) as why:
                # Do not leak the absolute path of the folder.
                left_out.append({"source": source.encode(errors="replace").decode(), "why": str(why).replace(self.source + os.sep, "")})
                continue
            # Invalid UTF-8 in file names is replaced.
            source = source.encode(errors="replace").decode()
            stem = source.rsplit(".", 1)[0]
            for clip, more in clips:
                name = stem if len(clips) == 1 else f"{stem}/{clip.name}"
                lines.append(_told(name, source, clip, repairs) | more)
                parts.append(clip.to_bytes())
                units.append(unit)
        condyle.join(path, parts, units=units)
        return {"clips": lines, "left_out": left_out}

    def _bodies(self) -> list[str]:
        """Paths of the body models, in order of gender."""
        if isinstance(self.body, str) or self.body is None:
            return [] if self.body is None else [self.body]
        return list(self.body.values())

    def _body_of(self, motion: condyle.BodyMotion) -> condyle.Body:
        path = self.body
        if isinstance(path, Mapping):
            path = path.get(motion.gender) or path.get("neutral")
        if path is None:
            raise condyle.Error(f"its gender is {motion.gender!r}, but body= has neither this model nor a neutral one")
        who = _body_model(path, _stamp(Path(path)))
        return who.shaped(motion.betas[: who.shape_count])

    def _clips(self, source: str) -> tuple[list[tuple[condyle.Clip, Facts]], float, int]:
        """Clips of a file with further facts, metres per unit, and number of repaired problems."""
        model, unit, repairs = self._open(source)
        budget, shell = self.budget / unit, self.shell / unit
        return [(model.encode(clip, budget, shell=shell, best=self.best), {}) for clip in model.clips], unit, repairs

    def _open(self, source: str) -> tuple[condyle.Model, float, int]:
        """Model with motion, metres per unit, and number of repaired problems."""
        path = os.path.join(self.source, source)
        body = None
        if self.body is not None and _is_of_body(source):
            body = self._body_of(condyle.BodyMotion(path))
        given = None if _is_of_body(source) else self.unit
        model = condyle.open(path, body=body, unit=given, up=self.up)
        if not model.clips:
            raise condyle.Error("it contains no motion")
        repairs = sum(problem.severity == "warning" for problem in model.problems)
        return model, given or model.unit or 1.0, repairs

    def join(self, shards: list[Path], facts: list[Facts], path: Path) -> Facts:
        clips = [clip for of in facts for clip in of["clips"]]
        left_out = [file for of in facts for file in of["left_out"]]
        if not clips:
            first = left_out[0]
            raise condyle.Error(f"{self.source}: none of its files can be used; {first['source']}: {first['why']}")
        names = _distinct([clip["name"] for clip in clips])
        columns = {name: [clip[name] for clip in clips] for name in clips[0] if name != "certificate"} | {"name": names}
        told = json.dumps({"columns": columns, "left_out": left_out})
        condyle.join(path, shards, names=names, told=told)
        return {"clips": len(clips), "left_out": left_out}


@dataclass(frozen=True)
class Retarget(Pack):
    """Put all motion of a folder on one character, as ``library.condyle``.

    Parameters
    ----------
    `source`, `out`, `per_shard`, `budget`, `shell`, `best`, `unit`, `up`, `body`
        See `Pack`. The budget and the shell refer to the character.
    `on` : str
        File of the character that receives the motion.
    `ratio` : float or {'legs', 'hip-height'}
        Size of the steps; see `retarget`. A number needs `unit` if the files state none.
    `hands` : bool
        Keeps hands that are near each other so.
    `ground` : {'rest', 'clip'} or None
        Where the ground under the motion comes from; see `retarget`.

    Notes
    -----
    ``manifest.json`` has the certificate of each clip in ``certificates``; see `retarget`. Files that are not
    a humanoid are left out, with the reason.
    """

    _: KW_ONLY
    on: str
    ratio: float | Literal["legs", "hip-height"] = "legs"
    hands: bool = False
    ground: Literal["rest", "clip"] | None = None

    kind = "retarget"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.ratio, str):
            self._above_zero("ratio")
        elif self.ratio not in ("legs", "hip-height"):
            raise condyle.Error(f"ratio must be 'legs', 'hip-height' or a number above 0, got {self.ratio!r}")
        if self.ground not in (None, "rest", "clip"):
            raise condyle.Error(f"ground must be 'rest', 'clip' or None, got {self.ground!r}")
        self._set("on", os.path.abspath(self.on))

    def plan(self) -> list[Shard]:
        # Reports an unusable character once instead of once per motion.
        condyle.rig(_character(self.on, _stamp(Path(self.on))))
        return super().plan()

    def state(self, items: Sequence[Any]) -> str:
        return hash_json([super().state(items), [_stamp(path) for path in _files_of(Path(self.on))]])

    def settings(self) -> Facts:
        """Settings without the path of the character, because only the contents of its file matter."""
        told = super().settings()
        del told["settings"]["on"]
        return told

    def _clips(self, source: str) -> tuple[list[tuple[condyle.Clip, Facts]], float, int]:
        model, _, repairs = self._open(source)
        character = _character(self.on, _stamp(Path(self.on)))
        unit = character.unit or 1.0
        budget, shell = self.budget / unit, self.shell / unit
        clips: list[tuple[condyle.Clip, Facts]] = []
        for clip in model.clips:
            options: Facts = {"ratio": self.ratio, "hands": self.hands, "ground": self.ground}
            moved, certificates = condyle.retarget(model, character, clip, **options)
            small = moved.encode(moved.clips[0], budget, shell=shell, best=self.best)
            [certificate] = certificates.values()
            clips.append((small, {"certificate": certificate}))
        return clips, unit, repairs

    def join(self, shards: list[Path], facts: list[Facts], path: Path) -> Facts:
        told = super().join(shards, facts, path)
        clips = [clip for of in facts for clip in of["clips"]]
        names = _distinct([clip["name"] for clip in clips])
        return told | {"certificates": [{"name": name, **clip["certificate"]} for name, clip in zip(names, clips)]}


# Digests of libraries by path, size and modification time, because hashing the table of a million clips is
# slow.
_digests: dict[tuple[str, int, int], str] = {}


def _digest(path: str) -> str:
    """Hash of the table of a library, which contains the checksums of all clips. See docs/format.md."""
    if os.path.exists(path) and not os.path.isfile(path):
        raise condyle.Error(f"{path} is not a file; pass a .condyle file")
    with open(path, "rb") as file:
        status = os.fstat(file.fileno())
        stamp = (path, status.st_size, status.st_mtime_ns)
        if stamp not in _digests:
            head = file.read(32)
            entries, names = struct.unpack_from("<II", head.ljust(32), 12)
            length = 40 * entries + -(-names // 8) * 8 + 8
            if not head.startswith(b"CONDYLE\0") or length > status.st_size:
                raise condyle.Error(f"{path} is not a library; pass a .condyle file")
            _digests.clear()
            _digests[stamp] = digest_of(head + file.read(length))
        return _digests[stamp]


# Last library used by this process, by path and digest.
_opened: dict[tuple[str, str], condyle.Library] = {}


def _library(path: str, digest: str) -> condyle.Library:
    return _kept(_opened, 1, (path, digest), lambda: condyle.Library(path))


_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


def _kept(cache: dict[_Key, _Value], most: int, key: _Key, make: Callable[[], _Value]) -> _Value:
    """Value from a cache of at most `most` values. Threads of a worker may run this simultaneously."""
    value = cache.get(key)
    if value is None:
        value = make()
        if len(cache) >= most:
            cache.clear()
        cache[key] = value
    return value


def _files_of(path: Path) -> list[Path]:
    """Path of a file and of its external buffers."""
    files = [path]
    if path.suffix.lower() == ".gltf" and path.is_file():
        try:
            buffers = json.loads(path.read_bytes())["buffers"]
            uris = [str(buffer["uri"]) for buffer in buffers if "uri" in buffer]
            files += [path.parent / unquote(uri) for uri in uris if not uri.startswith("data:")]
        except (OSError, ValueError, KeyError, TypeError):
            # The problem is reported when the file is opened.
            pass
    return files


def _is_of_body(name: str) -> bool:
    return name.lower().endswith(".npz")


def _is_same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False


# Genders in motion files.
_GENDERS = ("female", "male", "neutral")


# Body models and characters of this process, by path and stamp.
_body_models: dict[tuple[str, tuple[int, int]], condyle.BodyModel] = {}
_characters: dict[tuple[str, tuple[int, int]], condyle.Model] = {}


def _body_model(path: str, stamp: tuple[int, int]) -> condyle.BodyModel:
    return _kept(_body_models, len(_GENDERS), (path, stamp), lambda: condyle.BodyModel(path))


def _character(path: str, stamp: tuple[int, int]) -> condyle.Model:
    return _kept(_characters, 1, (path, stamp), lambda: condyle.open(path))


def _stamp(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except (OSError, ValueError):
        return (-1, -1)
    return (status.st_size, status.st_mtime_ns)


def _moments(clip: condyle.Clip, rate: float) -> NDArray[np.float64]:
    """Frame times from the first key. Includes the last key if it is within a thousandth of a frame."""
    return clip.start + np.arange(int(clip.duration * rate + 1e-3) + 1) / rate


def _told(name: str, source: str, clip: condyle.Clip, repairs: int) -> Facts:
    tags = source.split("/")[:-1]
    told = {"name": name, "source": source, "tags": tags, "seconds": clip.duration}
    return told | {"rate_hz": clip.rate, "joints": len(clip.skeleton), "repairs": repairs}


def _distinct(names: list[str]) -> list[str]:
    """Names made unique: later duplicates get a number."""
    taken, counts, own = set(names), dict[str, int](), []
    for name in names:
        count = counts.get(name, 0) + 1
        while count > 1 and f"{name} {count}" in taken:
            count += 1
        counts[name] = count
        own.append(name if count == 1 else f"{name} {count}")
    return own
