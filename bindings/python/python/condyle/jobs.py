"""Whole libraries at once: posed, encoded, packed or measured, in as many processes as there are.

>>> from condyle import jobs
>>> done = jobs.run(jobs.Pose("motion.condyle", "posed", rate=30), workers=1)
>>> len(done["shards"]), done["clips"]
(1, 1)
>>> jobs.Posed("posed")[0].shape
(46, 2, 3)

A job is cut into shards by the order of the library (or of the files of a folder), `per_shard` in each. `plan` says
which there are, `do` makes one in whatever process, `finish` joins what has to be joined and writes ``manifest.json``
last of all. `run` does this in one process or several of this machine; `condyle.ray` and `condyle.dask` hand the same
three to a cluster, whose machines see the same files at the same paths.

Each file is written under a name of its own and renamed when it is whole, and beside each shard a receipt with its
SHA-256 is written after it. A shard that has its receipt is not made again, whoever made it; one without is made anew.
So a process can be killed at any moment, and a job that was ended goes on where it was when it is run again. A source
that changes in between is an error. A folder is for one job at a time: what another one has left there is replaced when
the new one is whole. The result has the same bytes for any number of workers. Where machines differ,
set ``CONDYLE_NUMERIC=portable`` on all.
"""

from __future__ import annotations

import hashlib
import json
import operator
import os
import platform
import re
import struct
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import KW_ONLY, asdict, dataclass
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

import condyle

__all__ = ["Bar", "Encode", "Job", "Measure", "Pack", "Pose", "Posed", "Shard", "do", "finish", "run"]

_Facts = dict[str, Any]

# What holds motion.
_ENDINGS = (".bvh", ".glb", ".gltf", ".vrm", ".vrma")
# How often workers may die in a row without any shard being made.
_DEATHS = 3


@dataclass(frozen=True)
class Shard:
    """A part of a job."""

    # Its number.
    at: int
    # The clips or files in it.
    items: Sequence[int] | tuple[str, ...]
    # A hash of what these clips or files were when the job was planned.
    source: str
    # A hash of all that makes the bytes of the shard what they are: of `source` and of the settings.
    key: str


@dataclass(frozen=True)
class Job(ABC):
    """What is made of `source`, in the folder `out`."""

    source: str
    out: str
    _: KW_ONLY
    per_shard: int = 256

    kind: ClassVar[str]
    ending: ClassVar[str]
    # The file in `out` that `join` writes.
    result: ClassVar[str]

    def __post_init__(self) -> None:
        # Workers may be in another folder.
        self._set("source", os.path.abspath(self.source))
        self._set("out", os.path.abspath(self.out))
        result, shards = Path(self.out, self.result), Path(self.out, "shards")
        source = Path(os.path.realpath(self.source))
        if source == Path(os.path.realpath(result)) or Path(os.path.realpath(shards)) in source.parents:
            raise condyle.Error(f"{self.source} would be written over; choose another folder than {self.out}")
        self._set("per_shard", operator.index(self.per_shard))
        if self.per_shard < 1:
            raise condyle.Error(f"per_shard is {self.per_shard}, at least 1 is wanted")

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    def _above_zero(self, *names: str) -> None:
        """Checks settings, and makes plain numbers of those of NumPy."""
        for name in names:
            value = float(getattr(self, name))
            if not 0 < value < float("inf"):
                raise condyle.Error(f"{name} is {value:g}, a number above 0 is wanted")
            self._set(name, value)

    @abstractmethod
    def plan(self) -> list[Shard]:
        """The shards, in their order."""

    @abstractmethod
    def state(self, items: Sequence[Any]) -> str:
        """What tells whether these items of the source have changed."""

    @abstractmethod
    def write(self, shard: Shard, path: Path) -> _Facts:
        """Makes a shard, and tells what `join` has to know of it."""

    @abstractmethod
    def join(self, shards: list[Path], facts: list[_Facts], path: Path) -> _Facts:
        """Makes the result of all shards, and tells what goes into the manifest."""

    def path(self, shard: Shard) -> Path:
        """The file of a shard."""
        return Path(self.out, "shards", f"{shard.at:05}.{shard.key[:16]}{self.ending}")

    def key(self, at: int, source: str) -> str:
        """`Shard.key`, as this process would make it."""
        return _hash_json([self.settings(), at, source])

    def settings(self) -> _Facts:
        """All that makes the bytes what they are, besides the source."""
        own = {name: value for name, value in asdict(self).items() if name not in ("source", "out")}
        versions = {name: version(name) for name in ("condyle", "numpy")}
        numeric = os.environ.get("CONDYLE_NUMERIC", "fast")
        return {"kind": self.kind, "settings": own, "versions": versions, "numeric": numeric}

    def _shards(self, items: Sequence[Any], state: Callable[[Sequence[Any]], str]) -> list[Shard]:
        shards = []
        for at, first in enumerate(range(0, len(items), self.per_shard)):
            own = items[first : first + self.per_shard]
            source = state(own)
            shards.append(Shard(at, own, source, self.key(at, source)))
        return shards


