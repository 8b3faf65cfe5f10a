"""Jobs on whole libraries in one or more processes write the same bytes, even if workers die."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import condyle
import numpy as np
import pytest
from condyle import jobs
from conftest import TESTDATA
from killed import CLIPS, DeadlyEncode, DeadlyMeasure, DeadlyPose, PER_SHARD, bytes_of, deaths, library
from numpy.typing import NDArray


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return library(tmp_path_factory.mktemp("jobs") / "motion.condyle")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Motion in folders, two files with the same stem, and a broken file."""
    folder = tmp_path_factory.mktemp("folder")
    (folder / "walks").mkdir()
    for name in ("two_joints", "ancestors", "eight_influences"):
        shutil.copy(TESTDATA / f"{name}.glb", folder / "walks")
    motion = "HIERARCHY\nROOT hips\n{\nOFFSET 0 0 0\nCHANNELS 3 Zrotation Xrotation Yrotation\nEnd Site\n{\nOFFSET 0 9 0\n}\n}\n"
    motion += "MOTION\nFrames: 3\nFrame Time: 0.1\n0 0 0\n9 0 0\n0 8 0\n"
    (folder / "a.bvh").write_text(motion)
    (folder / "walks" / "two_joints.bvh").write_text(motion)
    (folder / "broken.glb").write_bytes(b"glTF")
    (folder / "notes.txt").write_text("no motion")
    return folder


def test_poses_are_those_of_the_library(path: Path, tmp_path: Path) -> None:
    done = jobs.run(jobs.Pose(str(path), str(tmp_path / "out"), per_shard=PER_SHARD, rate=60, what="matrices"))
    of, posed = condyle.Library(path), jobs.Posed(tmp_path / "out")
    assert len(posed) == done["clips"] == CLIPS and len(done["shards"]) == 6
    assert sum(shard["count"] for shard in done["shards"]) == CLIPS
    for at, clip in enumerate(map(of.__getitem__, range(CLIPS))):
        times = np.arange(39) / 60
        want = condyle.forward_kinematics(clip.skeleton, *clip.sample(times))
        found = pickle.loads(pickle.dumps(posed))[at]
        assert np.array_equal(found, want) and not found.flags.writeable and not found.flags.owndata
    assert json.loads((tmp_path / "out" / "manifest.json").read_text()) == done


def test_figures_of_clips(path: Path, tmp_path: Path) -> None:
    jobs.run(jobs.Measure(str(path), str(tmp_path), per_shard=3, rate=30))
    lines = [json.loads(line) for line in (tmp_path / "figures.jsonl").read_text().splitlines()]
    clip = condyle.Library(path)[4]
    places = condyle.forward_kinematics(clip.skeleton, *clip.sample(np.arange(20) / 30))[..., 3]
    assert [line["name"] for line in lines] == condyle.Library(path).names
    assert lines[4]["joints"] == 3 and lines[5]["skeleton"] == 1
    assert lines[4]["low"] == places.min(axis=(0, 1)).tolist() and lines[4]["high"] == places.max(axis=(0, 1)).tolist()
    speeds = np.linalg.norm(np.diff(places.astype("f8"), axis=0), axis=-1) * 30
    assert lines[4]["speed_max"] == pytest.approx(speeds.max())


def test_another_error_bound(path: Path, tmp_path: Path) -> None:
    jobs.run(jobs.Encode(str(path), str(tmp_path), per_shard=PER_SHARD, budget=0.02))
    before, after = condyle.Library(path), condyle.Library(tmp_path / "library.condyle")
    assert after.names == before.names and after.units == before.units == [None, pytest.approx(0.01)]
    assert after.skeleton_indices.tolist() == before.skeleton_indices.tolist()
    assert Path(after.path).stat().st_size < path.stat().st_size
    for at in range(CLIPS):
        places = [
            condyle.forward_kinematics(it.skeleton(at), *it[at].sample(np.linspace(0, 0.63, 50)))[..., 3]
            for it in (before, after)
        ]
        off = np.linalg.norm(places[0] - places[1], axis=-1).max() / (100 if at % 2 else 1)
        assert 1e-5 < off < 0.0205, at


