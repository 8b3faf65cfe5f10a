"""Other packages with the same functions as Condyle. A missing package raises ImportError when its peer is
prepared.

Each package is used idiomatically, with all work prepared that does not change between calls.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, Any]


def as_it_is(found: Any) -> Array:
    return np.asarray(found)


class Peer(NamedTuple):
    """Another implementation of a computation."""

    call: Callable[[], Any]
    # Converts the result for the comparison. Not part of the measured time.
    seen: Callable[[Any], Array] = as_it_is
    # Fraction of the work that a slow peer does, the last part.
    share: float = 1


def matrices_of(q: Array) -> Array:
    x, y, z, w = np.moveaxis(q, -1, 0)
    out = np.empty((*q.shape[:-1], 3, 3), q.dtype)
    out[..., 0, 0], out[..., 0, 1], out[..., 0, 2] = 1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)
    out[..., 1, 0], out[..., 1, 1], out[..., 1, 2] = 2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)
    out[..., 2, 0], out[..., 2, 1], out[..., 2, 2] = 2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)
    return out


def matrices_of_turns(radians: Array) -> Array:
    """Rotation matrices from angles (..., 3) about Z, X and Y. The last angle rotates first."""
    half = np.zeros((*radians.shape, 4))
    for at, axis in enumerate((2, 0, 1)):
        half[..., at, axis], half[..., at, 3] = np.sin(radians[..., at] / 2), np.cos(radians[..., at] / 2)
    z, x, y = (matrices_of(half[..., at, :]) for at in range(3))
    return np.asarray(z @ x @ y)


class Momentum:
    """Character of pymomentum whose rest translations are 0. pymomentum chooses its number of threads."""

    def __init__(self, parents: Array) -> None:
        self.geometry: Any = import_module("pymomentum.geometry")
        count, here, straight = len(parents), np.zeros(3, "f4"), np.array([0, 0, 0, 1], "f4")
        joints = [self.geometry.Joint(f"joint {at}", int(above), straight, here) for at, above in enumerate(parents)]
        skeleton = self.geometry.Skeleton(joints)
        names = [f"number {at}" for at in range(7 * count)]
        transform = self.geometry.ParameterTransform(names, skeleton, np.eye(7 * count, dtype="f4"))
        self.character: Any = self.geometry.Character("character", skeleton, transform)

    def kinematics(self, q: Array, t: Array) -> Peer:
        local = np.concatenate([t, q, np.ones_like(t[..., :1])], -1)
        numbers = self.geometry.local_skeleton_state_to_joint_parameters(self.character, local)

        def seen(states: Any) -> Array:
            found = np.asarray(states)
            return np.concatenate([matrices_of(found[..., 3:7]), found[..., :3, None]], -1)

        return Peer(lambda: self.geometry.joint_parameters_to_skeleton_state(self.character, numbers), seen)

    def skinning(self, positions: Array, joints: Array, weights: Array, matrices: Array, share: float) -> Peer:
        """Skins with existing matrices."""
        mesh = self.geometry.Mesh(positions, np.array([[0, 1, 2]], "i4"))
        skin = self.geometry.SkinWeights(joints.astype("i4"), weights)
        character = self.character.with_mesh_and_skin_weights(mesh, skin)
        whole = np.zeros((*matrices.shape[:-2], 4, 4), "f4")
        whole[..., :3, :], whole[..., 3, 3] = matrices, 1
        return Peer(lambda: character.skin_points(whole), share=share)


def slerp_of_scipy(a: Array, b: Array, t: float) -> Peer:
    rotation: Any = import_module("scipy.spatial.transform").Rotation

    def call() -> Any:
        first = rotation.from_quat(a)
        return (first * (first.inv() * rotation.from_quat(b)) ** t).as_quat()

    return Peer(call, matrices_of)


def slerp_of_momentum(a: Array, b: Array, t: float) -> Peer:
    module: Any = import_module("pymomentum.quaternion_np")
    share = np.full((len(a), 1), t, "f4")
    return Peer(lambda: module.slerp(a, b, share), matrices_of)


def body_of_body_models(kind: str, path: Path, poses: Array, betas: Array, trans: Array) -> Peer:
    """Body of the package body-models, with NumPy or torch."""
    module: Any = import_module(f"body_models.smpl.{kind}")
    model = module.SMPL(model_path=path)
    arrays = [betas[None], poses[:, 1:], poses[:, 0], trans]
    if kind == "numpy":
        shape, body, pelvis, place = arrays
        identity = model.prepare_identity(shape)
        return Peer(
            lambda: model.forward_vertices(body, pelvis_rotation=pelvis, identity=identity, global_translation=place)
        )
    torch: Any = import_module("torch")
    torch.set_num_threads(1)
    shape, body, pelvis, place = map(torch.from_numpy, arrays)
    with torch.no_grad():
        identity = model.prepare_identity(shape)

    def call() -> Any:
        with torch.no_grad():
            return model.forward_vertices(body, pelvis_rotation=pelvis, identity=identity, global_translation=place)

    return Peer(call)


def body_of_smplx(arrays: dict[str, Array], poses: Array, betas: Array, trans: Array) -> Peer:
    """Body of smplx. It computes the shape in each call, because its interface offers no other way."""
    torch, smplx = import_module("torch"), import_module("smplx")
    torch.set_num_threads(1)
    count, struct = len(poses), import_module("smplx.utils").Struct(**arrays)
    # Its message about the number of shapes must not mix with the results.
    with redirect_stdout(sys.stderr):
        model = smplx.SMPL("", data_struct=struct, batch_size=count, num_betas=len(betas))
    body, root = poses[:, 1:].reshape(count, -1), np.ascontiguousarray(poses[:, 0])
    told = {"body_pose": body, "global_orient": root, "transl": trans, "betas": np.repeat(betas[None], count, 0)}
    tensors = {name: torch.from_numpy(array) for name, array in told.items()}

    def call() -> Any:
        with torch.no_grad():
            return model(**tensors).vertices

    return Peer(call)


def bvh_of_numpy(path: Path) -> Peer:
    """Reads only the numbers, with NumPy's parser."""
    head = path.read_text().split("Frame Time")[0].count("\n") + 1

    def seen(rows: Any) -> Array:
        return matrices_of_turns(np.radians(rows[:, 3:].reshape(len(rows), -1, 3)))

    return Peer(lambda: np.loadtxt(path, skiprows=head, dtype="f4"), seen)


def bvh_of_pybvh(path: Path) -> Peer:
    module: Any = import_module("pybvh")
    return Peer(lambda: module.read_bvh_file(path, world_up="+y").joint_angles, matrices_of_turns)


def bvh_of_bvhsdk(path: Path, share: float) -> Peer:
    module: Any = import_module("bvhsdk.bvh")

    def seen(found: Any) -> Array:
        turns = np.stack([joint.rotation for joint in found.getlistofjoints()], 1)
        return matrices_of_turns(np.radians(turns[..., [2, 0, 1]]))

    return Peer(lambda: module.ReadFile(str(path)), seen, share)
