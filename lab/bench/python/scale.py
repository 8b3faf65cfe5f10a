"""Measures jobs on whole libraries, on one core and two, and extrapolates to many: docs/reports/scale.md.

Run from the checkout:

    pip install ./bindings/python && python lab/bench/python/scale.py --markdown > docs/reports/scale.md

Clips are generated from a seed. One process and two processes run each job in turn, into an empty folder, and
the minimum of the rounds counts. With --once everything is small and runs once, only to check that both write
the same bytes.
"""

from __future__ import annotations

import datetime
import os
import platform
import shutil
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import condyle
import numpy as np
from condyle import jobs

ONCE = "--once" in sys.argv
ROUNDS = 1 if ONCE else 3
# Number of clips of the library, and of files of the packed folder.
CLIPS, FILES = (16, 4) if ONCE else (8192, 128)
JOINTS, SECONDS, RATE = 67, 4, 30
FRAMES = SECONDS * RATE + 1


class Done(NamedTuple):
    """Measurements of a job, in seconds. `took` is the total with one process and with two. `start` is the
    start of two processes, `last` the work of one process after the shards.
    """

    name: str
    what: str
    clips: int
    took: tuple[float, float]
    start: float
    last: float
    read: int
    written: int

    @property
    def shards(self) -> tuple[float, float]:
        """Seconds of the shards alone, with one process and with two."""
        return self.took[0] - self.last, self.took[1] - self.last - self.start

    def seconds(self, clips: float, cores: int) -> float:
        """Seconds for a number of clips and cores, if each core works as fast as one of two. One core does
        the last step.
        """
        start, work = (0.0, self.shards[0]) if cores == 1 else (self.start, 2 * self.shards[1] / cores)
        return start + clips / self.clips * (work + self.last)


def motion(random: np.random.Generator, at: int) -> condyle.Clip:
    """Motion with swinging rotations, like those of limbs."""
    times = np.arange(FRAMES) / RATE
    parents = np.maximum(np.arange(JOINTS) - 1 - np.arange(JOINTS) % 3, -1)
    skeleton = condyle.Skeleton(parents.tolist(), translations=np.tile([0, 0.1, 0], (JOINTS, 1)))
    turns = np.zeros((FRAMES, JOINTS, 4))
    phase, speed, size = random.uniform(0, 6, (3, JOINTS, 3)) * [[[1]], [[0.7]], [[0.04]]]
    turns[..., :3] = np.sin(phase + speed * times[:, None, None]) * size
    turns[..., 3] = np.sqrt(1 - (turns[..., :3] ** 2).sum(-1))
    return condyle.Clip.from_poses(skeleton, times, turns, name=f"clip {at}")


def bvh(random: np.random.Generator) -> str:
    """BVH of a chain of joints that rotate about three axes."""
    lines = ["HIERARCHY"]
    for joint in range(JOINTS):
        lines += ["JOINT j" if joint else "ROOT j", "{", "OFFSET 0 0.1 0", "CHANNELS 3 Zrotation Xrotation Yrotation"]
        lines[-4] += str(joint)
    lines += ["End Site", "{", "OFFSET 0 0.1 0", "}", *["}"] * JOINTS, "MOTION", f"Frames: {FRAMES}", f"Frame Time: {1 / RATE:.6f}"]
    phase, speed = random.uniform(0, 6, (2, JOINTS * 3)) * [[1], [0.7]]
    rows = np.sin(phase + speed * np.arange(FRAMES)[:, None] / RATE) * 9
    return "\n".join([*lines, *(" ".join(f"{v:.4f}" for v in row) for row in rows)])


def made(folder: Path) -> tuple[Path, Path]:
    """Paths of the library and of the folder to pack."""
    random = np.random.default_rng(16)
    # Each clip is stored under many names. Other jobs measure the encoding.
    few = [motion(random, at).encode(shell=0.03).to_bytes() for at in range(min(CLIPS, 64))]
    library, files = folder / "motion.condyle", folder / "files"
    condyle.join(library, [few[at % len(few)] for at in range(CLIPS)], names=[f"clip {at}" for at in range(CLIPS)])
    files.mkdir()
    for at in range(FILES):
        (files / f"{at:04}.bvh").write_text(bvh(random))
    return library, files


def size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def took(job: jobs.Job, workers: int) -> float:
    """Seconds from the plan to the manifest."""
    shutil.rmtree(job.out, ignore_errors=True)
    begin = time.perf_counter()
    jobs.run(job, workers)
    return time.perf_counter() - begin


