"""Pictures contain the requested drawings, and notebooks display them."""

from __future__ import annotations

import base64
import copy
import json
import pickle
import struct
from pathlib import Path
from typing import Any

import condyle
import numpy as np
import pytest
from conftest import TESTDATA

SMALL = (96, 80)


@pytest.fixture(scope="module")
def model() -> condyle.Model:
    return condyle.open(TESTDATA / "two_joints.glb")


def test_a_moment_is_the_same_alone_and_in_a_film(model: condyle.Model) -> None:
    times = np.linspace(0.0, 1.5, 7)
    film = model.render("bend", times, size=SMALL)
    assert film.shape == (7, 80, 96, 3) and film.dtype == np.uint8 and film.fps == 4.0
    assert np.array_equal(film, model.render(0, times, size=SMALL, threads=3))
    for time, frame in zip(times, film, strict=True):
        assert np.array_equal(frame, model.render("bend", float(time), size=SMALL))
    # The mesh bends.
    assert not np.array_equal(film[0], film[3])
    assert np.array_equal(model.render("bend", size=SMALL), film[0])


@pytest.mark.parametrize("what", ["skeleton", "bounds", "hitboxes"])
def test_what_is_asked_for_is_drawn(model: condyle.Model, what: str) -> None:
    asked: dict[str, Any] = {what: True}
    assert not np.array_equal(model.render("bend", 0.5, size=SMALL, **asked), model.render("bend", 0.5, size=SMALL))


def test_angles_move_the_camera(model: condyle.Model) -> None:
    front = model.render(size=SMALL, yaw=0)
    assert not np.array_equal(front, model.render(size=SMALL, yaw=30))
    assert not np.array_equal(front, model.render(size=SMALL, yaw=0, pitch=60))
    assert np.array_equal(front, model.render(size=SMALL, yaw=360))


def test_dual_quaternions_keep_what_twists(model: condyle.Model) -> None:
    linear, dual = (model.render("bend", 0.75, size=SMALL, skinning=way) for way in ("linear", "dual"))
    assert not np.array_equal(linear, dual)


def test_motion_without_a_mesh_is_its_bones(model: condyle.Model, tmp_path: Path) -> None:
    bvh = tmp_path / "walk.bvh"
    bvh.write_text(
        "HIERARCHY\nROOT hip\n{\nOFFSET 0 0 0\nCHANNELS 3 Zrotation Xrotation Yrotation\n"
        "JOINT knee\n{\nOFFSET 0 -4 0\nCHANNELS 3 Zrotation Xrotation Yrotation\nEnd Site\n{\nOFFSET 0 -4 0\n}\n}\n}\n"
        "MOTION\nFrames: 2\nFrame Time: 0.5\n0 0 0 0 0 0\n0 60 0 0 30 0\n"
    )
    bones = condyle.open(bvh)
    film = bones.render(0, [0.0, 0.5], size=SMALL)
    assert not np.array_equal(film[0], film[1])
    sheet = bones.clips[0].plot(4, size=SMALL)
    assert sheet.shape == (80, 4 * 96, 3)
    # A compressed clip looks like the original.
    packed = model.encode("bend", 1e-4)
    assert packed.plot(4, size=SMALL).shape == sheet.shape
    apart = np.abs(model.render(packed, 0.5, size=SMALL).astype(int) - model.render("bend", 0.5, size=SMALL))
    assert apart.mean() < 0.5


def test_it_shows_itself(model: condyle.Model, tmp_path: Path) -> None:
    film = model.render("bend", [0.0, 0.5, 1.0], size=SMALL)
    png = film[1]._repr_png_()
    assert png is not None and png.startswith(b"\x89PNG")
    assert struct.unpack(">II", png[16:24]) == SMALL
    html = film._repr_html_()
    assert html is not None and base64.b64decode(html.split("base64,")[1].split('"')[0])[:6] == b"GIF89a"
    # Arrays without the shape or type of a picture have no picture representation.
    for other in (film, film[0, :, :, 0], film[0] / 2.0, film[0].mean(axis=0)):
        assert getattr(other, "_repr_png_", lambda: None)() is None
    assert film[0]._repr_html_() is None
    film.save(tmp_path / "film.webp")
    assert (tmp_path / "film.webp").read_bytes().count(b"ANMF") == 3
    condyle.Picture(film[0, ::-1]).save(tmp_path / "flipped.png")
    assert condyle.Picture(np.zeros((2, 2, 3), np.uint8)).encode(".webp")[:4] == b"RIFF"
    assert model.sheet("bend", 3, size=SMALL).shape == (80, 3 * 96, 3)
    assert model.sheet(None, 1, size=SMALL).shape == (80, 96, 3)


