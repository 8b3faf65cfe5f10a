"""What whole libraries take, on one core and two, and what follows for many: docs/scale.md. From the checkout:

    pip install ./bindings/python && python bench/python/scale.py --markdown > docs/scale.md

Clips are made by seed. Each job is done by one process and by two, in turns, into an empty folder; the least of the rounds counts. With --once everything is small and
done once, which checks that both have written the same bytes.
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
# Clips of the library, and files of the folder that is packed.
CLIPS, FILES = (16, 4) if ONCE else (8192, 128)
JOINTS, SECONDS, RATE = 67, 4, 30
FRAMES = SECONDS * RATE + 1


class Done(NamedTuple):
    """A job, and what it took of one process and of two, and of that the start of two and what one process does after the shards, in seconds."""

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
        """Seconds of the shards alone, in one process and in two."""
        return self.took[0] - self.last, self.took[1] - self.last - self.start

    def seconds(self, clips: float, cores: int) -> float:
        """Of so many clips on so many cores, each of which does what one of two did; one does what comes after the shards."""
        start, work = (0.0, self.shards[0]) if cores == 1 else (self.start, 2 * self.shards[1] / cores)
        return start + clips / self.clips * (work + self.last)


def motion(random: np.random.Generator, at: int) -> condyle.Clip:
    """Turns that swing, as those of limbs."""
    times = np.arange(FRAMES) / RATE
    parents = np.maximum(np.arange(JOINTS) - 1 - np.arange(JOINTS) % 3, -1)
    skeleton = condyle.Skeleton(parents.tolist(), translations=np.tile([0, 0.1, 0], (JOINTS, 1)))
    turns = np.zeros((FRAMES, JOINTS, 4))
    phase, speed, size = random.uniform(0, 6, (3, JOINTS, 3)) * [[[1]], [[0.7]], [[0.04]]]
    turns[..., :3] = np.sin(phase + speed * times[:, None, None]) * size
    turns[..., 3] = np.sqrt(1 - (turns[..., :3] ** 2).sum(-1))
    return condyle.Clip.from_poses(skeleton, times, turns, name=f"clip {at}")


def bvh(random: np.random.Generator) -> str:
    """A chain of joints that turn about three axes."""
    lines = ["HIERARCHY"]
    for joint in range(JOINTS):
        lines += ["JOINT j" if joint else "ROOT j", "{", "OFFSET 0 0.1 0", "CHANNELS 3 Zrotation Xrotation Yrotation"]
        lines[-4] += str(joint)
    lines += ["End Site", "{", "OFFSET 0 0.1 0", "}", *["}"] * JOINTS, "MOTION", f"Frames: {FRAMES}", f"Frame Time: {1 / RATE:.6f}"]
    phase, speed = random.uniform(0, 6, (2, JOINTS * 3)) * [[1], [0.7]]
    rows = np.sin(phase + speed * np.arange(FRAMES)[:, None] / RATE) * 9
    return "\n".join([*lines, *(" ".join(f"{v:.4f}" for v in row) for row in rows)])


def made(folder: Path) -> tuple[Path, Path]:
    """The library, and the folder that is packed."""
    random = np.random.default_rng(16)
    # Each is kept under many names: what encoding them takes is measured with others.
    few = [motion(random, at).encode(shell=0.03, effort="fast").to_bytes() for at in range(min(CLIPS, 64))]
    library, files = folder / "motion.condyle", folder / "files"
    condyle.join(library, [few[at % len(few)] for at in range(CLIPS)], names=[f"clip {at}" for at in range(CLIPS)])
    files.mkdir()
    for at in range(FILES):
        (files / f"{at:04}.bvh").write_text(bvh(random))
    return library, files


def size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def took(job: jobs.Job, workers: int) -> float:
    """Seconds, from the plan to the manifest."""
    shutil.rmtree(job.out, ignore_errors=True)
    begin = time.perf_counter()
    jobs.run(job, workers)
    return time.perf_counter() - begin


def started(library: Path, out: str) -> float:
    """Seconds until two processes have started: Python, NumPy and the package. A job of two clips in two shards takes little else."""
    small = Path(out + ".condyle")
    condyle.join(small, [condyle.Library(library)[at].to_bytes() for at in range(2)])
    job = jobs.Measure(str(small), out, rate=RATE, per_shard=1)
    return min(took(job, 2) for _ in range(ROUNDS)) - min(took(job, 1) for _ in range(ROUNDS))


def measured(name: str, what: str, job: jobs.Job, clips: int, read: int, start: float) -> Done:
    times = [(took(job, 1), hash_of(job), took(job, 2), hash_of(job)) for _ in range(ROUNDS)]
    assert len({of for round in times for of in (round[1], round[3])}) == 1, "the bytes depend on the workers"
    least = (min(t[0] for t in times), min(t[2] for t in times))
    return Done(name, what, clips, least, start, min(last(job) for _ in range(ROUNDS)), read, size(Path(job.out)))


def last(job: jobs.Job) -> float:
    """Seconds of what is done after the shards, which are there."""
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
    encode = jobs.Encode(str(fewer), out, budget=2e-3, effort="fast", per_shard=max(1, FILES // 16))
    pack = jobs.Pack(str(files), out, effort="fast", per_shard=max(1, FILES // 16))
    return [
        measured("`Pose`", "places of all joints at 30 Hz, as arrays", pose, clips, bytes_, start),
        measured("`Measure`", "boxes and speeds at 30 Hz", measure, clips, bytes_, start),
        measured("`Encode`", "at another error, with little effort", encode, FILES, fewer.stat().st_size, start),
        measured("`Pack`", "BVH files to a library, with little effort", pack, FILES, size(files), start),
    ]


def counted(_: int) -> float:
    """Seconds of work that needs neither memory nor files."""
    begin = time.perf_counter()
    for _ in range(1_000_000 if ONCE else 10_000_000):
        pass
    return time.perf_counter() - begin


def free() -> float:
    """How many times as much two processes can do as one, here and now."""
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
    head = ["job", "clips a second", "seconds of motion a second", "two processes, times as fast as one", "the same without their start", "read for a clip", "written for a clip"]
    return f"""# Whole libraries, on one core and on many

