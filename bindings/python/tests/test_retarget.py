"""Humanoids, and motion of one on another."""

from pathlib import Path

import condyle
import numpy as np
import pytest

# Joint, parent, and offset in centimetres, of a body of 1.7 m that stretches out its arms.
BODY = [
    ("Hips", None, (0, 95, 0)),
    ("Spine", "Hips", (0, 12, 0)),
    ("Neck", "Spine", (0, 40, 0)),
    ("Head", "Neck", (0, 10, 2)),
    *((f"{side}{name}", f"{side}{above}" if above in LIMB else above, (sign * x, y, z))
      for side, sign in (("Left", 1), ("Right", -1))
      for LIMB in [("UpLeg", "Leg", "Foot", "Arm", "ForeArm")]
      for name, above, (x, y, z) in [
          ("UpLeg", "Hips", (9, -4, 0)),
          ("Leg", "UpLeg", (0, -42, 0)),
          ("Foot", "Leg", (0, -41, -1)),
          ("ToeBase", "Foot", (0, -6, 13)),
          ("Arm", "Spine", (17, 34, 0)),
          ("ForeArm", "Arm", (28, 0, 0)),
          ("Hand", "ForeArm", (25, 0, 0)),
      ]),
]


def bvh(path: Path, scale: float, prefix: str, seconds: float = 1.0) -> condyle.Model:
    """Writes a body that nods and bends its arms while its feet stand, and opens it."""
    children: dict[str | None, list[tuple[str, tuple[float, ...]]]] = {}
    for name, above, offset in BODY:
        children.setdefault(above, []).append((name, offset))
    lines: list[str] = ["HIERARCHY"]
    order: list[str] = []

    def write(name: str, offset: tuple[float, ...], keyword: str) -> None:
        order.append(name)
        lines.append(f"{keyword} {prefix}{name} {{ OFFSET " + " ".join(str(scale * v) for v in offset))
        move = "Xposition Yposition Zposition " if keyword == "ROOT" else ""
        lines.append(f"CHANNELS {6 if move else 3} {move}Zrotation Xrotation Yrotation")
        for child, by in children.get(name, []):
            write(child, by, "JOINT")
        if name not in children:
            lines.append("End Site { OFFSET 0 0 1 }")
        lines.append("}")

    write(*children[None][0], "ROOT")
    frames = round(30 * seconds)
    lines += ["MOTION", f"Frames: {frames + 1}", f"Frame Time: {1 / 30}"]
    for frame in range(frames + 1):
        row = [0, 95 * scale, 0]
        for name in order:
            bend = 40 * np.sin(2 * np.pi * frame / frames) if name in ("Head", "LeftForeArm") else 0
            row += [0, bend, 0]
        lines.append(" ".join(f"{v:.6f}" for v in row))
    path.write_text("\n".join(lines).replace("{ OFFSET", "{\nOFFSET").replace("{ OFF", "{\nOFF"))
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
    with pytest.raises(condyle.Error, match="source: no humanoid"):
        condyle.retarget(condyle.open(Path(__file__).parents[3] / "testdata" / "two_joints.glb"), target)
    with pytest.raises(condyle.Error, match="no clip"):
        condyle.retarget(source, target, "jump")