@dataclass(frozen=True)
class _OfLibrary(Job):
    """A job whose source is a file .condyle."""

    def plan(self) -> list[Shard]:
        digest = _digest(self.source)
        return self._shards(range(len(condyle.Library(self.source))), lambda _: digest)

    def state(self, items: Sequence[Any]) -> str:
        return _digest(self.source)

    def library(self) -> condyle.Library:
        """Opened once for all shards that a process makes of it."""
        return _library(self.source, _digest(self.source))


@dataclass(frozen=True)
class Pose(_OfLibrary):
    """All clips at `rate` frames a second: the places of joints in model space, or their 3 by 4 matrices. `Posed` reads the result.

    A shard is an array of one row for each joint of each frame, one clip after another. ``index.npy`` has a line of int64
    for each clip: its shard, its first row, its frames and its joints. Everything is in the units of the library.
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
            raise condyle.Error(f"what is {self.what!r}, 'joints' or 'matrices' is wanted")

    def write(self, shard: Shard, path: Path) -> _Facts:
        library = self.library()
        clips = [library[int(at)] for at in shard.items]
        times = [_moments(clip, self.rate) for clip in clips]
        joints = [len(clip.skeleton) for clip in clips]
        rows = sum(len(t) * j for t, j in zip(times, joints))
        shape = (rows, 3) if self.what == "joints" else (rows, 3, 4)
        with path.open("wb") as file:
            # One clip after another: all of them may be more than memory holds.
            header = {"descr": "<f4", "fortran_order": False, "shape": shape}
            np.lib.format.write_array_header_1_0(file, header)
            for clip, t in zip(clips, times):
                matrices = condyle.forward_kinematics(clip.skeleton, *clip.sample(t))
                own = matrices[..., 3] if self.what == "joints" else matrices
                file.write(own.astype("<f4").tobytes())
        return {"frames": [len(t) for t in times], "joints": joints}

    def join(self, shards: list[Path], facts: list[_Facts], path: Path) -> _Facts:
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
    """What a `Pose` has made: `posed[i]` is clip i, joints (T, J, 3) or matrices (T, J, 3, 4), where it lies in the file.

    Read-only; a pickle of it is the folder's name.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._folder = Path(os.path.abspath(folder))
        manifest = json.loads((self._folder / "manifest.json").read_bytes())
        index = self._folder / Pose.result
        if manifest["kind"] != Pose.kind or _hash_of(index) != manifest["result"]["sha256"]:
            raise condyle.Error(f"{folder} holds no poses, or those of a job that was ended: run it again")
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
    """Figures of all clips, a line of JSON for each in ``figures.jsonl``.

    They are its name, skeleton, joints and seconds, the box around all joints at `rate` frames a second, and the greatest
    speed of a joint from one frame to the next; in the units of the library.
    """

    _: KW_ONLY
    rate: float = 30.0

    kind = "measure"
    ending = ".jsonl"
    result = "figures.jsonl"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._above_zero("rate")

    def write(self, shard: Shard, path: Path) -> _Facts:
        library = self.library()
        skeletons = library.skeleton_indices
        with path.open("w", encoding="utf-8", newline="\n") as file:
            for at in map(int, shard.items):
                file.write(json.dumps(self._line(library[at], int(skeletons[at]))) + "\n")
        return {}

    def _line(self, clip: condyle.Clip, skeleton: int) -> _Facts:
        matrices = condyle.forward_kinematics(clip.skeleton, *clip.sample(_moments(clip, self.rate)))
        places = matrices[..., 3].astype("f8")
        steps = np.diff(places, axis=0)
        # Written out, so that the order of the sum is the same everywhere.
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

    def join(self, shards: list[Path], facts: list[_Facts], path: Path) -> _Facts:
        lines = 0
        with path.open("wb") as file:
            for shard in shards:
                data = shard.read_bytes()
                lines += data.count(b"\n")
                file.write(data)
        return {"clips": lines}