def test_it_goes_to_other_processes(model: condyle.Model) -> None:
    film = model.render("bend", [0.0, 0.5], size=SMALL)
    for again in (pickle.loads(pickle.dumps(film)), copy.copy(film), copy.deepcopy(film)):
        assert type(again) is condyle.Picture and np.array_equal(again, film) and again.fps == film.fps == 2.0


def test_a_clip_is_as_fast_as_it_plays(model: condyle.Model) -> None:
    def fps(times: Any) -> float:
        return model.render("bend", times, size=SMALL).fps

    assert [fps([0, 0.5, 1]), fps([1, 0.5, 0]), fps([0, 0.5, 1, 0.5, 0]), fps([0.5]), fps(0.5)] == [2, 2, 2, 25, 25]
    film = model.render("bend", np.linspace(0, 1, 121), size=(16, 16))
    assert film.fps == pytest.approx(120, rel=1e-4)
    # Frames of a GIF last at least 1/50 s, because programs slow down shorter ones. Frames are skipped
    # instead.
    delays = [struct.unpack("<H", part[1:3])[0] for part in film.encode(".gif").split(b"\x21\xf9\x04")[1:]]
    assert min(delays) >= 2 and sum(delays) == pytest.approx(101, abs=2)
    assert film.encode(".webp").count(b"ANMF") == 121
    with pytest.raises(condyle.Error, match="a frame lasts at most 655"):
        condyle.Picture(film[:2], fps=1e-3).encode(".gif")


def test_an_array_of_one_moment_is_a_film(model: condyle.Model) -> None:
    for times in ([0.5], np.array([0.5]), np.array([0.5], np.float32)):
        assert model.render("bend", times, size=SMALL).shape == (1, 80, 96, 3)
    for time in (0.5, 1, np.float32(0.5), np.array(0.5)):
        assert model.render("bend", time, size=SMALL).shape == (80, 96, 3)
    with pytest.raises(condyle.Error, match=r"times must have shape \(T,\), got \(1, 1\)"):
        model.render("bend", np.array([[0.5]]), size=SMALL)


def test_bounds_follow_the_moment_alone() -> None:
    model = condyle.open(TESTDATA / "morph.glb")
    times = np.linspace(model.clips[0].start, model.clips[0].end, 4)
    film = model.render(0, times, size=SMALL, bounds=True, threads=2)
    for time, frame in zip(times, film, strict=True):
        assert np.array_equal(frame, model.render(0, time, size=SMALL, bounds=True))
    assert model.render(0, [], size=SMALL, bounds=True).shape == (0, 80, 96, 3)


def test_what_is_computed_is_no_picture(model: condyle.Model) -> None:
    film = model.render("bend", [0.0, 0.5], size=SMALL)
    for plain in (film / 2, film == film, film.mean(axis=0), film + film):
        assert type(plain) is np.ndarray
    assert hash(film.max()) and type(film[::-1]) is condyle.Picture
    assert condyle.Picture(film[:, ::-1]).fps == film.fps == 2.0
    for wrong in (np.ones((2, 2, 3)), np.full((2, 2, 3), 300)):
        with pytest.raises(condyle.Error, match=r"pixels must be uint8 \(0 to 255\), got"):
            condyle.Picture(wrong)
    with pytest.raises(condyle.Error, match=r"pixels must be uint8 \(0 to 255\), got int64"):
        film.astype(np.int64).view(condyle.Picture).encode(".gif")


def test_images_that_cannot_be_drawn_are_warned_of(tmp_path: Path) -> None:
    document = json.loads(condyle_json(TESTDATA / "two_joints.glb"))
    document["images"] = [{"uri": "data:image/png;base64,AAAA"}]
    document["textures"] = [{"source": 0}]
    document["materials"] = [{"pbrMetallicRoughness": {"baseColorTexture": {"index": 0}}}]
    for mesh in document["meshes"]:
        for primitive in mesh["primitives"]:
            primitive["material"] = 0
    path = tmp_path / "broken.glb"
    path.write_bytes(with_json(TESTDATA / "two_joints.glb", json.dumps(document)))
    model = condyle.open(path)
    with pytest.warns(UserWarning, match="broken.glb: .*plain colour"):
        model.render(size=SMALL)
    with pytest.warns(UserWarning, match="plain colour"):
        model.sheet(None, 1, size=SMALL)


