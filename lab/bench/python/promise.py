"""Measures whether compressed clips keep their error bound, in f64 and without the library.

    python lab/bench/python/promise.py CONDYLE FOLDER... [--errors 0.1 0.5 2]

The command CONDYLE encodes and decodes each model (.glb, .gltf, .bvh), and packs it if it is glTF. The small
readers below read source and result. The comparison runs at every key of the source and 240 times per second,
at most 20,000 times per clip.

It computes the largest displacement of a vertex. Around joints without vertices it computes that of a ball of
3 cm: the distance of the centre, plus the radius times the largest singular value of the difference. Nodes
that are not joints and that no clip animates depend on a joint, and only their vertices are bounded.

Units are metres, as in the command. `decode` may add 1/16 of the bound, and f32 rounding 5e-7 of the largest
distance from the origin. Files with compressed buffers or morph weights are not read, but listed.
"""

from __future__ import annotations

import argparse
import json
import struct
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np

RADIUS = 0.03
TYPES = {5120: "i1", 5121: "u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", 5126: "<f4"}
WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT4": 16}


class Skipped(Exception):
    """The file has features that these readers do not support."""


class Failed(Exception):
    """The command refused a file that these readers support."""


def quaternion(q: np.ndarray) -> np.ndarray:
    x, y, z, w = np.moveaxis(q / np.linalg.norm(q, axis=-1, keepdims=True), -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    return np.stack([np.stack(row, -1) for row in rows], -2)


def slerp(a: np.ndarray, b: np.ndarray, t: np.ndarray) -> np.ndarray:
    dot = (a * b).sum(-1, keepdims=True)
    b, dot = np.where(dot < 0, -b, b), np.minimum(np.abs(dot), 1.0)
    angle = np.arctan2(np.linalg.norm(b - a * dot, axis=-1, keepdims=True), dot)
    sine = np.sin(angle)
    near = sine < 1e-9
    safe = np.where(near, 1.0, sine)
    turned: np.ndarray = np.where(near, a + (b - a) * t, (np.sin((1 - t) * angle) * a + np.sin(t * angle) * b) / safe)
    return turned


class Gltf:
    def __init__(self, path: Path) -> None:
        data, self.bin = path.read_bytes(), b""
        if data[:4] == b"glTF":
            length = struct.unpack_from("<I", data, 12)[0]
            self.bin = data[28 + length :]
            data = data[20 : 20 + length]
        self.doc: dict[str, Any] = json.loads(data)
        self.folder = path.parent
        text = json.dumps(self.doc.get("bufferViews", [])) + json.dumps(self.doc.get("meshes", []))
        if "meshopt" in text or "draco" in text:
            raise Skipped("compressed buffers")
        self.nodes = self.doc.get("nodes", [])
        self.parent = [-1] * len(self.nodes)
        for at, node in enumerate(self.nodes):
            for child in node.get("children", []):
                self.parent[child] = at

    def buffer(self, at: int) -> bytes:
        uri = self.doc["buffers"][at].get("uri")
        if uri is None:
            return self.bin
        if uri.startswith("data:"):
            import base64

            return base64.b64decode(uri.split(",", 1)[1])
        return (self.folder / unquote(uri)).read_bytes()

    def accessor(self, at: int) -> np.ndarray:
        it = self.doc["accessors"][at]
        if "sparse" in it or "bufferView" not in it:
            raise Skipped("sparse accessors")
        view = self.doc["bufferViews"][it["bufferView"]]
        kind, width = np.dtype(TYPES[it["componentType"]]), WIDTHS[it["type"]]
        begin = view.get("byteOffset", 0) + it.get("byteOffset", 0)
        stride = view.get("byteStride", kind.itemsize * width)
        raw = np.ndarray((it["count"], width), kind, self.buffer(view["buffer"]), begin, (stride, kind.itemsize))
        values = raw.astype(float)
        if it.get("normalized"):
            values = np.maximum(values / np.iinfo(kind).max, -1.0)
        return values

    def clips(self) -> list[dict[str, Any]]:
        clips: list[dict[str, Any]] = self.doc.get("animations", [])
        return clips

    def keys(self, clip: int) -> np.ndarray:
        samplers = self.clips()[clip]["samplers"]
        return np.unique(np.concatenate([self.accessor(s["input"])[:, 0] for s in samplers]))

    def values(self, clip: int, sampler: int, times: np.ndarray, turns: bool) -> np.ndarray:
        it = self.clips()[clip]["samplers"][sampler]
        keys, values = self.accessor(it["input"])[:, 0], self.accessor(it["output"])
        mode = it.get("interpolation", "LINEAR")
        if mode == "CUBICSPLINE":
            values = values.reshape(len(keys), 3, -1)
        at = np.clip(np.searchsorted(keys, times, "right") - 1, 0, max(len(keys) - 2, 0))
        after = np.minimum(at + 1, len(keys) - 1)
        gap = keys[after] - keys[at]
        t = np.clip(np.where(gap > 0, (times - keys[at]) / np.where(gap > 0, gap, 1), 0), 0, 1)[:, None]
        if mode == "STEP":
            return np.where(t >= 1, values[after], values[at])
        if mode == "LINEAR":
            a, b = values[at], values[after]
            return slerp(a, b, t) if turns else a + (b - a) * t
        gap = gap[:, None]
        p, m, q, n = values[at, 1], values[at, 2] * gap, values[after, 1], values[after, 0] * gap
        t2, t3 = t * t, t * t * t
        curve: np.ndarray = (2 * t3 - 3 * t2 + 1) * p + (t3 - 2 * t2 + t) * m + (3 * t2 - 2 * t3) * q + (t3 - t2) * n
        return curve

    def world(self, clip: int, times: np.ndarray) -> np.ndarray:
        count = len(times)
        locals_ = []
        moved: dict[tuple[int, str], int] = {}
        for channel in self.clips()[clip]["channels"]:
            target = channel["target"]
            if target["path"] in ("weights", "pointer"):
                raise Skipped("morph weights or pointers")
            if "node" in target:
                moved[target["node"], target["path"]] = channel["sampler"]
        for at, node in enumerate(self.nodes):
            m = np.zeros((count, 4, 4))
            if "matrix" in node:
                m[:] = np.array(node["matrix"], float).reshape(4, 4).T
            else:
                part = {}
                for path, rest in (("translation", [0, 0, 0]), ("rotation", [0, 0, 0, 1]), ("scale", [1, 1, 1])):
                    own = moved.get((at, path))
                    part[path] = (
                        self.values(clip, own, times, path == "rotation")
                        if own is not None
                        else np.tile(np.array(node.get(path, rest), float), (count, 1))
                    )
                m[:, :3, :3] = quaternion(part["rotation"]) * part["scale"][:, None, :]
                m[:, :3, 3], m[:, 3, 3] = part["translation"], 1
            locals_.append(m)
        placed: list[np.ndarray | None] = [None] * len(self.nodes)

        def place(at: int) -> np.ndarray:
            if placed[at] is None:
                parent = self.parent[at]
                placed[at] = locals_[at] if parent < 0 else place(parent) @ locals_[at]
            return placed[at]  # type: ignore[return-value]

        return np.stack([place(at) for at in range(len(self.nodes))], 1) if self.nodes else np.zeros((count, 0, 4, 4))

    def moved(self) -> set[int]:
        """Nodes that clips animate."""
        targets = (channel["target"] for clip in self.clips() for channel in clip["channels"])
        return {target["node"] for target in targets if "node" in target}

    def skins(self) -> list[tuple[list[int], np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
        """Joints, inverse bind matrices, vertices and influences of each skinned or rigid primitive."""
        out = []
        for at, node in enumerate(self.nodes):
            for primitive in self.doc["meshes"][node["mesh"]]["primitives"] if "mesh" in node else []:
                names = primitive["attributes"]
                vertices = self.accessor(names["POSITION"])
                vertices = np.hstack([vertices, np.ones((len(vertices), 1))])
                if "skin" not in node:
                    one = np.zeros((len(vertices), 1))
                    out.append(([at], np.eye(4)[None], vertices, one.astype(int), one + 1))
                    continue
                skin = self.doc["skins"][node["skin"]]
                bind = np.tile(np.eye(4), (len(skin["joints"]), 1, 1))
                if "inverseBindMatrices" in skin:
                    bind = self.accessor(skin["inverseBindMatrices"]).reshape(-1, 4, 4).transpose(0, 2, 1)
                sets = sorted(name for name in names if name.startswith("JOINTS_"))
                joints = np.hstack([self.accessor(names[name]) for name in sets]).astype(int)
                weights = np.hstack([self.accessor(names[name.replace("JOINTS", "WEIGHTS")]) for name in sets])
                total = weights.sum(1, keepdims=True)
                out.append((skin["joints"], bind, vertices, joints, weights / np.where(total > 0, total, 1)))
        return out


class Bvh:
    def __init__(self, path: Path) -> None:
        words = path.read_text(errors="replace").split()
        self.names: list[str] = []
        self.parents: list[int] = []
        self.offsets: list[list[float]] = []
        self.channels: list[list[str]] = []
        stack: list[int] = []
        at, is_end = 1, False
        while words[at] != "MOTION":
            word = words[at]
            if word in ("ROOT", "JOINT", "End"):
                is_end = word == "End"
                name = words[at + 1] if not is_end else f"{self.names[stack[-1]]}_End"
                self.parents.append(stack[-1] if stack else -1)
                self.names.append(name)
                self.channels.append([])
                at += 2
            elif word == "{":
                stack.append(len(self.names) - 1)
                at += 1
            elif word == "}":
                stack.pop()
                at += 1
            elif word == "OFFSET":
                self.offsets.append([float(v) for v in words[at + 1 : at + 4]])
                at += 4
            else:
                count = int(words[at + 1])
                self.channels[stack[-1]] = words[at + 2 : at + 2 + count]
                at += 2 + count
        frames = int(words[at + 2])
        self.step = float(words[at + 5])
        width = sum(map(len, self.channels))
        self.rows = np.array(words[at + 6 : at + 6 + frames * width], float).reshape(frames, width)

    def world(self) -> np.ndarray:
        column = 0
        placed: list[np.ndarray] = []
        for parent, offset, channels in zip(self.parents, self.offsets, self.channels):
            m = np.tile(np.eye(4), (len(self.rows), 1, 1))
            m[:, :3, 3] = offset
            if any("position" in name for name in channels):
                m[:, :3, 3] = 0
            for name in channels:
                value = self.rows[:, column]
                column += 1
                axis = "XYZ".index(name[0].upper())
                if "position" in name:
                    m[:, axis, 3] = value
                    continue
                i, j = (axis + 1) % 3, (axis + 2) % 3
                turn = np.tile(np.eye(4), (len(value), 1, 1))
                angle = np.radians(value)
                turn[:, i, i] = turn[:, j, j] = np.cos(angle)
                turn[:, j, i] = np.sin(angle)
                turn[:, i, j] = -turn[:, j, i]
                m = m @ turn
            placed.append(m if parent < 0 else placed[parent] @ m)
        return np.stack(placed, 1)


def balls(off: np.ndarray) -> float:
    """Largest displacement of any ball, from matrix differences."""
    if off.size == 0:
        return 0.0
    stretch = np.linalg.svd(off[..., :3, :3], compute_uv=False)[..., 0]
    return float((np.linalg.norm(off[..., :3, 3], axis=-1) + RADIUS * stretch).max())


def compared(source: Gltf, result: Gltf) -> tuple[float, float, float]:
    vertices = ball = extent = 0.0
    skins = source.skins()
    bare = {joint for joints, *_ in skins for joint in joints} | source.moved() if skins else set(range(len(source.nodes)))
    for joints, _, _, used, weights in skins:
        bare -= {joints[at] for at in np.unique(used[weights > 0])}
    for clip in range(len(source.clips())):
        keys = source.keys(clip)
        even = np.linspace(keys[0], keys[-1], min(int((keys[-1] - keys[0]) * 240) + 2, 20_000))
        times = np.unique(np.concatenate([keys, even.astype("f4").astype(float)]))
        for part in np.array_split(times, max(1, len(times) // 64)):
            a, b = source.world(clip, part), result.world(clip, part)
            extent = max(extent, float(np.abs(a[:, :, :3, 3]).max(initial=0)))
            ball = max(ball, balls((a - b)[:, sorted(bare)]))
            for joints, bind, points, used, weights in skins:
                off = (a - b)[:, joints] @ bind
                by_joint = np.einsum("tjab,vb->tvja", off[:, :, :3], points) if len(joints) * len(points) < 20_000 else None
                if by_joint is not None:
                    moved = np.take_along_axis(by_joint, used[None, :, :, None], 2)
                    moved = (moved * weights[None, :, :, None]).sum(2)
                else:
                    moved = np.zeros((len(part), len(points), 3))
                    for k in range(used.shape[1]):
                        moved += weights[:, k, None] * np.einsum("tvab,vb->tva", off[:, used[:, k], :3], points)
                vertices = max(vertices, float(np.linalg.norm(moved, axis=2).max()))
    return vertices, ball, extent


def check(condyle: str, path: Path, error: float, folder: Path) -> list[tuple[str, float, float, float]]:
    def run(*args: str) -> None:
        done = subprocess.run([condyle, *args], capture_output=True, text=True)
        if done.returncode:
            raise Failed(f"condyle {args[0]}: " + (done.stderr.strip().splitlines() or ["failed"])[-1][:200])

    small, found = str(folder / "small.condyle"), []
    is_bvh = path.suffix.lower() == ".bvh"
    source: Any = None if is_bvh else Gltf(path)
    if source is not None and not source.clips():
        raise Skipped("no clips")
    run("encode", str(path), "-o", small, "--error", f"{error}mm", "--force")
    if is_bvh:
        run("decode", small, "-o", str(folder / "back.bvh"), "--force")
        first, back = Bvh(path), Bvh(folder / "back.bvh")
        a, b = first.world(), back.world()
        pairs = [(i, back.names.index(name)) for i, name in enumerate(first.names) if name in back.names]
        if len(a) != len(b):
            return [(f"decode: {len(b)} of {len(a)} frames", float("inf"), 1.0, 0.0)]
        off = a[:, [i for i, _ in pairs]] - b[:, [j for _, j in pairs]]
        return [("decode, balls", 1e3 * balls(off), 17 / 16 * error, float(np.abs(a[:, :, :3, 3]).max()))]
    for name, limit in (("decode", 17 / 16 * error), ("pack", error)):
        out = str(folder / f"{name}.glb")
        run(name, small if name == "decode" else str(path), "-o", out, "--force", *(["--error", f"{error}mm"] if name == "pack" else []))
        vertices, ball, extent = compared(source, Gltf(Path(out)))
        found += [(f"{name}, vertices", 1e3 * vertices, limit, extent), (f"{name}, balls", 1e3 * ball, limit, extent)]
    return found


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("condyle")
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--errors", nargs="+", type=float, default=[0.1, 0.5, 2.0])
    args = parser.parse_args()
    over, checked, skipped = 0, 0, {}
    failed: list[str] = []
    worst: dict[tuple[float, str], tuple[float, str]] = {}
    for path in sorted(p for folder in args.folders for p in folder.rglob("*") if p.suffix.lower() in (".glb", ".gltf", ".bvh")):
        for error in args.errors:
            try:
                with tempfile.TemporaryDirectory() as folder:
                    rows = check(args.condyle, path, error, Path(folder))
            except (Skipped, KeyError, IndexError, ValueError, FileNotFoundError) as why:
                skipped[path.name] = str(why)
                continue
            except Failed as why:
                failed.append(f"{path.name} at {error} mm: {why}")
                continue
            checked += 1
            for what, off, limit, extent in rows:
                worst[error, what] = max(worst.get((error, what), (0.0, "")), (off / limit, path.name))
                if off > limit * (1 + 1e-4) + 1e3 * 5e-7 * max(extent, 2.0):
                    over += 1
                    print(f"OVER {path.name} at {error} mm: {what} {off:.4f} of {limit:.4f} mm", flush=True)
    for (error, what), (part, name) in sorted(worst.items()):
        print(f"{error} mm, {what}: worst {100 * part:.1f} % of the bound, {name}")
    print(f"{checked} checked, {over} over; not read: {skipped}")
    if failed:
        print("\n".join(f"FAILED {line}" for line in failed))
    return int(over > 0 or bool(failed) or checked == 0)


if __name__ == "__main__":
    sys.exit(main())