@dataclass(frozen=True)
class Encode(_OfLibrary):
    """The library at another error bound, as ``library.condyle``.

    Each clip is sampled at the rate it has, or at `rate`, and encoded within `budget` metres of that, so that what it was
    off before is added. A clip that holds more than poses (`Clip.extras`) is an error, as that would be lost.
    """

    _: KW_ONLY
    budget: float = 0.0005
    shell: float = 0.03
    effort: Literal["fast", "normal", "best"] = "normal"
    rate: float | None = None

    kind = "encode"
    ending = ".condyle"
    result = "library.condyle"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._above_zero("budget", "shell", *(["rate"] if self.rate is not None else []))
        _check_effort(self.effort)

    def write(self, shard: Shard, path: Path) -> _Facts:
        library = self.library()
        skeletons, units = library.skeleton_indices, library.units
        clips, metres = [], []
        for at in map(int, shard.items):
            clip, unit = library[at], units[skeletons[at]]
            if clip.extras:
                raise condyle.Error(f"the clip {clip.name!r} holds {' and '.join(clip.extras)} besides poses")
            rate = self.rate or clip.rate
            frames = round(clip.duration * (rate or 30.0))
            times = np.unique(np.linspace(clip.start, clip.end, frames + 1, dtype="f4"))
            keys = condyle.Clip.from_poses(clip.skeleton, times, *clip.sample(times), name=clip.name)
            own = 1.0 if unit is None else unit
            small = keys.encode(self.budget / own, shell=self.shell / own, effort=self.effort, rate=rate)
            clips.append(small.to_bytes())
            metres.append(unit)
        condyle.join(path, clips, units=metres)
        return {}

    def join(self, shards: list[Path], facts: list[_Facts], path: Path) -> _Facts:
        library = self.library()
        # What was said of errors and sizes is no longer so.
        kept = ("name", "source", "tags", "seconds", "joints")
        columns = {name: column for name, column in library.columns.items() if name in kept}
        condyle.join(path, shards, told=json.dumps({"columns": columns, "left_out": library.left_out}))
        return {"clips": len(library)}


