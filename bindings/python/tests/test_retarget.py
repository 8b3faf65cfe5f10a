"""Humanoids, and motion of one on another."""

import json
import shutil
from pathlib import Path

import condyle
import numpy as np
import pytest
from condyle import jobs
from conftest import TESTDATA

# Joint, parent, and offset in centimetres, of a body of 1.7 m that stretches out its arms.
BODY: list[tuple[str, str | None, tuple[float, float, float]]] = [
    ("Hips", None, (0, 95, 0)),
    ("Spine", "Hips", (0, 12, 0)),
    ("Neck", "Spine", (0, 40, 0)),
    ("Head", "Neck", (0, 10, 2)),
]
for side, sign in (("Left", 1), ("Right", -1)):
    BODY += [
        (f"{side}UpLeg", "Hips", (9 * sign, -4, 0)),
        (f"{side}Leg", f"{side}UpLeg", (0, -42, 0)),
        (f"{side}Foot", f"{side}Leg", (0, -41, -1)),
        (f"{side}ToeBase", f"{side}Foot", (0, -6, 13)),
        (f"{side}Arm", "Spine", (17 * sign, 34, 0)),
        (f"{side}ForeArm", f"{side}Arm", (28 * sign, 0, 0)),
        (f"{side}Hand", f"{side}ForeArm", (25 * sign, 0, 0)),
    ]


def bvh(path: Path, scale: float, prefix: str) -> condyle.Model:
    """Writes a body that nods and bends an arm while its feet stand, and opens it."""
    lines = ["HIERARCHY"]
    order = []

    def write(name: str, offset: tuple[float, float, float], keyword: str) -> None:
        order.append(name)
        lines.append(f"{keyword} {prefix}{name}")
        lines.append("{")
        lines.append("OFFSET " + " ".join(str(scale * v) for v in offset))
        places = "Xposition Yposition Zposition " if keyword == "ROOT" else ""
        lines.append(f"CHANNELS {6 if places else 3} {places}Zrotation Xrotation Yrotation")
        below = [(child, by) for child, above, by in BODY if above == name]
        for child, by in below:
            write(child, by, "JOINT")
        if not below:
            lines.extend(["End Site", "{", f"OFFSET 0 0 {scale}", "}"])
        lines.append("}")

    write(BODY[0][0], BODY[0][2], "ROOT")
    lines += ["MOTION", "Frames: 31", f"Frame Time: {1 / 30}"]
    for frame in range(31):
        bend = 40 * np.sin(2 * np.pi * frame / 30)
        row = [0, 95 * scale, 0]
        for name in order:
            row += [0, bend if name in ("Head", "LeftForeArm") else 0, 0]
        lines.append(" ".join(f"{v:.6f}" for v in row))
    path.write_text("\n".join(lines))
    return condyle.open(path)


def test_roles_are_found_and_corrected(tmp_path: Path) -> None:
    model = bvh(tmp_path / "a.bvh", 1.0, "mixamorig:")
    roles = condyle.rig(model)
    assert roles["leftFoot"] == "mixamorig:LeftFoot" and roles["rightHand"] == "mixamorig:RightHand"
    assert "leftToes" not in condyle.rig(model, {"leftToes": None})
    with pytest.raises(condyle.Error, match="nose"):
        condyle.rig(model, {"head": "nose"})
    with pytest.raises(condyle.Error, match="tail"):
        condyle.rig(model, {"tail": "Hips"})


def test_an_invalid_map_in_a_file_is_told_and_not_used(tmp_path: Path) -> None:
    bvh(tmp_path / "a.bvh", 0.01, "Bip_").save(tmp_path / "a.glb")
    data = (tmp_path / "a.glb").read_bytes()
    length = int.from_bytes(data[12:16], "little")
    document = json.loads(data[20 : 20 + length])
    bones = {role: {"node": 0} for role in ("hips", "spine", "head")}
    document["extensionsUsed"] = ["KHR_character_skeleton_mapping"]
    document["extensions"] = {"KHR_character_skeleton_mapping": {"skeletalRigMappings": {"vrm": bones}}}
    text = json.dumps(document).encode()
    text += b" " * (-len(text) % 4)
    rest = data[20 + length :]
    head = b"glTF" + b"".join(v.to_bytes(4, "little") for v in (2, 20 + len(text) + len(rest), len(text)))
    (tmp_path / "a.glb").write_bytes(head + b"JSON" + text + rest)
    with pytest.warns(UserWarning, match="the map in the file is not used"):
        roles = condyle.rig(condyle.open(tmp_path / "a.glb"))
    assert (roles["hips"], roles["head"]) == ("Bip_Hips", "Bip_Head")