Generated by `python bench/python/scale.py --markdown > docs/scale.md`; do not edit. {machine()}, {datetime.date.today()}; other work may have run beside it.

`condyle.jobs` cuts a library into shards, which any number of processes make, on one machine or by `condyle.ray` and `condyle.dask` on many. Workers share no memory and say nothing to each other: each
maps the library, makes its shards and writes them once. The bytes are the same for any number of them, which this program checks too.

## Measured: one core and two

Clips of {JOINTS} joints and {SECONDS} s at {RATE} Hz ({FRAMES} frames), {CLIPS:,} of them for `Pose` and `Measure` and {FILES} for the others; from the plan to the manifest, the start of processes included, the least of {ROUNDS} rounds.
One process does one thing at a time, as each of many on a machine should: threads are for calls without processes. Two processes that only count were {free:.2f} times as fast as one here and now;
what is much below 2 was taken by other work, and two processes of a job cannot gain more. Two processes took {done[0].start:.2f} s to start (Python, NumPy, this package), in which one process makes
{done[0].start * done[0].clips / done[0].took[0]:,.0f} clips of `Pose`: a job that is shorter than that is faster in one process.

{table(head, one)}

## Computed: a million such clips

From the figures of two processes, as if each core of a cluster did what one of the two did, with what they lose to each other, and storage kept up: the shards take as many times less as there are cores, and the start of the
processes and the last step, which one process does alone, take what they take. The column of one core is that of one process.
What 1,000 cores read and write together while they make shards is what storage has to keep up with. To start a cluster, and to send a shard's number to a worker, is not counted.

{table(["job", "1 core", "64 cores", "1,000 cores", "of that the last step", "1,000 cores read", "1,000 cores write", "all files"], many)}

## What the limits are

- **Storage.** What 1,000 cores read and write is the demand. Where a file system or an object store gives less, it is the limit, and the time is the bytes by its bandwidth: `Pose` writes {bytes_text(done[0].written / done[0].clips)} for each clip, {done[0].written / done[0].read:.0f}
  times what it reads, so it pays to pose where the numbers are used (`Library.sample` reads any pose straight from the file), and to keep the compressed library instead. `Measure` and `Encode` read and write next to nothing for what they compute.
- **What only one process does.** The last step reads the receipts of {shards:,.0f} shards (256 clips in each) and writes the manifest; `Measure`, `Encode` and `Pack` also copy all parts into one file, at the bandwidth of the disk. Its time was measured with {CLIPS // 16} clips in a shard or {FILES // 16},
  so that it is less with more. Where it is most of the time, more cores do not help: cut the source into several libraries, which are jobs of their own.
- **Stragglers.** The last shard ends the job. With {shards:,.0f} shards and 1,000 cores each core makes {shards / 1000:.0f}, so up to {1 / (shards / 1000):.0%} of the time is lost at the end; a smaller `per_shard` loses less, and costs more files.
- **Object stores.** What goes through Ray's or Dask's scheduler is the plan, and a number for each shard that is made: no array does, so neither limits how large a library is.
  Jobs need files that can be mapped and renamed: a shared file system, or a copy of the library on each machine's disk and the results copied off. An object store that is mounted as a file system without renames is not enough.
- **Machines that differ.** Set `CONDYLE_NUMERIC=portable` on all for the same bytes; in the fast mode they are the same on machines of one kind.
- **Dead workers.** A worker that dies costs the shard that it was at. Nothing else is made again, and nothing is there twice.
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
        print(f"{it.name:10} {it.clips / one:9,.0f} clips/s  two processes {one / two:.2f}  {bytes_text(it.written)} written")


if __name__ == "__main__":
    main()
