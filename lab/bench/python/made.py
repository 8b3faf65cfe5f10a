"""Characters and bodies generated from a seed, and idiomatic NumPy code for them."""

from __future__ import annotations

import json
import struct
from typing import Any, NamedTuple

import condyle
import numpy as np

from peers import Array, matrices_of

JOINTS, VERTICES = 67, 10_000
BODY_VERTICES, BODY_JOINTS, SHAPES, INFLUENCES = 6890, 24, 10, 4


def quaternions(random: np.random.Generator, *shape: int) -> Array:
    q = random.normal(size=(*shape, 4))
    return np.asarray(q / np.linalg.norm(q, axis=-1, keepdims=True), "f4")


def kinematics_in_numpy(parents: Array, q: Array, t: Array) -> Array:
    """Model matrices in idiomatic NumPy: all frames of one joint at a time."""
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


class Character(NamedTuple):
    model: condyle.Model
    positions: Array
    normals: Array
    joints: Array
    weights: Array


def character(random: np.random.Generator) -> Character:
    """Character with four influences per vertex. All joints rotate from the first key to the second."""
    positions = random.normal(size=(VERTICES, 3)).astype("f4")
    joints = random.integers(0, JOINTS, (VERTICES, 4)).astype("u2")
    weights = random.uniform(0.1, 1, (VERTICES, 4))
    weights = (weights / weights.sum(-1, keepdims=True)).astype("f4")
    # Small rotations, because a nearly singular blended matrix would leave few digits in the normals.
    turns = np.concatenate([random.normal(size=(JOINTS, 2, 3)) / 10, np.ones((JOINTS, 2, 1))], -1)
    turns = (turns / np.linalg.norm(turns, axis=-1, keepdims=True)).astype("f4")
    normals = quaternions(random, VERTICES)[:, :3]
    normals /= np.linalg.norm(normals, axis=-1, keepdims=True)
    arrays = [positions, joints, weights, np.array([0, 1], "f4"), normals, *turns]
    kinds = [("VEC3", 5126), ("VEC4", 5123), ("VEC4", 5126), ("SCALAR", 5126), ("VEC3", 5126), *[("VEC4", 5126)] * JOINTS]
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
    attributes = {"POSITION": 0, "JOINTS_0": 1, "WEIGHTS_0": 2, "NORMAL": 4}
    samplers = [{"input": 3, "output": 5 + joint} for joint in range(JOINTS)]
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
    # The skeleton orders joints differently from the document.
    order = np.array([model.skeleton.index(f"joint {joint}") for joint in range(JOINTS)])
    return Character(model, positions, normals, order[joints], weights)


def body(random: np.random.Generator) -> dict[str, Array]:
    """Body model in the layout of SMPL, with four influences per vertex."""
    parents = [2**32 - 1, *(int(random.integers(0, joint)) for joint in range(1, BODY_JOINTS))]
    weights = np.zeros((BODY_VERTICES, BODY_JOINTS))
    chosen = random.permuted(np.tile(np.arange(BODY_JOINTS), (BODY_VERTICES, 1)), axis=1)[:, :INFLUENCES]
    np.put_along_axis(weights, chosen, random.uniform(0.1, 1, chosen.shape), 1)
    regressor = random.random((BODY_JOINTS, BODY_VERTICES)) ** 20
    return {
        "v_template": random.normal(size=(BODY_VERTICES, 3)).astype("f4"),
        "shapedirs": (0.02 * random.normal(size=(BODY_VERTICES, 3, SHAPES))).astype("f4"),
        "posedirs": (0.01 * random.normal(size=(BODY_VERTICES, 3, 9 * (BODY_JOINTS - 1)))).astype("f4"),
        "J_regressor": (regressor / regressor.sum(1, keepdims=True)).astype("f4"),
        "weights": (weights / weights.sum(1, keepdims=True)).astype("f4"),
        "kintree_table": np.array([parents, range(BODY_JOINTS)], "u4"),
        "f": np.array([[0, 1, 2]], "u4"),
    }


def body_in_numpy(model: dict[str, Array], shaped: Array, q: Array, trans: Array) -> Array:
    """Published formula in matrix products, for a body whose shape is already computed."""
    joints = model["J_regressor"] @ shaped
    parents = np.array([-1, *model["kintree_table"][0, 1:].astype(int)])
    turns = matrices_of(q)
    correctives = model["posedirs"].reshape(-1, 9 * (BODY_JOINTS - 1))
    features = (turns[:, 1:] - np.eye(3, dtype="f4")).reshape(len(q), -1)
    bind = shaped + (features @ correctives.T).reshape(len(q), -1, 3)
    places = np.concatenate([joints[:1], joints[1:] - joints[parents[1:]]])
    placed = kinematics_in_numpy(parents, q, np.broadcast_to(places, (*q.shape[:2], 3)))
    placed[..., 3] -= np.einsum("tjab,jb->tja", placed[..., :3], joints)
    blended = (model["weights"] @ placed.reshape(len(q), BODY_JOINTS, 12)).reshape(len(q), -1, 3, 4)
    moved = np.matmul(blended[..., :3], bind[..., None])[..., 0] + blended[..., 3]
    return np.asarray(moved + trans[:, None])
