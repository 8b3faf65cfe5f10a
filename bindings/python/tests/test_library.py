"""Libraries written byte by byte as in docs/format.md, and samples from them."""

from __future__ import annotations

import json
import os
import pickle
import struct
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import condyle
import numpy as np
import pytest
from condyle import jobs
from conftest import TESTDATA
from numpy.typing import NDArray

SKELETON, CLIP, METADATA = 1, 3, 5
MASK = (1 << 64) - 1


def checksum(data: bytes) -> int:
    h = len(data)
    for at in range(0, len(data), 8):
        word = int.from_bytes(data[at : at + 8].ljust(8, b"\0"), "little")
        h = ((h ^ word) * 0x9E3779B97F4A7C15) & MASK
        h ^= h >> 32
    return h


def container(entries: list[tuple[int, int, str, bytes]]) -> bytes:
    """Container with entries of kind, model, name and bytes, as in docs/format.md."""
    names = "".join(name for _, _, name, _ in entries).encode()
    padded = -(-len(names) // 8) * 8
    table_end = 32 + 40 * len(entries) + padded + 8
    place, name_end, table, data = table_end, 0, b"", b""
    for kind, model, name, body in entries:
        place = -(-place // 16) * 16
        name_end += len(name.encode())
        table += struct.pack("<IIIfQQQ", kind, model, name_end, 0.0, place, len(body), checksum(body))
        data = data.ljust(place - table_end, b"\0") + body
        place += len(body)
    header = b"CONDYLE\0" + struct.pack("<HHIIIQ", 1, 1, len(entries), len(names), 0, table_end + len(data))
    first = header + table + names.ljust(padded, b"\0")
    return first + struct.pack("<Q", checksum(first)) + data


def parts(data: bytes) -> dict[int, bytes]:
    """Bytes of the first entry of each kind."""
    found: dict[int, bytes] = {}
    for at in range(struct.unpack_from("<I", data, 12)[0]):
        kind, _, _, _, offset, length, _ = struct.unpack_from("<IIIfQQQ", data, 32 + 40 * at)
        found.setdefault(kind, data[offset : offset + length])
    return found


NAMES = ["two_joints", "ancestors", "eight_influences"]


@pytest.fixture(scope="module")
def clips() -> list[condyle.Clip]:
    return [condyle.open(TESTDATA / f"{name}.glb").clips[0].encode(shell=0.03) for name in NAMES]


@pytest.fixture(scope="module")
def path(clips: list[condyle.Clip], tmp_path_factory: pytest.TempPathFactory) -> Path:
    entries: list[tuple[int, int, str, bytes]] = []
    for name, clip in zip(NAMES, clips, strict=True):
        found = parts(clip.to_bytes())
        model = len(entries)
        entries.append((SKELETON, 0xFFFFFFFF, name, found[SKELETON]))
        entries += [(CLIP, model, f"{name}/{part}", found[CLIP]) for part in "ab"]
    told = {"columns": {"tags": [[name] for name in NAMES for _ in "ab"]}, "left_out": [{"source": "x", "why": "y"}]}
    entries.append((METADATA, 0xFFFFFFFF, "library", json.dumps(told).encode()))
    path = tmp_path_factory.mktemp("library") / "motion.condyle"
    path.write_bytes(container(entries))
    return path


def pairs(library: condyle.Library, count: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    random = np.random.default_rng(1)
    return random.integers(0, len(library), count), random.uniform(-0.1, 2.1, count).astype("f4")


def test_what_a_library_tells(path: Path) -> None:
    library = condyle.Library(path)
    assert repr(library) == f"<condyle.Library {path}: 6 clips, 3 skeletons>"
    assert library.names[:3] == ["two_joints/a", "two_joints/b", "ancestors/a"]
    assert library.skeleton_indices.tolist() == [0, 0, 1, 1, 2, 2]
    assert library.columns["tags"][2] == ["ancestors"] and library.left_out == [{"source": "x", "why": "y"}]
    assert library.index("ancestors/b") == 3 and library[3].name == library["ancestors/b"].name == "ancestors/b"
    assert library[-1].name == "eight_influences/b" and library.skeleton(0) == library.skeletons[0]
    again = pickle.loads(pickle.dumps(library))
    assert again.names == library.names and again.path == str(path)


@pytest.mark.parametrize("told", ["null", "5", '{"columns": 5}', '{"columns": {"a": [1]}}', '{"left_out": 7}', "{"])
def test_what_is_said_of_clips_is_checked(path: Path, tmp_path: Path, told: str) -> None:
    whole = path.read_bytes()
    found = parts(whole)
    entries = [(SKELETON, 0xFFFFFFFF, "s", found[SKELETON]), (CLIP, 0, "a", found[CLIP]), (CLIP, 0, "b", found[CLIP])]
    odd = tmp_path / "odd.condyle"
    odd.write_bytes(container([*entries, (METADATA, 0xFFFFFFFF, "library", told.encode())]))
    with pytest.raises(condyle.FileError, match="the clip metadata"):
        _ = condyle.Library(odd).columns
    flipped = bytearray(whole)
    flipped[whole.index(b'"columns"') + 1] ^= 1
    odd.write_bytes(flipped)
    with pytest.raises(condyle.FileError, match="damaged"):
        _ = condyle.Library(odd).left_out


@pytest.mark.parametrize("threads", [1, 2, 5, None])
def test_pairs_in_any_order_are_each_alone(path: Path, clips: list[condyle.Clip], threads: int | None) -> None:
    library = condyle.Library(path)
    indices, times = pairs(library, 300)
    poses = library.sample(indices, times, threads=threads)
    ragged, offsets = library.sample_ragged(indices, times, threads=threads)
    most = max(len(it) for it in library.skeletons)
    assert poses.rotations.shape == (300, most, 4) and offsets[-1] == len(ragged.scales)
    for at, (clip, seconds) in enumerate(zip(indices, times, strict=True)):
        want = clips[clip // 2].sample([seconds])
        joints = want.rotations.shape[1]
        rows = slice(offsets[at], offsets[at + 1])
        for found, flat, one, rest in zip(poses, ragged, want, ([0, 0, 0, 1], [0, 0, 0], [1, 1, 1]), strict=True):
            assert np.array_equal(found[at, :joints], one[0]) and np.array_equal(flat[rows], one[0])
            assert (found[at, joints:] == rest).all()


def test_indices_lie_as_they_like(path: Path) -> None:
    library = condyle.Library(path)
    want = library.sample([1, 0, 2], [0.0, 0.1, 0.2]).rotations
    unaligned = np.frombuffer(b"x" + np.array([1, 0, 2]).tobytes(), "i8", offset=1)
    for indices in [np.array([1, 9, 0, 9, 2])[::2], unaligned, np.array([1, 0, 2], "u1"), np.array([1, 0, 2], ">i8")]:
        assert np.array_equal(library.sample(indices, [0.0, 0.1, 0.2]).rotations, want)


def test_single_pairs_are_those_of_many(clips: list[condyle.Clip], tmp_path: Path) -> None:
    # More clips than the cache holds, so that they evict each other.
    entries: list[tuple[int, int, str, bytes]] = []
    for clip in clips:
        found = parts(clip.to_bytes())
        entries.append((SKELETON, 0xFFFFFFFF, "", found[SKELETON]))
        model = len(entries) - 1
        entries += [(CLIP, model, str(at), found[CLIP]) for at in range(50)]
    (tmp_path / "many.condyle").write_bytes(container(entries))
    library = condyle.Library(tmp_path / "many.condyle")
    asked = np.random.default_rng(5).permutation(np.repeat(np.arange(len(library)), 4))
    want = library.sample(asked, np.full(len(asked), 0.4))

    def alone(at: int) -> None:
        poses = library.sample(asked[at : at + 1], [0.4])
        for own, of_all in zip(poses, want, strict=True):
            assert np.array_equal(own[0], of_all[at, : own.shape[1]])

    with ThreadPoolExecutor(4) as pool:
        assert len(list(pool.map(alone, range(len(asked))))) == len(asked)


def test_results_in_arrays_of_the_caller(path: Path) -> None:
    library = condyle.Library(path)
    out = condyle.Poses(np.empty((2, 2, 4), "f4"), np.empty((2, 2, 3), "f4"), np.empty((2, 2, 3), "f4"))
    found = library.sample([0, 1], [0.5, 0.25], out=out)
    assert all(a is b for a, b in zip(found, out, strict=True))
    assert library.sample([], []).rotations.shape == (0, 0, 4)


def test_wrong_arguments_are_named(path: Path) -> None:
    library = condyle.Library(path)
    with pytest.raises(condyle.Error, match=r"indices\[1\] must be a clip index below 6, got 6"):
        library.sample([0, 6], [0.0, 0.0])
    with pytest.raises(condyle.Error, match=r"times must have shape \(2,\) like indices, got \(1,\)"):
        library.sample([0, 1], [0.0])
    with pytest.raises(condyle.Error, match="indices must be integers of shape .*, got dtype float64"):
        library.sample([0.5], [0.0])
    with pytest.raises(condyle.Error, match='no clip is named "run"'):
        library.index("run")
    with pytest.raises(IndexError, match="no clip 6 of 6"):
        library[6]


def test_broken_libraries_are_refused(path: Path, tmp_path: Path) -> None:
    whole = path.read_bytes()
    broken = tmp_path / "broken.condyle"
    with pytest.raises(FileNotFoundError):
        condyle.Library(tmp_path / "none.condyle")
    for data, words in [(b"", "empty"), (b"RIFF" + whole[4:], "container"), (whole[:-1], "its header states")]:
        broken.write_bytes(data)
        with pytest.raises(condyle.FileError, match=words):
            condyle.Library(broken)
    entries = 32 + 40 * struct.unpack_from("<I", whole, 12)[0]
    place = struct.unpack_from("<Q", whole, 32 + 40 + 16)[0]
    for at in [*range(0, entries, 3), place + 9]:
        flipped = bytearray(whole)
        flipped[at] ^= 4
        broken.write_bytes(flipped)
        with pytest.raises(condyle.FileError):
            condyle.Library(broken).sample(list(range(6)), [0.0] * 6)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="has no pipes in folders")
def test_pipes_are_no_files(tmp_path: Path) -> None:
    path = tmp_path / "pipe.npz"
    os.mkfifo(path)
    for opened in (condyle.BodyModel, condyle.BodyMotion, condyle.Library, condyle.open):
        with pytest.raises(condyle.FileError, match="not a regular file"):
            opened(path)
    with pytest.raises(condyle.Error, match="not a regular file"):
        condyle.join(tmp_path / "out.condyle", [path])
    with pytest.raises(condyle.Error, match="is not a file"):
        jobs.Pose(str(path), str(tmp_path / "out")).plan()


def test_names_and_clips_of_a_library(tmp_path: Path) -> None:
    clip = condyle.open(TESTDATA / "two_joints.glb").clips[0].encode(shell=0.03)
    condyle.join(tmp_path / "a.condyle", [clip.to_bytes(), clip.to_bytes()], names=["a", "b"])
    library = condyle.Library(tmp_path / "a.condyle")
    assert "a" in library and "b" in library and "c" not in library
    assert [clip.name for clip in library] == ["a", "b"]
    with pytest.raises(TypeError):
        0 in library  # type: ignore[operator]


def test_an_entry_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    clip = condyle.open(TESTDATA / "two_joints.glb").clips[0].encode(shell=0.03)
    path = tmp_path / "a.condyle"
    for entry in (0, 1):
        data = bytearray(clip.to_bytes())
        data[32 + 40 * entry + 2] = 9
        end = 32 + 40 * 2 + (len(clip.name) + 7) // 8 * 8
        h = end
        for at in range(0, end, 8):
            h = (h ^ int.from_bytes(data[at : at + 8], "little")) * 0x9E3779B97F4A7C15 % 2**64
            h ^= h >> 32
        data[end : end + 8] = h.to_bytes(8, "little")
        path.write_bytes(data)
        for opened in (condyle.Library, condyle.open):
            with pytest.raises(condyle.FileError, match=rf"entries\[{entry}\] has version 9, but only version 0 is supported"):
                opened(path)


@pytest.mark.skipif(sys.platform == "win32", reason="a mapped file cannot be cut short")
def test_a_library_that_is_cut_short_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.condyle"
    clip = condyle.open(TESTDATA / "two_joints.glb").clips[0].encode(shell=0.03)
    condyle.join(path, [clip.to_bytes()])
    whole = path.read_bytes()
    library = condyle.Library(path)
    os.truncate(path, 64)
    for asked in (lambda: library[0], lambda: library.sample([0], [0.0]), lambda: library.sample_ragged([0], [0.0])):
        with pytest.raises(condyle.FileError, match=f"it has 64 bytes, but had {len(whole)} when it was opened"):
            asked()
    # Replacing the file does not affect the open library.
    path.write_bytes(whole)
    library = condyle.Library(path)
    (tmp_path / "b").write_bytes(b"x")
    (tmp_path / "b").replace(path)
    assert library[0].name == clip.name