def started(library: Path, out: str) -> float:
    """Seconds to start two processes: Python, NumPy and the package. A job of two clips in two shards does
    little else.
    """
    small = Path(out + ".condyle")
    condyle.join(small, [condyle.Library(library)[at].to_bytes() for at in range(2)])
    job = jobs.Measure(str(small), out, rate=RATE, per_shard=1)
    return min(took(job, 2) for _ in range(ROUNDS)) - min(took(job, 1) for _ in range(ROUNDS))


def measured(name: str, what: str, job: jobs.Job, clips: int, read: int, start: float) -> Done:
    times = [(took(job, 1), hash_of(job), took(job, 2), hash_of(job)) for _ in range(ROUNDS)]
    assert len({of for round in times for of in (round[1], round[3])}) == 1, "the bytes depend on the number of workers"
    least = (min(t[0] for t in times), min(t[2] for t in times))
    return Done(name, what, clips, least, start, min(last(job) for _ in range(ROUNDS)), read, size(Path(job.out)))


def last(job: jobs.Job) -> float:
    """Seconds of the last step, with all shards present."""
    shards, begin = job.plan(), time.perf_counter()
    jobs.finish(job, shards)
    return time.perf_counter() - begin


def hash_of(job: jobs.Job) -> str:
    return (Path(job.out) / "manifest.json").read_text()