@dataclass(frozen=True)
class Pack(Job):
    """All motion of a folder (.bvh, .glb, .gltf, .vrm, .vrma) as ``library.condyle``.

    Clips are within `budget` metres at each vertex, or at the distance `shell` from joints where there is no mesh. A unit of
    the files is `unit` metres. A file that cannot be used is left out, and the library says why. It has the clips, names,
    order and tags of what ``condyle pack-library`` writes of these files on one machine, but of the columns only name,
    source, tags, seconds, rate_hz and joints, as errors are not measured; so the two are not the same bytes. Motions of
    bodies (.npz) are packed by that alone.
    """

    _: KW_ONLY
    per_shard: int = 64
    budget: float = 0.0005
    shell: float = 0.03
    effort: Literal["fast", "normal", "best"] = "normal"
    unit: float = 1.0

    kind = "pack"
    ending = ".condyle"
    result = "library.condyle"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._above_zero("budget", "shell", "unit")
        _check_effort(self.effort)

    def plan(self) -> list[Shard]:
        if not os.path.isdir(self.source):
            raise condyle.Error(f"{self.source} is not a folder")
        found = []
        for folder, _, names in os.walk(self.source):
            own = Path(folder).relative_to(self.source)
            found += [(own / name).as_posix() for name in names if name.lower().endswith(_ENDINGS)]
        if not found:
            raise condyle.Error(f"{self.source} holds no file that ends in {', '.join(_ENDINGS)}")
        return self._shards(tuple(sorted(found)), self.state)

    def state(self, items: Sequence[Any]) -> str:
        folder = Path(self.source)
        return _hash_json([[name, *map(_stamp, _files_of(folder / name))] for name in items])

    def write(self, shard: Shard, path: Path) -> _Facts:
        parts: list[bytes] = []
        lines: list[_Facts] = []
        left_out: list[dict[str, str]] = []
        for source in map(str, shard.items):
            try:
                clips = self._clips(source)
            except (condyle.Error, OSError, UnicodeError) as why:
                # Where the folder lies is nobody's business.
                left_out.append({"source": source.encode(errors="replace").decode(), "why": str(why).replace(self.source + os.sep, "")})
                continue
            # What is no UTF-8 in a name has a mark of its own.
            source = source.encode(errors="replace").decode()
            stem = source.rsplit(".", 1)[0]
            for clip in clips:
                name = stem if len(clips) == 1 else f"{stem}/{clip.name}"
                lines.append(_told(name, source, clip))
                parts.append(clip.to_bytes())
        condyle.join(path, parts, units=[self.unit] * len(parts))
        return {"clips": lines, "left_out": left_out}

    def _clips(self, source: str) -> list[condyle.Clip]:
        model = condyle.open(os.path.join(self.source, source))
        if not model.clips:
            raise condyle.Error("it holds no motion")
        budget, shell = self.budget / self.unit, self.shell / self.unit
        return [model.encode(clip, budget, shell=shell, effort=self.effort) for clip in model.clips]

    def join(self, shards: list[Path], facts: list[_Facts], path: Path) -> _Facts:
        clips = [clip for of in facts for clip in of["clips"]]
        left_out = [file for of in facts for file in of["left_out"]]
        if not clips:
            first = left_out[0]
            raise condyle.Error(f"{self.source}: none of its files can be used, as {first['source']}: {first['why']}")
        names = _distinct([clip["name"] for clip in clips])
        columns = {name: [clip[name] for clip in clips] for name in clips[0]} | {"name": names}
        told = json.dumps({"columns": columns, "left_out": left_out})
        condyle.join(path, shards, names=names, told=told)
        return {"clips": len(clips), "left_out": left_out}


class Bar(Protocol):
    """What tells of progress, as tqdm's bars do."""

    def update(self, n: int, /) -> object:
        """So many steps more are done."""


def run(job: Job, workers: int = 1, *, progress: Bar | None = None) -> _Facts:
    """Does a job in so many processes of this machine, and returns what its manifest says.

    With one worker it is done here, without another process. With more, a script has to keep what it does under
    ``if __name__ == "__main__":``, as the processes read it too. A worker that dies is replaced; after three deaths
    without a shard made in between the job fails, and can be run again. `progress` is a bar with a step for each shard,
    of which there are ``len(job.plan())``.
    """
    if workers < 1:
        raise condyle.Error(f"workers is {workers}, at least 1 is wanted")
    shards = job.plan()
    if workers == 1:
        for shard in shards:
            do(job, shard)
            _tell(progress, 1)
    else:
        _in_processes(job, shards, workers, progress)
    return finish(job, shards)


def _tell(bar: Bar | None, steps: int) -> None:
    if bar is not None and steps > 0:
        bar.update(steps)


