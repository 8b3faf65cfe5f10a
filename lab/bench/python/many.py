"""Measures how long a library of very many clips takes to build, open and read.

Run from the checkout:

    cargo build --release -p condyle-cli && pip install ./bindings/python
    python lab/bench/python/many.py --clips 100000 --folder /tmp/many

The clips are BVH files generated from a seed: 67 joints, one to two seconds at 30 Hz, eight skeletons, in
folders of 1,000. `condyle encode FOLDER` packs them into one file. All files are deleted at the end; with
--keep the next run reuses them. 100,000 clips need 10 GB. Memory is measured on Linux only. Exits with 1 if a
target is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

JOINTS, RATE, SKELETONS, FOLDER = 67, 30, 8, 1000
POSES, SINGLES, ROUNDS = 1_000_000, 1000, 5
# Limits.
OPEN_MS, POSE_US = 20, 1.0

Figures = dict[str, Any]


def hierarchy(seed: int, joints: int) -> str:
    """Head of a BVH file: each joint has three rotations, the root also has a position."""
    random = np.random.default_rng(seed)
    children: list[list[int]] = [[] for _ in range(joints)]
    for joint in range(1, joints):
        # Chains with branches, like bodies.
        children[joint - 1 if joint % 5 else int(random.integers(0, joint))].append(joint)
    offsets = random.normal(size=(joints, 3)) / 10

    def lines(joint: int) -> list[str]:
        turns = "Zrotation Xrotation Yrotation"
        channels = f"CHANNELS 3 {turns}" if joint else f"CHANNELS 6 Xposition Yposition Zposition {turns}"
        inside = [line for child in children[joint] for line in lines(child)]
        x, y, z = offsets[joint]
        head = f"{'JOINT' if joint else 'ROOT'} joint{joint}"
        body = [f"OFFSET {x:.4f} {y:.4f} {z:.4f}", channels, *inside]
        return [head, "{", *(f"\t{line}" for line in body), "}"]

    return "HIERARCHY\n" + "\n".join(lines(0)) + "\n"


def motion(random: np.random.Generator, frames: int, joints: int) -> str:
    """Motion of separate slow waves in each channel."""
    # Channels follow the order of the joints in the hierarchy. All joints have the same channels.
    width = 3 + 3 * joints
    speed, phase = random.uniform(1, 6, (2, width)), random.uniform(0, 6.3, (2, width))
    reach = np.where(np.arange(width) < 3, 0.5, 20) * random.uniform(0.2, 1, (2, width))
    seconds = np.arange(frames)[:, None] / RATE
    values = sum(reach[wave] * np.sin(speed[wave] * seconds + phase[wave]) for wave in range(2))
    row = " ".join(["%.4f"] * width) + "\n"
    head = f"MOTION\nFrames: {frames}\nFrame Time: {1 / RATE:.6f}\n"
    return head + "".join(row % tuple(frame) for frame in np.asarray(values).tolist())


def write_folder(root: Path, count: int, at: int) -> None:
    """Writes up to 1,000 files."""
    folder = root / f"{at:05}"
    folder.mkdir(parents=True, exist_ok=True)
    heads = [hierarchy(seed, JOINTS) for seed in range(SKELETONS)]
    for clip in range(at * FOLDER, min((at + 1) * FOLDER, count)):
        random = np.random.default_rng([1, clip])
        frames = int(random.integers(RATE, 2 * RATE + 1))
        (folder / f"{clip:06}.bvh").write_text(heads[clip % SKELETONS] + motion(random, frames, JOINTS))


def seconds_of(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def make(condyle: str, root: Path, count: int, threads: int) -> Figures:
    """Generates the motion files, and packs them into a library."""
    source, packed = root / "bvh", root / "many.condyle"
    folders = range(-(-count // FOLDER))

    def write() -> None:
        with ProcessPoolExecutor(threads) as pool:
            list(pool.map(partial(write_folder, source, count), folders))

    figures: Figures = {"clips": count, "write_s": seconds_of(write)}
    figures["source_bytes"] = sum(file.stat().st_size for file in source.rglob("*.bvh"))
    command = [condyle, "encode", str(source), "-o", str(packed), "--threads", str(threads), "--json"]
    figures["pack_s"] = seconds_of(lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL))
    figures["library_bytes"] = packed.stat().st_size
    return figures


def memory() -> Figures:
    """Memory of this process in MiB: resident, and the private part without pages of the file."""
    try:
        lines = Path("/proc/self/smaps_rollup").read_text().splitlines()[1:]
    except OSError:
        return {}
    kib = {name: int(rest.split()[0]) for name, rest in (line.split(":") for line in lines)}
    return {"resident_mib": kib["Rss"] / 1024, "own_mib": kib["Anonymous"] / 1024}


def forget(path: Path) -> None:
    """Requests that the system drop the file from its cache, if it can. Freshly written files would be mapped
    in pages of megabytes.
    """
    if hasattr(os, "posix_fadvise"):
        with path.open("r+b") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def read(path: Path) -> Figures:
    """Measures each step and the resident memory after it, in a fresh process."""
    import condyle

    forget(path)
    figures: Figures = {"before": memory()}

    def step(name: str, call: Callable[[], Any], rounds: int = 1) -> None:
        figures[name] = {"s": min(seconds_of(call) for _ in range(rounds)), **memory()}

    opened: list[condyle.Library] = []
    step("open", lambda: opened.append(condyle.Library(path)))
    library, random = opened[0], np.random.default_rng(2)
    count = len(library)
    singles = random.integers(0, count, SINGLES)

    def alone() -> None:
        for clip in singles:
            library.sample([clip], [0.5])

    step("singles", alone)
    step("singles_again", alone)
    step("names", lambda: library.names)
    step("columns", lambda: library.columns)
    clips, times = random.integers(0, count, POSES), random.uniform(0, 1, POSES).astype("f4")
    # The output array is already written once, as in a loop that reuses it.
    shape = (POSES, JOINTS)
    out = condyle.Poses(*(np.ones((*shape, numbers), "f4") for numbers in (4, 3, 3)))
    figures["room"] = memory()
    step("first", lambda: library.sample(clips, times, out=out))
    step("again", lambda: library.sample(clips, times, out=out), ROUNDS)
    step("two_threads", lambda: library.sample(clips, times, out=out, threads=2), ROUNDS)
    for at in range(0, POSES, POSES // 10):
        own = library[int(clips[at])].sample(times[at : at + 1])
        assert all(np.array_equal(one[0], of_all[at]) for one, of_all in zip(own, out, strict=True)), f"pose {at}"
    return figures


def table(made: Figures, found: Figures) -> list[str]:
    lines = ["| | time | resident | private |", "|---|---|---|---|"]
    sizes = f"{made['source_bytes'] / 1e6:,.0f} MB of BVH to {made['library_bytes'] / 1e6:,.0f} MB"
    lines.append(f"| {made['clips']:,} clips, {sizes}, packed | {made['pack_s']:.1f} s | | |")

    def line(key: str, name: str, scale: float, unit: str) -> None:
        it = found[key]
        told = [f"{it[key]:.0f} MiB" if key in it else "" for key in ("resident_mib", "own_mib")]
        shown = f"{scale * it['s']:.2f} {unit}" if "s" in it else ""
        lines.append(f"| {name} | {shown} | {told[0]} | {told[1]} |")

    line("before", "before", 1, "")
    line("open", "opened", 1e3, "ms")
    line("singles", "1,000 random poses, one per call, from disk", 1e6 / SINGLES, "µs each")
    line("singles_again", "again", 1e6 / SINGLES, "µs each")
    line("names", "all names", 1e3, "ms")
    line("columns", "all columns", 1e3, "ms")
    line("room", "output array for a million poses", 1, "")
    line("first", "a million random poses in one call, from disk", 1e6 / POSES, "µs each")
    line("again", "again, minimum of five runs", 1e6 / POSES, "µs each")
    line("two_threads", "again, on two threads", 1e6 / POSES, "µs each")
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clips", type=int, default=1000)
    parser.add_argument("--folder", type=Path, default=Path("out/many"), help="folder for the generated files (default: out/many)")
    parser.add_argument("--condyle", default="target/release/condyle", help="path of the condyle program (default: target/release/condyle)")
    parser.add_argument("--threads", type=int, default=2, help="threads for generating and packing (default: 2)")
    parser.add_argument("--keep", action="store_true", help="keep the files")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--read", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.read:
        print(json.dumps(read(options.read)))
        return 0
    root = options.folder / str(options.clips)
    kept = root / "made.json"
    try:
        if not kept.exists():
            made = make(options.condyle, root, options.clips, options.threads)
            kept.write_text(json.dumps(made))
        made = json.loads(kept.read_text())
        child = [sys.executable, __file__, "--read", str(root / "many.condyle")]
        found = json.loads(subprocess.run(child, check=True, stdout=subprocess.PIPE, text=True).stdout)
    finally:
        if not options.keep:
            shutil.rmtree(root, ignore_errors=True)
    print(json.dumps({"made": made, "read": found}) if options.json else "\n".join(table(made, found)))
    missed = [
        *(["opening takes too long"] if 1e3 * found["open"]["s"] > OPEN_MS else []),
        *(["poses take too long"] if 1e6 * found["again"]["s"] / POSES > POSE_US else []),
    ]
    print("".join(f"MISSED: {what}\n" for what in missed), end="", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
