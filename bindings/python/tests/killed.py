"""A library, its job results, and jobs whose worker dies in the middle of a shard."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path
from typing import Any

import condyle
import numpy as np
from condyle import jobs

CLIPS, PER_SHARD = 11, 2
# Shards at which a worker dies, once each.
DEADLY = (1, 4)


def library(path: Path) -> Path:
    """Writes short clips of two skeletons, one of them in centimetres."""
    random = np.random.default_rng(7)
    parts, units = [], []
    for at in range(CLIPS):
        joints = 3 + at % 2
        places = np.tile([0.0, 0.2, 0.0], (joints, 1)) * (100 if at % 2 else 1)
        skeleton = condyle.Skeleton(range(-1, joints - 1), names=[f"joint {j}" for j in range(joints)], translations=places)
        turns = np.cumsum(random.normal(size=(20, joints, 4)) / 30, axis=0) + [0, 0, 0, 1]
        turns /= np.linalg.norm(turns, axis=-1, keepdims=True)
        clip = condyle.Clip.from_poses(skeleton, np.arange(20) / 30, turns, name=f"clip {at}")
        scale = 100 if at % 2 else 1
        parts.append(clip.encode(5e-4 * scale, shell=0.03 * scale).to_bytes())
        units.append(0.01 if at % 2 else None)
    condyle.join(path, parts, units=units)
    return path


def bytes_of(folder: Path) -> dict[str, bytes]:
    """Output files of a job. Receipts are left out, because they depend on file times."""
    files = [path for path in folder.rglob("*") if path.is_file() and (path.suffix != ".json" or path.parent == folder)]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


class _Deadly:
    def write(self, shard: jobs.Shard, path: Path) -> dict[str, Any]:
        """Dies after half of a shard. The next call writes the whole shard."""
        facts: dict[str, Any] = super().write(shard, path)  # type: ignore[misc]
        if shard.at in DEADLY:
            mark = Path(self.out + f".killed.{shard.at}")  # type: ignore[attr-defined]
            if not mark.exists():
                mark.touch()
                os.truncate(path, path.stat().st_size // 2)
                if shard.at == DEADLY[1]:
                    # Simulates a rename that is not atomic.
                    shutil.copy(path, self.path(shard))  # type: ignore[attr-defined]
                os.kill(os.getpid(), signal.SIGKILL)
        return facts


class DeadlyPose(_Deadly, jobs.Pose):
    """Pose job whose workers die."""


class DeadlyEncode(_Deadly, jobs.Encode):
    """Encode job whose workers die."""


class DeadlyMeasure(_Deadly, jobs.Measure):
    """Measure job whose workers die."""


def deaths(out: Path) -> int:
    return sum(Path(f"{out}.killed.{at}").exists() for at in DEADLY)