def _in_processes(job: Job, shards: list[Shard], workers: int, progress: Bar | None) -> None:
    deaths = 0
    while shards:
        with ProcessPoolExecutor(min(workers, len(shards)), mp_context=get_context("spawn")) as pool:
            futures = [pool.submit(do, job, shard) for shard in shards]
            try:
                for future in as_completed(futures):
                    if future.exception() is not None:
                        break
                    _tell(progress, 1)
            finally:
                # Also where a bar raises something.
                pool.shutdown(cancel_futures=True)
        for future in futures:
            # Those that were cancelled are made in the next round, if there is one.
            error = None if future.cancelled() else future.exception()
            if error is not None and not isinstance(error, BrokenProcessPool):
                raise error
        left = [shard for shard, it in zip(shards, futures) if it.cancelled() or it.exception() is not None]
        deaths = deaths + 1 if len(left) == len(shards) else 0
        if deaths == _DEATHS:
            first = left[0].at
            raise condyle.Error(f"workers died {deaths} times in a row; the first shard that is not made is {first}")
        shards = left


def do(job: Job, shard: Shard) -> int:
    """Makes a shard, unless it is there already, and returns its number."""
    if job.key(shard.at, shard.source) != shard.key:
        raise condyle.Error("this process has another version or CONDYLE_NUMERIC than the one that planned the job")
    path = job.path(shard)
    path.parent.mkdir(parents=True, exist_ok=True)
    receipt = _receipt(job, shard)
    if receipt is None or receipt["sha256"] != _hash_of(path):
        with _draft(path) as draft:
            facts = job.write(shard, draft)
            if job.state(shard.items) != shard.source:
                raise condyle.Error(f"{job.source} has changed since the job was planned; run it again")
            told = {"key": shard.key, "bytes": draft.stat().st_size, "sha256": _hash_of(draft), "facts": facts}
        _write_json(path.with_suffix(".json"), told)
    return shard.at


def finish(job: Job, shards: list[Shard]) -> _Facts:
    """Joins the shards, all of which have to be made, and writes the manifest, which it returns.

    A folder holds what one job has made: another one with other settings makes all of it anew.
    """
    receipts = [_receipt(job, shard) for shard in shards]
    missing = [shard.at for shard, receipt in zip(shards, receipts) if receipt is None]
    if missing:
        raise condyle.Error(f"{len(missing)} of {len(shards)} shards are not made, the first is {missing[0]}")
    whole = [receipt for receipt in receipts if receipt is not None]
    paths = [job.path(shard) for shard in shards]
    result = Path(job.out, job.result)
    result.parent.mkdir(parents=True, exist_ok=True)
    with _draft(result) as draft:
        facts = job.join(paths, [receipt["facts"] for receipt in whole], draft)
        figures = {"file": job.result, "bytes": draft.stat().st_size, "sha256": _hash_of(draft)}
    told = [
        {"file": f"shards/{path.name}", "count": len(shard.items), "bytes": it["bytes"], "sha256": it["sha256"]}
        for shard, path, it in zip(shards, paths, whole)
    ]
    manifest = {**job.settings(), **facts, "result": figures, "shards": told}
    _write_json(Path(job.out, "manifest.json"), manifest)
    _clear(Path(job.out), {path.name for path in paths} | {path.with_suffix(".json").name for path in paths})
    return manifest


def _clear(out: Path, known: set[str]) -> None:
    """Takes away what workers that died have left, and the shards of other jobs."""
    for path in out.glob("*.draft*"):
        if _is_left(path.name):
            path.unlink(missing_ok=True)
    for path in out.glob("shards/*"):
        is_ours = re.fullmatch(r"\d{5,}\.[0-9a-f]{16}\.(npy|jsonl|condyle|json)", path.name)
        if path.name not in known and (is_ours or _is_left(path.name)):
            path.unlink(missing_ok=True)