def condyle_json(path: Path) -> bytes:
    data = path.read_bytes()
    return data[20 : 20 + struct.unpack("<I", data[12:16])[0]]


def with_json(path: Path, text: str) -> bytes:
    data = path.read_bytes()
    rest = data[20 + len(condyle_json(path)) :]
    own = text.encode()
    own += b" " * (-len(own) % 4)
    chunk = struct.pack("<I", len(own)) + b"JSON" + own
    return data[:8] + struct.pack("<I", 12 + len(chunk) + len(rest)) + chunk + rest


def test_a_sheet_ends_when_it_is_told_to(model: condyle.Model) -> None:
    class Stop(Exception):
        pass

    class Bar:
        done = 0

        def update(self, n: int, /) -> None:
            self.done += n
            raise Stop

    bar = Bar()
    with pytest.raises(Stop):
        model.sheet("bend", 100, size=(640, 480), progress=bar)
    assert bar.done < 100


def test_it_is_drawn_where_it_is_asked_to_be(model: condyle.Model) -> None:
    out = np.zeros((80, 96, 3), np.uint8)
    drawn = model.render("bend", 0.5, size=SMALL, out=out)
    assert np.shares_memory(drawn, out) and out.any()
    for wrong in (np.zeros((80, 96, 3), np.float32), np.zeros((96, 80, 3), np.uint8)):
        with pytest.raises(condyle.Error, match="a C-contiguous uint8 array of shape \\(80, 96, 3\\), got"):
            model.render("bend", 0.5, size=SMALL, out=wrong)  # type: ignore[arg-type]


def test_a_bar_is_told_of_each_frame(model: condyle.Model) -> None:
    class Bar:
        done = 0

        def update(self, n: int, /) -> None:
            self.done += n

    bar = Bar()
    model.render("bend", np.linspace(0, 1, 9), size=SMALL, threads=2, progress=bar)
    assert bar.done == 9


@pytest.mark.parametrize(
    ("asked", "what"),
    [
        ({"size": (8, 64)}, r"size must be 16 to 2048 pixels per side, got \(8, 64\)"),
        ({"size": (64, 10**9)}, "16 to 2048 pixels per side"),
        ({"size": (-1, 64)}, r"got \(-1, 64\)"),
        ({"yaw": float("nan")}, "yaw must be a finite number of degrees, got NaN"),
        ({"skinning": "best"}, 'skinning must be "linear" or "dual", got "best"'),
        ({"skinning": "dual", "bounds": True}, "bounds=True requires"),
        ({"times": float("inf")}, r"times\[0\] must be finite, got inf"),
        ({"times": [[0.0]]}, r"times must have shape \(T,\), got \(1, 1\)"),
        ({"clip": "swim"}, "has no clip"),
    ],
)
def test_what_cannot_be_drawn_is_told(model: condyle.Model, asked: dict[str, Any], what: str) -> None:
    with pytest.raises(condyle.Error, match=what):
        model.render(**{"clip": "bend", **asked})


def test_what_cannot_be_written_is_told(model: condyle.Model, tmp_path: Path) -> None:
    film = model.render("bend", [0.0, 0.5], size=SMALL)
    with pytest.raises(condyle.Error, match=r"does not end in \.png, \.gif or \.webp"):
        film.save(tmp_path / "film.jpg")
    with pytest.raises(condyle.Error, match="a PNG does not move"):
        film.save(tmp_path / "film.png")
    with pytest.raises(condyle.Error, match="count must be 1 to 100, got 0"):
        model.sheet("bend", 0)
    with pytest.raises(condyle.Error, match="the sheet would be 16384x"):
        model.sheet("bend", 100, size=(2048, 2048))
    for empty in (film[:0], film[0, :0]):
        with pytest.raises(condyle.Error, match="at least one frame"):
            condyle.Picture(empty).encode(".gif")
    assert not list(tmp_path.iterdir())


def test_no_moments_are_no_frames(model: condyle.Model) -> None:
    assert model.render("bend", [], size=SMALL).shape == (0, 80, 96, 3)
