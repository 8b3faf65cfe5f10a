"""What a job is, and how it is done: shards that any process can make, each written once, and a manifest last of all."""

from __future__ import annotations

import hashlib
import json
import operator
import os
import platform
import re
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import KW_ONLY, asdict, dataclass
from importlib.metadata import version
from multiprocessing import get_context, parent_process
from pathlib import Path
from threading import Thread
from typing import Any, ClassVar, Protocol

import condyle

__all__ = ["Bar", "Facts", "Job", "Shard", "digest_of", "do", "finish", "hash_json", "hash_of", "run"]

Facts = dict[str, Any]

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
    def write(self, shard: Shard, path: Path) -> Facts:
        """Makes a shard, and tells what `join` has to know of it."""

    @abstractmethod
    def join(self, shards: list[Path], facts: list[Facts], path: Path) -> Facts:
        """Makes the result of all shards, and tells what goes into the manifest."""

    def path(self, shard: Shard) -> Path:
        """The file of a shard."""
        return Path(self.out, "shards", f"{shard.at:05}.{shard.key[:16]}{self.ending}")

    def key(self, at: int, source: str) -> str:
        """`Shard.key`, as this process would make it."""
        return hash_json([self.settings(), at, source])

    def settings(self) -> Facts:
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


class Bar(Protocol):
    """What tells of progress, as tqdm's bars do."""

    def update(self, n: int, /) -> object:
        """So many steps more are done."""


def run(job: Job, workers: int = 1, *, progress: Bar | None = None) -> Facts:
    """Does a job in so many processes of this machine, and returns what its manifest says.

    With one worker it is done here, without another process. With more, a script has to keep what it does under
    ``if __name__ == "__main__":``, as the processes read it too. A worker that dies is replaced; after three deaths
    without a shard made in between the job fails, and can be run again. Workers end when this process does. `progress` is a bar with a step for each shard,
    of which there are ``len(job.plan())``.
    """
    if workers < 1:
        raise condyle.Error(f"workers is {workers}, at least 1 is wanted")
    if progress is not None and not callable(getattr(progress, "update", None)):
        raise TypeError(f"progress is a {type(progress).__name__}, a bar with an update is wanted, such as tqdm's")
    shards = job.plan()
    if workers == 1:
        for shard in shards:
            do(job, shard)
            _tell(progress, 1)
    else:
        _in_processes(job, shards, workers, progress)
    return finish(job, shards)


def _in_processes(job: Job, shards: list[Shard], workers: int, progress: Bar | None) -> None:
    deaths = 0
    while shards:
        context = get_context("spawn")
        with ProcessPoolExecutor(min(workers, len(shards)), mp_context=context, initializer=_end_with_parent) as pool:
            futures, told = [pool.submit(do, job, shard) for shard in shards], 0
            try:
                for future in as_completed(futures):
                    if future.exception() is not None:
                        break
                    _tell(progress, 1)
                    told += 1
            finally:
                # Also where a bar raises something.
                pool.shutdown(cancel_futures=True)
        for future in futures:
            # Those that were cancelled are made in the next round, if there is one.
            error = None if future.cancelled() else future.exception()
            if error is not None and not isinstance(error, BrokenProcessPool):
                raise error
        left = [shard for shard, it in zip(shards, futures) if it.cancelled() or it.exception() is not None]
        # Others may have been made beside the one whose worker died.
        _tell(progress, len(shards) - len(left) - told)
        deaths = deaths + 1 if len(left) == len(shards) else 0
        if deaths == _DEATHS:
            first = left[0].at
            guard = 'a script has to keep what it does under if __name__ == "__main__":'
            raise condyle.Error(f"workers died {deaths} times in a row; the first shard that is not made is {first}; {guard}")
        shards = left


def _end_with_parent() -> None:
    """Ends this process when the one that started it has ended, in whatever way: a worker waits for work otherwise."""
    parent = parent_process()

    def wait() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    Thread(target=wait, daemon=True).start()


def _tell(bar: Bar | None, steps: int) -> None:
    if bar is not None and steps > 0:
        bar.update(steps)


def do(job: Job, shard: Shard) -> int:
    """Makes a shard, unless it is there already, and returns its number."""
    if job.key(shard.at, shard.source) != shard.key:
        raise condyle.Error("this process has another version or CONDYLE_NUMERIC than the one that planned the job")
    path = job.path(shard)
    path.parent.mkdir(parents=True, exist_ok=True)
    receipt = _receipt(job, shard)
    if receipt is None or receipt["sha256"] != hash_of(path):
        with _draft(path) as draft:
            facts = job.write(shard, draft)
            if job.state(shard.items) != shard.source:
                raise condyle.Error(f"{job.source} has changed since the job was planned; run it again")
            told = {"key": shard.key, "bytes": draft.stat().st_size, "sha256": hash_of(draft), "facts": facts}
        _write_json(path.with_suffix(".json"), told)
    return shard.at


def finish(job: Job, shards: list[Shard]) -> Facts:
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
        figures = {"file": job.result, "bytes": draft.stat().st_size, "sha256": hash_of(draft)}
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
    return digest_of(platform.node().encode())[:8]


def _receipt(job: Job, shard: Shard) -> Facts | None:
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


def _write_json(path: Path, told: Facts) -> None:
    with _draft(path) as draft:
        draft.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8", newline="\n")


def digest_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def hash_json(told: Any) -> str:
    return digest_of(json.dumps(told).encode())


def hash_of(path: Path) -> str:
    whole = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            whole.update(block)
    return whole.hexdigest()