def test_a_folder_is_packed(folder: Path, tmp_path: Path) -> None:
    done = jobs.run(jobs.Pack(str(folder), str(tmp_path), per_shard=2, unit=0.5))
    of = condyle.Library(tmp_path / "library.condyle")
    stems = ["a", "walks/ancestors", "walks/eight_influences", "walks/two_joints", "walks/two_joints 2"]
    assert of.names == stems and of.columns["name"] == stems and done["clips"] == 5
    assert of.columns["tags"] == [[], *[["walks"]] * 4] and of.columns["source"][3] == "walks/two_joints.bvh"
    assert [file["source"] for file in of.left_out] == ["broken.glb"] and str(folder) not in of.left_out[0]["why"]
    assert len(of.skeletons) == 4 and set(of.units) == {0.5}
    model = condyle.open(folder / "walks" / "two_joints.glb")
    want = model.encode(0, 1e-3, shell=0.06).sample([0.3])
    assert all(np.array_equal(a, b) for a, b in zip(of["walks/two_joints 2"].sample([0.3]), want))


def test_a_folder_is_packed_in_the_units_of_its_files(folder: Path, tmp_path: Path) -> None:
    files = tmp_path / "files"
    files.mkdir()
    condyle.open(folder / "a.bvh", unit=0.01).save(files / "told.glb")
    shutil.copy(folder / "a.bvh", files)
    jobs.run(jobs.Pack(str(files), str(tmp_path / "own")))
    jobs.run(jobs.Pack(str(files), str(tmp_path / "turned"), unit=0.01, up="z"))
    own, turned = (condyle.Library(tmp_path / name / "library.condyle") for name in ("own", "turned"))
    units = [own.units[own.skeleton_indices[own.names.index(name)]] for name in ("a", "told")]
    assert units == [1.0, pytest.approx(0.01)] and all(unit == pytest.approx(0.01) for unit in turned.units)
    want = condyle.open(files / "a.bvh", unit=0.01, up="z")
    found = turned["a"].sample([0.1])
    assert np.allclose(found.rotations, want.clips[0].sample([0.1]).rotations, atol=1e-2)
    with pytest.raises(condyle.Error, match="up must be"):
        jobs.Pack(str(files), str(tmp_path / "none"), up="x")  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", [jobs.Pose, jobs.Measure, jobs.Encode])
def test_the_same_bytes_for_any_number_of_workers(kind: type[jobs.Job], path: Path, tmp_path: Path) -> None:
    made = []
    for workers in (1, 2, 3):
        jobs.run(kind(str(path), str(tmp_path / str(workers)), per_shard=PER_SHARD), workers)
        made.append(bytes_of(tmp_path / str(workers)))
    assert made[0] == made[1] == made[2] and len(made[0]) == 8


def test_the_same_library_for_any_number_of_workers_and_shards(folder: Path, tmp_path: Path) -> None:
    made = []
    for workers, per_shard in ((1, 64), (2, 2), (3, 1)):
        out = tmp_path / str(workers)
        jobs.run(jobs.Pack(str(folder), str(out), per_shard=per_shard), workers)
        made.append((out / "library.condyle").read_bytes())
    assert made[0] == made[1] == made[2]


@pytest.mark.parametrize("pair", [(jobs.Pose, DeadlyPose), (jobs.Encode, DeadlyEncode), (jobs.Measure, DeadlyMeasure)])
def test_killed_workers_lose_nothing(pair: tuple[type[jobs.Job], type[jobs.Job]], path: Path, tmp_path: Path) -> None:
    want, found = tmp_path / "want", tmp_path / "found"
    jobs.run(pair[0](str(path), str(want), per_shard=PER_SHARD))
    jobs.run(pair[1](str(path), str(found), per_shard=PER_SHARD), 2)
    assert deaths(found) == 2 and bytes_of(found) == bytes_of(want)


