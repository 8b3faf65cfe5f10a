"""Compares the speed of the Python package with other packages, after a check that all results agree.

Run from the checkout:

    pip install ./bindings/python && python lab/bench/python/main.py

Only NumPy is required. README.md describes how to install the other packages; missing ones are reported as
absent. One process and one thread unless stated otherwise. Times are the minimum of several interleaved
rounds. Exits with 1 if a target is missed.
"""

from __future__ import annotations

import os

# Set before NumPy is loaded, so that its matrix products use one thread, like all other code.
for library in ("OPENBLAS", "MKL", "OMP"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import condyle
import numpy as np

import peers
from made import BODY_JOINTS, JOINTS, SHAPES, VERTICES, body, body_in_numpy, character, kinematics_in_numpy, quaternions
from made import slerp_in_numpy
from many import hierarchy, motion
from peers import Array, Momentum, Peer, as_it_is, matrices_of

FRAMES, PAIRS, POSES, BVH_JOINTS, BVH_FRAMES = 1000, 1_000_000, 1_000_000, 31, 10_000
# Required speedup with a second thread.
SECOND = 1.8


class Case(NamedTuple):
    """Implementations of the same computation."""

    name: str
    # Number of elements that the nanoseconds are divided by.
    per: int
    # Limit in nanoseconds per element.
    most: float | None
    ours: Callable[[], Any]
    on_two: Callable[[], Any] | None
    # Each peer is prepared just before it runs.
    peers: dict[str, Callable[[], Peer]]
    # Maximum difference of the peers' results from Condyle's.
    off: float
    seen: Callable[[Any], Array] = as_it_is


class Found(NamedTuple):
    """Nanoseconds per element. None for a package that is not installed."""

    case: str
    most: float | None
    ours: float
    on_two: float | None
    peers: dict[str, float | None]
    off: float

    def missed(self) -> list[str]:
        late = self.most is not None and self.ours > self.most
        alone = self.on_two is not None and self.ours < SECOND * self.on_two
        return [*([self.case] if late else []), *([f"{self.case}, on two threads"] if alone else [])]


def kinematics(random: np.random.Generator, frames: int) -> Case:
    parents = np.array([-1, *(random.integers(0, joint) for joint in range(1, JOINTS))])
    q, t = quaternions(random, frames, JOINTS), (random.normal(size=(frames, JOINTS, 3)) / 10).astype("f4")
    out, skeleton = np.empty((frames, JOINTS, 3, 4), "f4"), condyle.Skeleton(parents)
    return Case(
        f"forward kinematics, {frames:,} frames, per joint and frame",
        frames * JOINTS,
        15,
        lambda: condyle.forward_kinematics(skeleton, q, t, out=out),
        # Each call starts threads. Meanwhile one thread finishes most of a thousand frames.
        (lambda: condyle.forward_kinematics(skeleton, q, t, out=out, threads=2)) if frames > FRAMES else None,
        {
            "NumPy": lambda: Peer(lambda: kinematics_in_numpy(parents, q, t)),
            "pymomentum": lambda: Momentum(parents).kinematics(q, t),
        },
        # pymomentum receives angles, which lose precision near singularities.
        2e-3,
    )


def slerp(random: np.random.Generator) -> Case:
    a, b = quaternions(random, PAIRS), quaternions(random, PAIRS)
    out = np.empty_like(a)
    return Case(
        "slerp of a million pairs, each",
        PAIRS,
        10,
        lambda: condyle.slerp(a, b, 0.3, out=out),
        lambda: condyle.slerp(a, b, 0.3, out=out, threads=2),
        {
            "NumPy": lambda: Peer(lambda: slerp_in_numpy(a, b, 0.3), matrices_of),
            "SciPy": lambda: peers.slerp_of_scipy(a, b, 0.3),
            "pymomentum": lambda: peers.slerp_of_momentum(a, b, 0.3),
        },
        # NumPy loses precision in the arccosine of values near 1.
        2e-3,
        matrices_of,
    )


def skinning(random: np.random.Generator) -> Case:
    it = character(random)
    times = np.linspace(0, 1, FRAMES, dtype="f4")
    out = np.empty((FRAMES, VERTICES, 3), "f4")
    few, some = 5, 50

    def in_numpy() -> Array:
        matrices = it.model.matrices(0, times[-few:])[:, it.joints]
        blended = np.einsum("vi,tvirc->tvrc", it.weights, matrices)
        return np.asarray(np.einsum("tvrc,vc->tvr", blended[..., :3], it.positions) + blended[..., 3])

    def momentum() -> Peer:
        matrices = it.model.matrices(0, times[-some:])[:, : len(it.model.skeleton)]
        own = Momentum(it.model.skeleton.parents)
        return own.skinning(it.positions, it.joints, it.weights, matrices, some / FRAMES)

    return Case(
        "skinned positions, 4 influences, 1,000 frames, per vertex and frame",
        FRAMES * VERTICES,
        6,
        lambda: it.model.skin(0, times, out=out),
        lambda: it.model.skin(0, times, out=out, threads=2),
        {"NumPy": lambda: Peer(in_numpy, share=few / FRAMES), "pymomentum": momentum},
        1e-4,
    )


def skinning_with_normals(random: np.random.Generator) -> Case:
    it = character(random)
    times = np.linspace(0, 1, FRAMES, dtype="f4")
    out = condyle.Vertices(np.empty((FRAMES, VERTICES, 3), "f4"), np.empty((FRAMES, VERTICES, 3), "f4"), None)
    few = 5

    def in_numpy() -> Array:
        matrices = it.model.matrices(0, times[-few:])[:, it.joints]
        blended = np.einsum("vi,tvirc->tvrc", it.weights, matrices)
        positions = np.einsum("tvrc,vc->tvr", blended[..., :3], it.positions) + blended[..., 3]
        normals = np.einsum("tvrc,vc->tvr", blended[..., :3], it.normals)
        return np.stack([positions, normals / np.linalg.norm(normals, axis=-1, keepdims=True)])

    def seen(found: condyle.Vertices) -> Array:
        return np.swapaxes(np.stack([found.positions, np.asarray(found.normals)]), 0, 1)

    return Case(
        "skinned positions and normals, the same",
        FRAMES * VERTICES,
        None,
        lambda: it.model.skin(0, times, normals=True, out=out),
        lambda: it.model.skin(0, times, normals=True, out=out, threads=2),
        {"NumPy": lambda: Peer(in_numpy, lambda found: np.swapaxes(found, 0, 1), few / FRAMES)},
        1e-4,
        seen,
    )


def bodies(random: np.random.Generator, folder: Path, frames: int, most: float) -> Case:
    arrays, path = body(random), folder / f"body{frames}.npz"
    np.savez(path, **arrays)  # type: ignore[arg-type]
    betas, trans = random.normal(size=SHAPES).astype("f4"), random.normal(size=(frames, 3)).astype("f4")
    turns = (random.normal(size=(frames, BODY_JOINTS, 3)) / 2).astype("f4")
    angle = np.linalg.norm(turns, axis=-1, keepdims=True)
    q = np.concatenate([turns / angle * np.sin(angle / 2), np.cos(angle / 2)], -1)
    ours = condyle.BodyModel(path).shaped(betas)
    out = np.empty((frames, len(ours.positions), 3), "f4")
    shaped = ours.positions
    return Case(
        f"body in the layout of SMPL with correctives, {frames} in a call, per frame",
        frames,
        most,
        lambda: ours.vertices(q, trans, out=out),
        # Up to 32 bodies are one matrix product, on one thread.
        (lambda: ours.vertices(q, trans, out=out, threads=2)) if frames > 32 else None,
        {
            "NumPy": lambda: Peer(lambda: body_in_numpy(arrays, shaped, q, trans)),
            "body-models, NumPy": lambda: peers.body_of_body_models("numpy", path, turns, betas, trans),
            "body-models, torch": lambda: peers.body_of_body_models("torch", path, turns, betas, trans),
            "smplx": lambda: peers.body_of_smplx(arrays, turns, betas, trans),
        },
        1e-4,
    )


def bvh(random: np.random.Generator, folder: Path) -> Case:
    path, short = folder / "motion.bvh", BVH_FRAMES // 20
    head, rest = hierarchy(1, BVH_JOINTS), motion(random, BVH_FRAMES, BVH_JOINTS)
    path.write_text(head + rest)
    # bvhsdk is slow, so it reads a short file.
    last = rest.splitlines(keepends=True)[-short:]
    few = folder / "few.bvh"
    few.write_text(head + rest[: rest.index("\n") + 1] + f"Frames: {short}\n" + rest.splitlines(keepends=True)[2] + "".join(last))
    names = [line.split()[1] for line in head.splitlines() if "JOINT" in line or "ROOT" in line]
    times = np.arange(BVH_FRAMES) / 30

    def ours() -> condyle.Poses:
        return condyle.open(path).clips[0].sample(times)

    skeleton = condyle.open(path).skeleton
    order = [skeleton.index(name) for name in names]
    return Case(
        f"BVH of {BVH_JOINTS} joints to arrays, per frame",
        BVH_FRAMES,
        1e9 / 450_000,
        ours,
        None,
        {
            "np.loadtxt": lambda: peers.bvh_of_numpy(path),
            "pybvh": lambda: peers.bvh_of_pybvh(path),
            "bvhsdk": lambda: peers.bvh_of_bvhsdk(few, short / BVH_FRAMES),
        },
        1e-3,
        lambda poses: matrices_of(poses.rotations[:, order]),
    )


def compressed(random: np.random.Generator, count: int, most: float) -> Case:
    """Samples of a clip of two seconds. The peer samples the same clip uncompressed."""
    model = condyle.from_bytes((hierarchy(1, JOINTS) + motion(random, 60, JOINTS)).encode(), "motion.bvh")
    clip, packed = model.clips[0], model.clips[0].encode(shell=0.03)
    times = random.uniform(0, clip.end, count).astype("f4")
    out = condyle.Poses(*(np.ones((count, JOINTS, numbers), "f4") for numbers in (4, 3, 3)))
    last = min(count, 10_000)

    def seen(poses: condyle.Poses) -> Array:
        return matrices_of(poses.rotations[-last:])

    return Case(
        f"compressed poses at random of {JOINTS} joints, {count:,} in a call, each",
        count,
        most,
        lambda: packed.sample(times, out=out),
        (lambda: packed.sample(times, out=out, threads=2)) if count > 1 else None,
        {"Condyle, not compressed": lambda: Peer(lambda: clip.sample(times[-last:]), seen, last / count)},
        # Half a millimetre at 3 cm from a joint.
        0.05,
        seen,
    )


def timed(call: Callable[[], Any], share: float = 1) -> float:
    """Nanoseconds of the whole work. Short calls are repeated and averaged."""
    start = time.perf_counter_ns()
    call()
    took = time.perf_counter_ns() - start
    if took < 1_000_000:
        again = 1_000_000 // max(took, 1) + 1
        start = time.perf_counter_ns()
        for _ in range(again):
            call()
        took = (time.perf_counter_ns() - start) // again
    return took / share


def measured(case: Case, rounds: int) -> Found:
    want = np.array(case.seen(case.ours()))
    ways: dict[str, Peer] = {"ours": Peer(case.ours)}
    if case.on_two is not None:
        again = np.asarray(case.seen(case.on_two()))
        assert np.array_equal(again, want, equal_nan=True), f"{case.name}: two threads give a different result"
        ways["on two"] = Peer(case.on_two)
    most_off = 0.0
    for name, ready in case.peers.items():
        try:
            peer = ready()
        except ImportError:
            continue
        got = peer.seen(peer.call())
        # A slow peer computes only the last part.
        off = float(np.abs(got - want[-len(got) :]).max())
        assert off <= case.off, f"{case.name}: {name} differs by {off}"
        most_off, ways[name] = max(most_off, off), peer
    least = dict.fromkeys(ways, np.inf)
    for _ in range(rounds):
        for name, way in ways.items():
            least[name] = min(least[name], timed(way.call, way.share) / case.per)
    others = {name: least.get(name) for name in case.peers}
    return Found(case.name, case.most, least["ours"], least.get("on two"), others, most_off)


def shown(nanoseconds: float | None) -> str:
    if nanoseconds is None:
        return "absent"
    unit, scale = next(it for it in (("ms", 1e6), ("µs", 1e3), ("ns", 1)) if nanoseconds >= it[1] or it[0] == "ns")
    return f"{nanoseconds / scale:.3g} {unit}" if nanoseconds < 1e9 else f"{nanoseconds / 1e6:.0f} ms"


def line(found: Found) -> str:
    most = "" if found.most is None else shown(found.most)
    second = "" if found.on_two is None else f"{shown(found.on_two)} ({found.ours / found.on_two:.2f} ×)"
    others = (
        f"{name} {shown(took)}" + ("" if took is None else f" ({took / found.ours:.3g} ×)")
        for name, took in found.peers.items()
    )
    return f"| {found.case} | {most} | {shown(found.ours)} | {second} | {', '.join(others)} | {found.off:.0e} |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--once", action="store_true", help="run each case once, only to check the results")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    random, found = np.random.default_rng(1), []
    if not options.json:
        print("| | limit | Condyle | on two threads | others | max difference |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        cases: list[Callable[[], Case]] = [
            lambda: kinematics(random, FRAMES),
            lambda: kinematics(random, 10 * FRAMES),
            lambda: skinning(random),
            lambda: skinning_with_normals(random),
            lambda: bodies(random, folder, 256, 0.4e6),
            lambda: bodies(random, folder, 32, 0.4e6),
            lambda: bodies(random, folder, 1, 1.5e6),
            lambda: bvh(random, folder),
            lambda: slerp(random),
            lambda: compressed(random, 1, 3e3),
            # A check of the results alone should not need three gigabytes of poses.
            lambda: compressed(random, POSES // 100 if options.once else POSES, 1e3),
        ]
        for case in cases:
            found.append(measured(case(), 1 if options.once else 7))
            if not options.json:
                print(line(found[-1]), flush=True)
    missed = [what for it in found for what in it.missed()]
    if options.json:
        print(json.dumps({"cases": [it._asdict() for it in found], "missed": missed}))
    elif not options.once:
        print("".join(f"MISSED: {what}\n" for what in missed), end="", file=sys.stderr)
    return 1 if missed and not options.once else 0


if __name__ == "__main__":
    sys.exit(main())