def _is_left(name: str) -> bool:
    """Whether it is a draft of a process of this machine that is no more."""
    found = re.fullmatch(r".*\.([0-9a-f]{8})\.(\d+)\.[0-9a-f]{32}\.draft(\..*\.joining)?", name)
    if found is None or found[1] != _machine():
        return False
    try:
        os.kill(int(found[2]), 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return int(found[2]) == os.getpid()


def _machine() -> str:
    return _hash(platform.node().encode())[:8]


def _receipt(job: Job, shard: Shard) -> _Facts | None:
    """Of a shard that was made as it would be now."""
    path = job.path(shard)
    try:
        told = json.loads(path.with_suffix(".json").read_bytes())
        fits = told["key"] == shard.key and told["bytes"] == path.stat().st_size
        fits = fits and isinstance(told["sha256"], str) and isinstance(told["facts"], dict)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return told if fits else None


@contextmanager
def _draft(path: Path) -> Iterator[Path]:
    """A file that nobody else writes, which becomes `path` when it is whole."""
    draft = path.with_name(f"{path.name}.{_machine()}.{os.getpid()}.{uuid.uuid4().hex}.draft")
    try:
        yield draft
        with draft.open("rb+") as file:
            os.fsync(file.fileno())
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)


def _write_json(path: Path, told: _Facts) -> None:
    with _draft(path) as draft:
        draft.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8", newline="\n")


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _hash_json(told: Any) -> str:
    return _hash(json.dumps(told).encode())


def _hash_of(path: Path) -> str:
    whole = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            whole.update(block)
    return whole.hexdigest()


# Digests of libraries, by their paths, sizes and times: a table of a million clips takes a while.
_digests: dict[tuple[str, int, int], str] = {}


def _digest(path: str) -> str:
    """A hash of the table of a library, in which the checksums of all clips are: docs/format.md."""
    with open(path, "rb") as file:
        status = os.fstat(file.fileno())
        stamp = (path, status.st_size, status.st_mtime_ns)
        if stamp not in _digests:
            head = file.read(32)
            entries, names = struct.unpack_from("<II", head.ljust(32), 12)
            length = 40 * entries + -(-names // 8) * 8 + 8
            if not head.startswith(b"CONDYLE\0") or length > status.st_size:
                raise condyle.Error(f"{path} is no library, a .condyle is wanted")
            _digests.clear()
            _digests[stamp] = _hash(head + file.read(length))
        return _digests[stamp]


# The library that this process made shards of last, by its path and digest.
_opened: dict[tuple[str, str], condyle.Library] = {}


def _library(path: str, digest: str) -> condyle.Library:
    key = (path, digest)
    library = _opened.get(key)
    if library is None:
        library = condyle.Library(path)
        # Threads of a worker may do this at once.
        _opened.clear()
        _opened[key] = library
    return library


def _files_of(path: Path) -> list[Path]:
    """A file and those that its numbers lie in."""
    files = [path]
    if path.suffix.lower() == ".gltf":
        try:
            buffers = json.loads(path.read_bytes())["buffers"]
            uris = [str(buffer["uri"]) for buffer in buffers if "uri" in buffer]
            files += [path.parent / unquote(uri) for uri in uris if not uri.startswith("data:")]
        except (OSError, ValueError, KeyError, TypeError):
            # What is wrong with it is said where it is opened.
            pass
    return files


def _stamp(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except (OSError, ValueError):
        return (-1, -1)
    return (status.st_size, status.st_mtime_ns)


def _moments(clip: condyle.Clip, rate: float) -> NDArray[np.float64]:
    """From the first key on, the last one too if it falls on a frame within a thousandth."""
    return clip.start + np.arange(int(clip.duration * rate + 1e-3) + 1) / rate


def _check_effort(effort: str) -> None:
    if effort not in ("fast", "normal", "best"):
        raise condyle.Error(f"effort is {effort!r}, 'fast', 'normal' or 'best' is wanted")


def _told(name: str, source: str, clip: condyle.Clip) -> _Facts:
    tags = source.split("/")[:-1]
    told = {"name": name, "source": source, "tags": tags, "seconds": clip.duration}
    return told | {"rate_hz": clip.rate, "joints": len(clip.skeleton)}


def _distinct(names: list[str]) -> list[str]:
    """Those that stand for one clip alone; the later ones of several get a number."""
    taken, counts, own = set(names), dict[str, int](), []
    for name in names:
        count = counts.get(name, 0) + 1
        while count > 1 and f"{name} {count}" in taken:
            count += 1
        counts[name] = count
        own.append(name if count == 1 else f"{name} {count}")
    return own
