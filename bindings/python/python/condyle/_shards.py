"""Jobs and their execution: shards that any process can compute, and a manifest that is written last."""

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

# Maximum consecutive worker deaths without progress.
_DEATHS = 3


@dataclass(frozen=True)
class Shard:
    """Part of a job."""

    # Index of the shard.
    at: int
    # Clips or files of the shard.
    items: Sequence[int] | tuple[str, ...]
    # Hash of these clips or files at the time of planning.
    source: str
    # Hash of everything that determines the bytes of the shard: `source` and the settings.
    key: str


@dataclass(frozen=True)
class Job(ABC):
    """Computation that reads `source` and writes to the folder `out`."""

    source: str
    out: str
    _: KW_ONLY
    per_shard: int = 256

    kind: ClassVar[str]
    ending: ClassVar[str]
    # File name in `out` that `join` writes.
    result: ClassVar[str]

    def __post_init__(self) -> None:
        # Absolute paths, because workers may run in another folder.
        self._set("source", os.path.abspath(self.source))
        self._set("out", os.path.abspath(self.out))
        result, shards = Path(self.out, self.result), Path(self.out, "shards")
        source = Path(os.path.realpath(self.source))
        if source == Path(os.path.realpath(result)) or Path(os.path.realpath(shards)) in source.parents:
            raise condyle.Error(f"{self.source} would be overwritten; choose an output folder other than {self.out}")
        self._set("per_shard", operator.index(self.per_shard))
        if self.per_shard < 1:
            raise condyle.Error(f"per_shard must be at least 1, got {self.per_shard}")

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    def _above_zero(self, *names: str) -> None:
        """Checks settings, and converts NumPy scalars to float."""
        for name in names:
            value = float(getattr(self, name))
            if not 0 < value < float("inf"):
                raise condyle.Error(f"{name} must be finite and above 0, got {value:g}")
            self._set(name, value)

    @abstractmethod
    def plan(self) -> list[Shard]:
        """List the shards in order."""

    @abstractmethod
    def state(self, items: Sequence[Any]) -> str:
        """Return a hash that changes when these items of the source change."""

    @abstractmethod
    def write(self, shard: Shard, path: Path) -> Facts:
        """Write a shard, and return the facts that `join` needs."""

    @abstractmethod
    def join(self, shards: list[Path], facts: list[Facts], path: Path) -> Facts:
        """Join all shards, and return facts for the manifest."""

    def path(self, shard: Shard) -> Path:
        """Return the path of a shard."""
        return Path(self.out, "shards", f"{shard.at:05}.{shard.key[:16]}{self.ending}")

    def key(self, at: int, source: str) -> str:
        """Return `Shard.key` as computed by this process."""
        return hash_json([self.settings(), at, source])

    def settings(self) -> Facts:
        """Return everything except the source that determines the output bytes."""
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
    """Progress bar, such as a tqdm bar."""

    def update(self, n: int, /) -> object:
        """Add `n` finished steps."""


def run(job: Job, workers: int = 1, *, progress: Bar | None = None) -> Facts:
    """Run a job in processes of this machine.

    Parameters
    ----------
    `job` : Job
        Job to run.
    `workers` : int
        Number of processes. With 1, the job runs in this process.
    `progress` : Bar, optional
        Progress bar with one step per shard: ``len(job.plan())`` steps.

    Returns
    -------
    dict
        Contents of the manifest.

    Notes
    -----
    With more than one worker, keep the top-level code of a script under ``if __name__ == "__main__":``,
    because each process imports the script. A worker that dies is replaced. After three deaths without a
    finished shard the job raises `Error`; run it again to continue. Workers end when this process ends.
    """
    if workers < 1:
        raise condyle.Error(f"workers must be at least 1, got {workers}")
    if progress is not None and not callable(getattr(progress, "update", None)):
        raise TypeError(f"progress must have an update method, such as a tqdm bar, got {type(progress).__name__}")
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
                # Also if the bar raises an exception.
                pool.shutdown(cancel_futures=True)
        for future in futures:
            # Cancelled shards are computed in the next round.
            error = None if future.cancelled() else future.exception()
            if error is not None and not isinstance(error, BrokenProcessPool):
                raise error
        left = [shard for shard, it in zip(shards, futures) if it.cancelled() or it.exception() is not None]
        # Other workers may have finished shards when one died.
        _tell(progress, len(shards) - len(left) - told)
        deaths = deaths + 1 if len(left) == len(shards) else 0
        if deaths == _DEATHS:
            first = left[0].at
            guard = 'keep the top-level code of a script under if __name__ == "__main__":'
            raise condyle.Error(f"workers died {deaths} times in a row; the first unfinished shard is {first}; {guard}")
        shards = left


def _end_with_parent() -> None:
    """End this process when its parent ends for any reason. A worker would otherwise wait for work forever.
    """
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
    """Compute a shard unless it exists, and return its index."""
    if job.key(shard.at, shard.source) != shard.key:
        raise condyle.Error("the version or CONDYLE_NUMERIC of this process differs from the process that planned the job")
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
    """Join the shards, write the manifest, and return its contents.

    Raises `Error` unless all shards exist. Afterwards, shards of other jobs are deleted from the folder.
    """
    receipts = [_receipt(job, shard) for shard in shards]
    missing = [shard.at for shard, receipt in zip(shards, receipts) if receipt is None]
    if missing:
        raise condyle.Error(f"{len(missing)} of {len(shards)} shards are unfinished, the first is {missing[0]}")
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
    """Deletes the drafts of dead workers, and the shards of other jobs."""
    for path in out.glob("*.draft*"):
        if _is_left(path.name):
            path.unlink(missing_ok=True)
    for path in out.glob("shards/*"):
        is_ours = re.fullmatch(r"\d{5,}\.[0-9a-f]{16}\.(npy|jsonl|condyle|json)", path.name)
        if path.name not in known and (is_ours or _is_left(path.name)):
            path.unlink(missing_ok=True)


def _is_left(name: str) -> bool:
    """Whether the name is a draft of a process of this machine that no longer runs."""
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
    """Returns the receipt of a shard that matches the current settings, or None."""
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
    """Yields a unique temporary path, and renames the file to `path` when it is complete."""
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