def test_motion_moves_to_another_body(tmp_path: Path) -> None:
    source = bvh(tmp_path / "nod.bvh", 1.0, "mixamorig:")
    target = bvh(tmp_path / "small.bvh", 0.007, "Bip_")
    moved, certificates = condyle.retarget(source, target)
    [clip] = moved.clips
    assert clip.name == "nod" and list(certificates) == ["nod"]
    assert certificates["nod"]["sliding_percent"] == 0 and certificates["nod"]["frames"] == 31
    times = np.linspace(0, 1, 7)
    a, b = source.joints("nod", times), moved.joints(clip, times)
    names = [list(model.skeleton.names) for model in (source, target)]
    for joint in ("LeftFoot", "RightHand", "Head"):
        one, other = a[:, names[0].index(f"mixamorig:{joint}")], b[:, names[1].index(f"Bip_{joint}")]
        np.testing.assert_allclose(0.007 * one, other, atol=1e-4)
    # Clips of one name have a certificate each, and lengths are in mm.
    clips = source.clips * 2
    twice, certificates = condyle.retarget(source.with_clips(clips), target)
    assert list(certificates) == [clip.name for clip in twice.clips] == ["nod", "nod 2"]
    small = condyle.open(tmp_path / "small.bvh", unit=0.01)
    measured = condyle.retarget(source, small, hands=True)[1]["nod"]
    assert measured["height_mm"] == pytest.approx(0.01 * certificates["nod"]["height_mm"], abs=1e-3)
    # A number is in metres.
    assert condyle.retarget(source, small, ratio=0.5)[1]["nod"]["ratio"] == 50
    assert condyle.retarget(source, small, ratio="hip-height")[1]["nod"]["ratio"] == pytest.approx(0.007, rel=0.01)
    low = condyle.retarget(source, small, ground="rest")[1]["nod"]
    assert low["frames"] == 31
    with pytest.raises(condyle.Error, match="ground must be"):
        condyle.retarget(source, small, ground="sky")  # type: ignore[arg-type]
    with pytest.raises(condyle.Error, match="ratio must be"):
        condyle.retarget(source, small, ratio="long")  # type: ignore[arg-type]
    with pytest.raises(condyle.Error, match="source: no humanoid"):
        condyle.retarget(condyle.open(Path(__file__).parents[3] / "testdata" / "two_joints.glb"), target)
    with pytest.raises(condyle.Error, match="no clip"):
        condyle.retarget(source, target, "jump")


def test_a_folder_moves_to_a_character_in_any_number_of_processes(tmp_path: Path) -> None:
    moves = tmp_path / "moves"
    (moves / "low").mkdir(parents=True)
    bvh(moves / "nod.bvh", 1.0, "mixamorig:")
    bvh(moves / "low" / "nod.bvh", 0.5, "")
    shutil.copy(TESTDATA / "two_joints.glb", moves)
    bvh(tmp_path / "small.bvh", 0.007, "Bip_").save(tmp_path / "hero.glb")
    made = []
    for workers in (1, 2):
        out = tmp_path / str(workers)
        job = jobs.Retarget(str(moves), str(out), on=str(tmp_path / "hero.glb"), per_shard=1)
        done = jobs.run(job, workers)
        made.append((out / "library.condyle").read_bytes())
    assert made[0] == made[1] and done["clips"] == 2
    assert [file["source"] for file in done["left_out"]] == ["two_joints.glb"]
    assert "no humanoid" in done["left_out"][0]["why"]
    assert [it["name"] for it in done["certificates"]] == ["low/nod", "nod"]
    assert all(it["frames"] == 31 and it["sliding_percent"] == 0 for it in done["certificates"])
    library = condyle.Library(out / "library.condyle")
    character = condyle.open(tmp_path / "hero.glb")
    assert library.names == ["low/nod", "nod"] and len(library.skeletons) == 1
    want, _ = condyle.retarget(condyle.open(moves / "nod.bvh"), character)
    times = np.linspace(0, 1, 7)
    places = condyle.forward_kinematics(library["nod"].skeleton, *library["nod"].sample(times))[..., 3]
    np.testing.assert_allclose(places, want.joints(0, times), atol=6e-4)
    # Another character is another job.
    bvh(tmp_path / "tall.bvh", 0.02, "Bip_").save(tmp_path / "hero.glb")
    assert jobs.run(job)["certificates"][0]["ratio"] > 1.5 * done["certificates"][0]["ratio"]
    with pytest.raises(condyle.Error, match="no humanoid"):
        jobs.run(jobs.Retarget(str(moves), str(tmp_path / "none"), on=str(TESTDATA / "two_joints.glb")))
    with pytest.raises(condyle.Error, match="ratio must be"):
        jobs.Retarget(str(moves), str(tmp_path / "none"), on=str(tmp_path / "hero.glb"), ratio=0)
