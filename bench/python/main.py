"""What the Python package takes beside plain NumPy, after both have given the same answer. From the checkout:

    pip install ./bindings/python && python bench/python/main.py

One process and one thread unless it says otherwise; the least of several rounds, in which all take turns. Exits with 1 where a target is missed. With
--once each runs a single time, which checks the answers alone.
"""

from __future__ import annotations

import json
import struct
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import condyle
import numpy as np

Array = np.ndarray[Any, Any]

FRAMES, JOINTS, VERTICES, PAIRS = 1000, 67, 10_000, 1_000_000
ONCE = "--once" in sys.argv
ROUNDS = 1 if ONCE else 7


class Case(NamedTuple):
    """Ways to the same numbers."""

    name: str
    # Nanoseconds are told for each of so many,
    per: int
    # and these are the most that are wanted.
    most: float
    ours: Callable[[], Array]
    peers: dict[str, Callable[[], Array]]
    # How far the peers' numbers may be from ours.
    off: float


def quaternions(random: np.random.Generator, *shape: int) -> Array:
    q = random.normal(size=(*shape, 4))
    return np.asarray(q / np.linalg.norm(q, axis=-1, keepdims=True), "f4")


def matrices_of(q: Array) -> Array:
    x, y, z, w = np.moveaxis(q, -1, 0)
    out = np.empty((*q.shape[:-1], 3, 3), "f4")
    out[..., 0, 0], out[..., 0, 1], out[..., 0, 2] = 1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)
    out[..., 1, 0], out[..., 1, 1], out[..., 1, 2] = 2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)
    out[..., 2, 0], out[..., 2, 1], out[..., 2, 2] = 2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)
    return out


def kinematics_in_numpy(parents: Array, q: Array, t: Array) -> Array:
    """All frames of a joint at a time, as a good user of NumPy writes it."""
    out = np.empty((*q.shape[:2], 3, 4), "f4")
    out[..., :3], out[..., 3] = matrices_of(q), t
    for joint, parent in enumerate(parents):
        if parent >= 0:
            above = out[:, parent]
            own = above[..., :3] @ out[:, joint]
            own[..., 3] += above[..., 3]
            out[:, joint] = own
    return out


def slerp_in_numpy(a: Array, b: Array, t: float) -> Array:
    cosine = np.einsum("ij,ij->i", a, b)
    b = np.where(cosine[:, None] < 0, -b, b)
    angle = np.arccos(np.minimum(np.abs(cosine), 1))
    sine = np.sin(angle)
    return np.asarray((np.sin((1 - t) * angle) / sine)[:, None] * a + (np.sin(t * angle) / sine)[:, None] * b)


def kinematics(random: np.random.Generator) -> Case:
    parents = np.array([-1, *(random.integers(0, joint) for joint in range(1, JOINTS))])
    q, t = quaternions(random, FRAMES, JOINTS), (random.normal(size=(FRAMES, JOINTS, 3)) / 10).astype("f4")
    out, skeleton = np.empty((FRAMES, JOINTS, 3, 4), "f4"), condyle.Skeleton(parents)
    return Case(
        "forward kinematics, 1,000 frames, per joint and frame",
        FRAMES * JOINTS,
        15,
        lambda: condyle.forward_kinematics(skeleton, q, t, out=out),
        {
            "NumPy": lambda: kinematics_in_numpy(parents, q, t),
            "2 threads": lambda: condyle.forward_kinematics(skeleton, q, t, out=out, threads=2),
        },
        1e-5,
    )


def slerp(random: np.random.Generator) -> Case:
    a, b = quaternions(random, PAIRS), quaternions(random, PAIRS)
    out = np.empty_like(a)
    return Case(
        "slerp of a million pairs, each",
        PAIRS,
        10,
        lambda: condyle.slerp(a, b, 0.3, out=out),
        {"NumPy": lambda: slerp_in_numpy(a, b, 0.3), "2 threads": lambda: condyle.slerp(a, b, 0.3, out=out, threads=2)},
        # NumPy loses digits in the arccosine of what is near 1.
        1e-3,
    )