def test_a_job_that_was_ended_goes_on(path: Path, tmp_path: Path) -> None:
    job = DeadlyPose(str(path), str(tmp_path / "out"), per_shard=PER_SHARD)
    shards = job.plan()
    jobs.do(job, shards[0])
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool, pytest.raises(Exception, match="terminated"):
        pool.submit(jobs.do, job, shards[1]).result()
    first = job.path(shards[0])
    before = first.stat()
    with pytest.raises(condyle.Error, match="5 of 6 shards are unfinished, the first is 1"):
        jobs.finish(job, shards)
    assert not (tmp_path / "out" / "manifest.json").exists() and list((tmp_path / "out" / "shards").glob("*.draft"))
    jobs.run(job, 2)
    assert first.stat().st_ino == before.st_ino and not list((tmp_path / "out").rglob("*.draft"))

    # Only damaged shards are computed again.
    whole = bytes_of(tmp_path / "out")
    inodes = {shard.at: job.path(shard).stat().st_ino for shard in shards}
    damaged = bytearray(job.path(shards[2]).read_bytes())
    damaged[-1] ^= 1
    job.path(shards[2]).write_bytes(damaged)
    job.path(shards[3]).with_suffix(".json").write_text("{")
    jobs.run(job)
    assert bytes_of(tmp_path / "out") == whole
    assert [at for at, inode in inodes.items() if job.path(shards[at]).stat().st_ino != inode] == [2, 3]


def test_other_settings_make_all_anew(path: Path, tmp_path: Path) -> None:
    jobs.run(jobs.Pose(str(path), str(tmp_path), per_shard=1))
    jobs.run(jobs.Pose(str(path), str(tmp_path), per_shard=4, rate=10))
    assert sorted(it.name[:5] for it in (tmp_path / "shards").glob("*.npy")) == ["00000", "00001", "00002"]
    assert jobs.Posed(tmp_path)[0].shape == (7, 3, 3)