def all_jobs(folder: Path) -> list[Done]:
    library, files = made(folder)
    fewer = folder / "fewer.condyle"
    condyle.join(fewer, [condyle.Library(library)[at].to_bytes() for at in range(FILES)])
    out, clips, bytes_ = str(folder / "out"), CLIPS, library.stat().st_size
    per, start = max(1, CLIPS // 16), started(library, out)
    pose = jobs.Pose(str(library), out, rate=RATE, per_shard=per)
    measure = jobs.Measure(str(library), out, rate=RATE, per_shard=per)
    encode = jobs.Encode(str(fewer), out, budget=2e-3, per_shard=max(1, FILES // 16))
    pack = jobs.Pack(str(files), out, per_shard=max(1, FILES // 16))
    return [
        measured("`Pose`", "joint positions at 30 Hz, as arrays", pose, clips, bytes_, start),
        measured("`Measure`", "boxes and speeds at 30 Hz", measure, clips, bytes_, start),
        measured("`Encode`", "another error bound", encode, FILES, fewer.stat().st_size, start),
        measured("`Pack`", "BVH files to a library", pack, FILES, size(files), start),
    ]


def counted(_: int) -> float:
    """Seconds of work that needs neither memory nor files."""
    begin = time.perf_counter()
    for _ in range(1_000_000 if ONCE else 10_000_000):
        pass
    return time.perf_counter() - begin


def free() -> float:
    """Current speedup of two processes over one on this machine."""
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        rounds = [(counted(0), max(pool.map(counted, range(2)))) for _ in range(1 if ONCE else 9)]
    return 2 * min(one for one, _ in rounds) / min(two for _, two in rounds)


def machine() -> str:
    told = Path("/proc/cpuinfo")
    lines = told.read_text().splitlines() if told.exists() else []
    names = [line.split(":")[1].strip() for line in lines if "model name" in line]
    return f"{names[0] if names else platform.processor()}, {os.cpu_count()} cores"


def bytes_text(count: float) -> str:
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if count < 1000 or unit == "TB":
            return f"{count:.3g} {unit}"
        count /= 1000
    raise AssertionError


def seconds_text(seconds: float) -> str:
    for unit, least in (("days", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * least:
            return f"{seconds / least:.3g} {unit}"
    return f"{seconds:.3g} s"


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---", *["--:"] * (len(head) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def page(done: list[Done], free: float) -> str:
    one = [
        [
            f"{it.name}: {it.what}",
            f"{it.clips / it.took[0]:,.0f}",
            f"{it.clips * SECONDS / it.took[0]:,.0f}",
            f"{it.took[0] / it.took[1]:.2f}",
            f"{it.shards[0] / it.shards[1]:.2f}",
            bytes_text(it.read / it.clips),
            bytes_text(it.written / it.clips),
        ]
        for it in done
    ]
    million = 1e6
    many = []
    for it in done:
        cores = [it.seconds(million, n) for n in (1, 64, 1000)]
        alone = million / it.clips * it.last
        demand = [500 / it.shards[1] * count for count in (it.read, it.written)]
        texts = [*map(seconds_text, [*cores, alone]), *(f"{bytes_text(count)}/s" for count in demand)]
        many.append([it.name, *texts, bytes_text(million / it.clips * it.written)])
    shards = million / 256
    head = ["job", "clips per second", "seconds of motion per second", "speedup of two processes", "speedup without start", "read per clip", "written per clip"]
    return f"""# Scaling of batch jobs

Generated by `python lab/bench/python/scale.py --markdown > docs/reports/scale.md`; do not edit. {machine()}, {datetime.date.today()}; other programs may have run at the same time.

`condyle.jobs` splits a library into shards that any number of processes compute, on one machine or with `condyle.ray` and `condyle.dask` on many. Workers share no memory and do not communicate: each
maps the library, computes its shards and writes them once. The bytes do not depend on the number of workers, which this program checks.

## Measurements on one and two cores

The clips have {JOINTS} joints and {SECONDS} s at {RATE} Hz ({FRAMES} frames). `Pose` and `Measure` process {CLIPS:,} of them, the other jobs {FILES}. Times are from the plan to the manifest, including the start of processes; the minimum of {ROUNDS} rounds.
Each process uses one thread, as is best for many processes on a machine. Two processes that only count had a speedup of {free:.2f} during this run;
a value far below 2 means that other programs used the cores, and limits the speedup of the jobs too. Two processes took {done[0].start:.2f} s to start (Python, NumPy, this package). In that time one process finishes
{done[0].start * done[0].clips / done[0].took[0]:,.0f} clips of `Pose`, so shorter jobs are faster in one process.

{table(head, one)}

## Extrapolation to a million clips

The extrapolation assumes that each core of a cluster works as fast as one of two processes, and that storage keeps up. The time of the shards is divided by the number of cores. The start of the
processes and the last step, which runs in one process, do not change. The column for one core uses the measurement of one process.
The columns for reading and writing show the load on storage while 1,000 cores compute shards. The start of a cluster and the messages to workers are not included.

{table(["job", "1 core", "64 cores", "1,000 cores", "last step, included", "1,000 cores read", "1,000 cores write", "all files"], many)}

## Limits

- **Storage.** If the file system or object store is slower than the demand of 1,000 cores, storage is the limit: the time is the number of bytes divided by its bandwidth. `Pose` writes {bytes_text(done[0].written / done[0].clips)} per clip, {done[0].written / done[0].read:.0f}
  times the bytes that it reads. It is often better to keep the compressed library and to sample poses where they are used: `Library.sample` reads any pose directly from the file. `Measure` and `Encode` read and write little compared with their computation.
- **Serial last step.** The last step reads the receipts of {shards:,.0f} shards (256 clips in each) and writes the manifest. `Measure`, `Encode` and `Pack` also copy all parts into one file, at the bandwidth of the disk. The measurement used shards of {CLIPS // 16} or {FILES // 16} clips;
  larger shards need less time. If the last step dominates, more cores do not help: split the source into several libraries with separate jobs.
- **Stragglers.** The job ends with its last shard. With {shards:,.0f} shards and 1,000 cores, each core computes {shards / 1000:.0f} shards, so up to {1 / (shards / 1000):.0%} of the time is lost at the end. A smaller `per_shard` loses less, and writes more files.
- **Object stores.** Only the plan and the shard numbers pass through the scheduler of Ray or Dask, no arrays. The schedulers therefore do not limit the size of a library.
  Jobs need files that can be mapped and renamed: a shared file system, or a copy of the library on each machine's disk, with the results copied back. An object store mounted as a file system without renames does not suffice.
- **Different machines.** Set `CONDYLE_NUMERIC=portable` on all machines to get the same bytes. In the fast mode, bytes are the same on machines of one kind.
- **Dead workers.** If a worker dies, only its current shard is computed again. Nothing is written twice.
"""


def main() -> None:
    folder = Path(tempfile.mkdtemp(prefix="condyle-scale-"))
    try:
        done = all_jobs(folder)
        text = page(done, free())
    finally:
        shutil.rmtree(folder)
    if "--markdown" in sys.argv:
        sys.stdout.write(text)
        return
    for it in done:
        one, two = it.took
        print(f"{it.name:10} {it.clips / one:9,.0f} clips/s  speedup of two processes {one / two:.2f}  {bytes_text(it.written)} written")


if __name__ == "__main__":
    main()