def character(random: np.random.Generator) -> tuple[condyle.Model, Array, Array, Array]:
    """Vertices of four influences each, on joints that all turn from one key to the next."""
    positions = random.normal(size=(VERTICES, 3)).astype("f4")
    joints = random.integers(0, JOINTS, (VERTICES, 4)).astype("u2")
    weights = random.uniform(0.1, 1, (VERTICES, 4))
    weights = (weights / weights.sum(-1, keepdims=True)).astype("f4")
    turns = quaternions(random, JOINTS, 2)
    arrays = [positions, joints, weights, np.array([0, 1], "f4"), *turns]
    kinds = [("VEC3", 5126), ("VEC4", 5123), ("VEC4", 5126), ("SCALAR", 5126), *[("VEC4", 5126)] * JOINTS]
    views, accessors, start = [], [], 0
    for at, (array, (kind, component)) in enumerate(zip(arrays, kinds)):
        views.append({"buffer": 0, "byteOffset": start, "byteLength": array.nbytes})
        accessor = {"bufferView": at, "componentType": component, "type": kind, "count": len(array)}
        if at in (0, 3):
            low, high = array.min(0), array.max(0)
            accessor |= {"min": np.atleast_1d(low).tolist(), "max": np.atleast_1d(high).tolist()}
        accessors.append(accessor)
        start += array.nbytes
    nodes: list[dict[str, Any]] = [{"name": f"joint {j}"} for j in range(JOINTS)]
    for joint in range(1, JOINTS):
        nodes[(joint - 1) // 2].setdefault("children", []).append(joint)
    attributes = {"POSITION": 0, "JOINTS_0": 1, "WEIGHTS_0": 2}
    samplers = [{"input": 3, "output": 4 + joint} for joint in range(JOINTS)]
    channels = [{"sampler": j, "target": {"node": j, "path": "rotation"}} for j in range(JOINTS)]
    document = {
        "asset": {"version": "2.0"},
        "buffers": [{"byteLength": start}],
        "bufferViews": views,
        "accessors": accessors,
        "nodes": [*nodes, {"mesh": 0, "skin": 0}],
        "scenes": [{"nodes": [0, JOINTS]}],
        "scene": 0,
        "meshes": [{"primitives": [{"attributes": attributes, "mode": 0}]}],
        "skins": [{"joints": list(range(JOINTS))}],
        "animations": [{"samplers": samplers, "channels": channels}],
    }
    text = json.dumps(document).encode()
    text += b" " * (-len(text) % 4)
    data = b"".join(array.tobytes() for array in arrays)
    head = struct.pack("<4s4I", b"glTF", 2, 28 + len(text) + len(data), len(text), 0x4E4F534A)
    model = condyle.from_bytes(head + text + struct.pack("<II", len(data), 0x004E4942) + data)
    # The skeleton has its own order.
    order = np.array([model.skeleton.index(f"joint {joint}") for joint in range(JOINTS)])
    return model, positions, order[joints], weights


def skinning(random: np.random.Generator) -> Case:
    model, positions, joints, weights = character(random)
    times = np.linspace(0, 1, FRAMES, dtype="f4")
    out = np.empty((FRAMES, VERTICES, 3), "f4")

    def in_numpy() -> Array:
        """The last few frames, as it takes long."""
        matrices = model.matrices(0, times[-5:])[:, joints]
        blended = np.einsum("vi,tvirc->tvrc", weights, matrices)
        return np.asarray(np.einsum("tvrc,vc->tvr", blended[..., :3], positions) + blended[..., 3])

    return Case(
        "skinned positions, 4 influences, 1,000 frames, per vertex and frame",
        FRAMES * VERTICES,
        6,
        lambda: model.skin(0, times, out=out),
        {"NumPy": in_numpy, "2 threads": lambda: model.skin(0, times, out=out, threads=2)},
        1e-4,
    )


def timed(call: Callable[[], Array]) -> float:
    start = time.perf_counter()
    call()
    return 1e9 * (time.perf_counter() - start)


def told(case: Case) -> bool:
    """Prints a line; whether the target is kept."""
    want = case.ours().copy()
    counts = {}
    for name, peer in case.peers.items():
        got = peer()
        # A slow one does the last part alone.
        off = np.abs(got - want[-len(got) :]).max()
        assert off <= case.off, f"{case.name}: {name} is {off} off"
        counts[name] = case.per * len(got) / len(want)
    ours, others = np.inf, dict.fromkeys(case.peers, np.inf)
    for _ in range(ROUNDS):
        ours = min(ours, timed(case.ours) / case.per)
        for name, peer in case.peers.items():
            others[name] = min(others[name], timed(peer) / counts[name])
    kept = ours <= case.most
    figures = ", ".join(f"{name} {nanoseconds:.1f}" for name, nanoseconds in others.items())
    verdict = "" if kept or ONCE else ": MISSED"
    print(f"{case.name}: {ours:.1f} ns, at most {case.most:.0f} wanted{verdict}; {figures}")
    return kept or ONCE


def main() -> int:
    random = np.random.default_rng(1)
    kept = [told(case(random)) for case in (kinematics, skinning, slerp)]
    return 0 if all(kept) else 1


if __name__ == "__main__":
    sys.exit(main())