def test_jobs_that_cannot_be_done(path: Path, tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    with pytest.raises(condyle.Error, match="rate must be finite and above 0, got 0"):
        jobs.Pose(str(path), out, rate=0)
    with pytest.raises(condyle.Error, match="per_shard must be at least 1, got 0"):
        jobs.Measure(str(path), out, per_shard=0)
    with pytest.raises(condyle.Error, match="'joints' or 'matrices'"):
        jobs.Pose(str(path), out, what="bones")  # type: ignore[arg-type]
    with pytest.raises(condyle.Error, match="contains no file that ends in"):
        jobs.run(jobs.Pack(str(tmp_path), out))
    with pytest.raises(condyle.Error, match="is not a folder"):
        jobs.run(jobs.Pack(str(path), out))
    (tmp_path / "broken.glb").write_bytes(b"glTF")
    with pytest.raises(condyle.Error, match="none of its files can be used"):
        jobs.run(jobs.Pack(str(tmp_path), out))
    with pytest.raises(condyle.Error, match="budget"):
        jobs.run(jobs.Encode(str(path), out, budget=-1), 2)
    assert not os.path.exists(Path(out, "manifest.json"))


def test_what_changes_under_a_job_is_noticed(path: Path, folder: Path, tmp_path: Path) -> None:
    source, out = tmp_path / "motion.condyle", tmp_path / "out"
    shutil.copy(path, source)
    job = jobs.Pose(str(source), str(out), per_shard=PER_SHARD)
    shards = job.plan()
    condyle.join(source, [path, path])
    with pytest.raises(condyle.Error, match="has changed since the job was planned"):
        jobs.do(job, shards[0])
    assert not list((out / "shards").iterdir()) and jobs.run(job)["clips"] == 2 * CLIPS

    motion = tmp_path / "folder"
    shutil.copytree(folder, motion)
    pack = jobs.Pack(str(motion), str(tmp_path / "packed"), per_shard=1)
    shards = pack.plan()
    (motion / "a.bvh").write_text((motion / "a.bvh").read_text() + "\n")
    with pytest.raises(condyle.Error, match="has changed"):
        jobs.do(pack, shards[0])
    assert jobs.do(pack, shards[1]) == 1


def test_what_poses_do_not_hold_is_not_lost(tmp_path: Path) -> None:
    model = condyle.open(TESTDATA / "morph.glb")
    condyle.join(tmp_path / "faces.condyle", [model.encode(0).to_bytes()])
    with pytest.raises(condyle.Error, match='"?linear"?.* has morph weights and tracks, which would be lost'):
        jobs.run(jobs.Encode(str(tmp_path / "faces.condyle"), str(tmp_path / "out")))
    assert model.clips[0].extras == ["morph weights and tracks"]
    assert condyle.open(TESTDATA / "two_joints.glb").clips[0].encode(shell=0.03).extras == []


class Dataset:
    """Dataset for a DataLoader: poses from a library that worker processes map without a copy."""

    def __init__(self, path: Path) -> None:
        self.library = condyle.Library(path)

    def __len__(self) -> int:
        return len(self.library)

    def __getitem__(self, clip: int) -> NDArray[np.float32]:
        rotations: NDArray[np.float32] = self.library.sample([clip], [0.1]).rotations[0]
        return rotations


@pytest.mark.parametrize("method", ["spawn", "fork", "forkserver"])
def test_worker_processes_share_the_file(path: Path, method: str) -> None:
    dataset = Dataset(path)
    with ProcessPoolExecutor(2, mp_context=get_context(method)) as pool:
        found = list(pool.map(dataset.__getitem__, range(len(dataset))))
    assert len(pickle.dumps(dataset)) < 500
    assert all(np.array_equal(it, dataset[at]) for at, it in enumerate(found))


def grown(dataset: bytes) -> tuple[int, int]:
    """Growth of anonymous memory and of mapped file memory in a worker that opens a library and reads each
    clip.
    """

    def resident(name: str) -> int:
        lines = Path("/proc/self/status").read_text().splitlines()
        return sum(int(line.split()[1]) << 10 for line in lines if line.startswith(name))

    before = resident("RssAnon"), resident("RssFile")
    opened = pickle.loads(dataset)
    for at in range(len(opened)):
        opened[at]
    return resident("RssAnon") - before[0], resident("RssFile") - before[1]


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux reports memory this way")
@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_worker_processes_copy_nothing(tmp_path: Path, method: str) -> None:
    turns = np.random.default_rng(2).normal(size=(1000, 60, 4))
    turns /= np.linalg.norm(turns, axis=-1, keepdims=True)
    skeleton = condyle.Skeleton(range(-1, 59), translations=np.tile([0.0, 0.2, 0.0], (60, 1)))
    clip = condyle.Clip.from_poses(skeleton, np.arange(1000) / 30, turns).encode(shell=0.03).to_bytes()
    path, copies = tmp_path / "large.condyle", -(-(40 << 20) // len(clip))
    condyle.join(path, [clip] * copies, names=[f"clip {at}" for at in range(copies)])
    with ProcessPoolExecutor(1, mp_context=get_context(method)) as pool:
        anonymous, mapped = pool.submit(grown, pickle.dumps(Dataset(path))).result()
    assert path.stat().st_size > 40_000_000 and anonymous < 10_000_000 and mapped > 30_000_000


def test_clips_of_arrays() -> None:
    skeleton = condyle.Skeleton([-1, 0])
    turns = np.tile([0.0, 0.0, 0.0, 1.0], (3, 2, 1))
    clip = condyle.Clip.from_poses(skeleton, [0, 1, 2], turns, [[[0, 0, 0], [0, at, 0]] for at in range(3)], name="up")
    assert (clip.name, clip.end, clip.rate, clip.compressed) == ("up", 2, None, False)
    assert clip.encode(shell=0.03, rate=10).rate == 10 and clip.sample([0.5]).translations[0, 1].tolist() == [0, 0.5, 0]
    with pytest.raises(condyle.Error, match=r"rotations must have shape \(2, 2, 4\), got \(3, 2, 4\)"):
        condyle.Clip.from_poses(skeleton, [0, 1], turns)
    with pytest.raises(condyle.Error, match="at least one joint"):
        condyle.Clip.from_poses(skeleton, [0, 1])
    with pytest.raises(condyle.Error, match=r"times must increase: times\[1\] is 0 after 1"):
        condyle.Clip.from_poses(skeleton, [1, 0, 2], turns)


def test_what_cannot_be_joined(path: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.condyle"
    with pytest.raises(condyle.Error, match=r"names must have one element per clip \(11\), got 1"):
        condyle.join(out, [path], names=["a"])
    with pytest.raises(condyle.Error, match=r"units must have one element per part \(1\), got 2"):
        condyle.join(out, [path], units=[1.0, 1.0])
    with pytest.raises(condyle.Error, match=r"parts\[1\]"):
        condyle.join(out, [path, b"RIFF"])
    with pytest.raises(FileNotFoundError):
        condyle.join(out, [tmp_path / "none.condyle"])
    condyle.join(out, [path, path])
    assert len(condyle.Library(out).skeletons) == 2 and len(condyle.Library(out)) == 2 * CLIPS


def test_what_would_be_destroyed_is_refused(path: Path, folder: Path, tmp_path: Path) -> None:
    packed = tmp_path / "packed"
    jobs.run(jobs.Pack(str(folder), str(packed)))
    before = (packed / "library.condyle").read_bytes()
    with pytest.raises(condyle.Error, match="would be overwritten"):
        jobs.Encode(str(packed / "library.condyle"), str(packed), budget=0.01)
    with pytest.raises(condyle.Error, match="would be overwritten"):
        jobs.Pose(str(packed / "shards" / "part.condyle"), str(packed))
    (packed / "notes.draft").write_text("mine")
    (packed / "shards" / "kept").mkdir()
    jobs.run(jobs.Measure(str(packed / "library.condyle"), str(packed)))
    assert (packed / "notes.draft").exists() and (packed / "shards" / "kept").exists()
    assert (packed / "library.condyle").read_bytes() == before
    # A part that is also the output is not lost.
    own = tmp_path / "own.condyle"
    shutil.copy(path, own)
    condyle.join(own, [own, own])
    assert len(condyle.Library(own)) == 2 * CLIPS
    with pytest.raises(condyle.Error, match="parts"):
        condyle.join(own, [own, b"RIFF"])
    assert len(condyle.Library(own)) == 2 * CLIPS and list(tmp_path.glob("own.*")) == [own]


def test_the_numbers_of_a_document_may_lie_beside_it(tmp_path: Path) -> None:
    source, out = tmp_path / "source", tmp_path / "out"
    source.mkdir()
    glb = (TESTDATA / "two_joints.glb").read_bytes()
    length = int.from_bytes(glb[12:16], "little")
    text, binary = json.loads(glb[20 : 20 + length]), glb[28 + length :]
    text["buffers"][0]["uri"] = "two%20joints.bin"
    (source / "a.gltf").write_text(json.dumps(text))
    (source / "two joints.bin").write_bytes(binary)
    job = jobs.Pack(str(source), str(out))
    first = jobs.run(job)["result"]
    shards = job.plan()
    # Flip the sign of some numbers.
    (source / "two joints.bin").write_bytes(bytes(byte ^ (at % 4 == 3 and at > len(binary) // 2) << 7 for at, byte in enumerate(binary)))
    assert job.plan()[0].key != shards[0].key
    try:
        assert jobs.run(job)["result"] != first
    except condyle.Error as why:
        # The changed bytes may not be valid motion, but the old result is not reused.
        assert "none of its files can be used" in str(why)


def test_what_an_ended_job_has_left_is_not_read(path: Path, tmp_path: Path) -> None:
    jobs.run(jobs.Pose(str(path), str(tmp_path), per_shard=PER_SHARD, rate=30))
    want = [jobs.Posed(tmp_path)[at].copy() for at in range(CLIPS)]
    other = jobs.Pose(str(path), str(tmp_path), per_shard=PER_SHARD, rate=60)
    jobs.do(other, other.plan()[0])
    posed = jobs.Posed(tmp_path)
    assert all(np.array_equal(posed[at], own) for at, own in enumerate(want))
    jobs.run(other)
    assert len(jobs.Posed(tmp_path)[0]) == 39 and len(list((tmp_path / "shards").iterdir())) == 12
    jobs.run(jobs.Measure(str(path), str(tmp_path)))
    with pytest.raises(condyle.Error, match="contains no poses"):
        jobs.Posed(tmp_path)


def test_rates_are_kept_or_as_asked(path: Path, tmp_path: Path) -> None:
    slow = tmp_path / "slow"
    jobs.run(jobs.Encode(str(path), str(slow), rate=12.5))
    rates = [condyle.Library(slow / "library.condyle")[at].rate for at in range(CLIPS)]
    # The rate is adjusted to a whole number of frames.
    assert rates == [pytest.approx(8 / (19 / 30))] * CLIPS
    jobs.run(jobs.Encode(str(slow / "library.condyle"), str(tmp_path / "same")))
    assert [condyle.Library(tmp_path / "same" / "library.condyle")[at].rate for at in range(CLIPS)] == rates


def test_workers_are_like_who_planned(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = jobs.Pose(str(path), str(tmp_path))
    shards = job.plan()
    monkeypatch.setenv("CONDYLE_NUMERIC", "portable" if os.environ.get("CONDYLE_NUMERIC") != "portable" else "fast")
    with pytest.raises(condyle.Error, match="version or CONDYLE_NUMERIC of this process differs"):
        jobs.do(job, shards[0])


def test_no_clips_at_all_and_what_is_no_library(path: Path, tmp_path: Path) -> None:
    condyle.join(tmp_path / "none.condyle", [])
    assert jobs.run(jobs.Pose(str(tmp_path / "none.condyle"), str(tmp_path / "out")))["clips"] == 0
    assert len(jobs.Posed(tmp_path / "out")) == 0
    for data in (b"", b"x" * 50, (TESTDATA / "two_joints.glb").read_bytes(), path.read_bytes()[:40]):
        (tmp_path / "broken").write_bytes(data)
        with pytest.raises(condyle.Error, match="is not a library"):
            jobs.run(jobs.Pose(str(tmp_path / "broken"), str(tmp_path / "out")))
    out = str(tmp_path / "numbers")
    numbers = jobs.Pose(str(path), out, per_shard=np.int64(3), rate=np.float32(30))  # type: ignore[arg-type]
    assert jobs.run(numbers)["clips"] == CLIPS
    wrong: list[Callable[[], object]] = [
        lambda: jobs.Encode(str(path), "out", budget=0),
        lambda: jobs.Pack(str(path.parent), "out", unit=0),
        lambda: jobs.Pack(str(path.parent), "out", shell=float("nan")),
        lambda: jobs.run(numbers, 0),
    ]
    for call in wrong:
        with pytest.raises(condyle.Error, match="must be"):
            call()


def test_a_clip_of_one_frame_is_encoded(tmp_path: Path) -> None:
    arm = condyle.Skeleton([-1, 0])
    still = condyle.Clip.from_poses(arm, [0.0], [[[0, 0, 0, 1], [1, 0, 0, 0]]], name="still")
    moving = condyle.Clip.from_poses(arm, [0.0, 1.0], [[[0, 0, 0, 1], [1, 0, 0, 0]], [[0, 1, 0, 0], [1, 0, 0, 0]]])
    condyle.join(tmp_path / "a.condyle", [still.encode(shell=0.03).to_bytes(), moving.encode(shell=0.03).to_bytes()])
    for rate in (None, 15.0):
        jobs.run(jobs.Encode(str(tmp_path / "a.condyle"), str(tmp_path / "out"), budget=0.01, rate=rate))
        library = condyle.Library(tmp_path / "out" / "library.condyle")
        assert library.names == ["still", ""] and library[0].duration == 0
        assert np.allclose(library[0].sample([0.0]).rotations, still.sample([0.0]).rotations, atol=1e-4)


DRIVER = """
import sys
from pathlib import Path
from condyle import jobs
from test_jobs import Slow
if __name__ == "__main__":
    jobs.run(Slow(sys.argv[1], sys.argv[2], per_shard=1), 2)
"""


class Slow(jobs.Measure):
    """Creates a file named after the process, and never finishes."""

    def write(self, shard: jobs.Shard, path: Path) -> dict[str, object]:
        Path(f"{self.out}.{os.getpid()}").touch()
        time.sleep(600)
        return {}


@pytest.mark.skipif(sys.platform == "win32", reason="processes are killed by signals")
def test_workers_of_a_killed_driver_end(tmp_path: Path) -> None:
    clip = condyle.open(TESTDATA / "two_joints.glb").clips[0].encode(shell=0.03).to_bytes()
    condyle.join(tmp_path / "a.condyle", [clip] * 4)
    script = tmp_path / "driver.py"
    script.write_text(DRIVER)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])}
    arguments = [sys.executable, str(script), str(tmp_path / "a.condyle"), str(tmp_path / "out")]
    with subprocess.Popen(arguments, env=environment) as driver:
        started = wait_for(lambda: [int(path.suffix[1:]) for path in tmp_path.glob("out.*")], lambda found: len(found) == 2)
        driver.kill()
    assert wait_for(lambda: [process for process in started if is_alive(process)], lambda left: not left) == []


def wait_for(asked: Callable[[], list[int]], is_enough: Callable[[list[int]], bool]) -> list[int]:
    """Polls until the result suffices, or for a minute."""
    end = time.monotonic() + 60
    while not is_enough(found := asked()) and time.monotonic() < end:
        time.sleep(0.05)
    return found


def is_alive(process: int) -> bool:
    """Whether a process runs. A zombie, whose exit code was not collected, does not count."""
    if Path("/proc/self/stat").exists():
        try:
            return Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2][0] != "Z"
        except OSError:
            return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True
