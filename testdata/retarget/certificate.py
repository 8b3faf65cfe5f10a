"""Computes certificates of `condyle retarget` again, from the source and the written .glb alone.

    condyle rig walk.bvh -o source.txt
    condyle rig hero.glb -o target.txt
    condyle retarget walk.bvh --on hero.glb -o out.glb
    python3 testdata/retarget/certificate.py walk.bvh out.glb source.txt target.txt

Every figure that files can show is compared to the digits that the certificate prints: feet, heights, knees, the
ground, and hands in the body. Figures of the solver itself are left out: standing frames and those out of reach,
and how far the pelvis moved. Needs Python 3.10 and
nothing else. Shares no code with the library.
"""

from __future__ import annotations

import bisect
import json
import math
import struct
import sys
from dataclasses import dataclass, field
from pathlib import Path

Vector = tuple[float, float, float]
Quaternion = tuple[float, float, float, float]

# Both bodies are scaled to this height, in metres.
TALL = 1.8


def multiply(a: Quaternion, b: Quaternion) -> Quaternion:
    (ax, ay, az, aw), (bx, by, bz, bw) = a, b
    return (
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
        aw * bw - ax * bx - ay * by - az * bz,
    )


def conjugate(q: Quaternion) -> Quaternion:
    return (-q[0], -q[1], -q[2], q[3])


def unit(q: Quaternion) -> Quaternion:
    length = math.sqrt(sum(c * c for c in q))
    return (q[0] / length, q[1] / length, q[2] / length, q[3] / length)


def rotate(q: Quaternion, v: Vector) -> Vector:
    x, y, z, _ = multiply(multiply(q, (*v, 0.0)), conjugate(q))
    return (x, y, z)


def add(a: Vector, b: Vector) -> Vector:
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


def sub(a: Vector, b: Vector) -> Vector:
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2])


def scaled(v: Vector, by: float) -> Vector:
    return (v[0] * by, v[1] * by, v[2] * by)


def dot(a: Vector, b: Vector) -> float:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def cross(a: Vector, b: Vector) -> Vector:
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


def flat(v: Vector) -> Vector:
    return (v[0], 0.0, v[2])


def angle(q: Quaternion) -> float:
    return 2 * math.atan2(math.sqrt(q[0] ** 2 + q[1] ** 2 + q[2] ** 2), abs(q[3]))


@dataclass
class Local:
    """Local transform, with one scale."""

    at: Vector = (0.0, 0.0, 0.0)
    turn: Quaternion = (0.0, 0.0, 0.0, 1.0)
    scale: float = 1.0


@dataclass
class Motion:
    """A skeleton, and its local transforms at some times."""

    names: list[str] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    rest: list[Local] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    frames: list[list[Local]] = field(default_factory=list)

    def model(self, locals_: list[Local]) -> list[Local]:
        placed: list[Local] = []
        for local, parent in zip(locals_, self.parents):
            if parent < 0:
                placed.append(local)
                continue
            above = placed[parent]
            at = add(above.at, rotate(above.turn, scaled(local.at, above.scale)))
            placed.append(Local(at, unit(multiply(above.turn, local.turn)), above.scale * local.scale))
        return placed


def f32(value: float) -> float:
    return struct.unpack("<f", struct.pack("<f", value))[0]


def read_bvh(path: Path) -> Motion:
    """Reads a .bvh, with its end sites as joints."""
    words = path.read_text().split()
    motion, channels, stack = Motion(), [], []
    at = words.index("HIERARCHY") + 1
    while words[at] != "MOTION":
        word = words[at]
        if word in ("ROOT", "JOINT", "End"):
            name = words[at + 1] if word != "End" else motion.names[stack[-1]] + "_End"
            motion.names.append(name)
            motion.parents.append(stack[-1] if stack else -1)
            motion.rest.append(Local())
            stack.append(len(motion.names) - 1)
            channels.append([])
            at += 3
        elif word == "OFFSET":
            offset = (float(words[at + 1]), float(words[at + 2]), float(words[at + 3]))
            motion.rest[stack[-1]] = Local(offset)
            at += 4
        elif word == "CHANNELS":
            count = int(words[at + 1])
            channels[stack[-1]] = words[at + 2 : at + 2 + count]
            at += 2 + count
        elif word == "}":
            stack.pop()
            at += 1
        else:
            raise ValueError(f"{path}: {word} in the hierarchy")
    count, period = int(words[at + 2]), float(words[at + 5])
    numbers = iter(words[at + 6 :])
    for frame in range(count):
        locals_ = []
        for rest, own in zip(motion.rest, channels):
            at_, turn = list(rest.at), (0.0, 0.0, 0.0, 1.0)
            for channel in own:
                value, axis = float(next(numbers)), "XYZ".index(channel[0])
                if channel[1:] == "position":
                    at_[axis] = value
                else:
                    half = math.radians(value) / 2
                    by = [0.0, 0.0, 0.0, math.cos(half)]
                    by[axis] = math.sin(half)
                    turn = multiply(turn, (by[0], by[1], by[2], by[3]))
            # The library keeps keys as f32.
            turn = tuple(f32(c) for c in unit(turn))
            locals_.append(Local(tuple(f32(c) for c in at_), unit(turn)))
        motion.frames.append(locals_)
        motion.times.append(f32(frame * period))
    return motion


class Glb:
    """A .glb with linear clips of one timeline, as `condyle retarget` writes them."""

    def __init__(self, path: Path) -> None:
        data = path.read_bytes()
        length = struct.unpack_from("<I", data, 12)[0]
        self.json = json.loads(data[20 : 20 + length])
        self.binary = data[28 + length :]

    def accessor(self, index: int) -> list[tuple[float, ...]]:
        it = self.json["accessors"][index]
        width = {"SCALAR": 1, "VEC3": 3, "VEC4": 4}[it["type"]]
        view = self.json["bufferViews"][it["bufferView"]]
        start = view.get("byteOffset", 0) + it.get("byteOffset", 0)
        stride = view.get("byteStride", 4 * width)
        if it["componentType"] != 5126:
            raise ValueError("numbers other than float")
        row = struct.Struct(f"<{width}f")
        return [row.unpack_from(self.binary, start + stride * k) for k in range(it["count"])]

    def motion(self, clip: dict) -> Motion:
        nodes = self.json["nodes"]
        parent = {child: at for at, node in enumerate(nodes) for child in node.get("children", [])}
        order: list[int] = []
        todo = [at for at in range(len(nodes)) if at not in parent]
        while todo:
            at = todo.pop(0)
            order.append(at)
            todo = nodes[at].get("children", []) + todo
        place = {node: index for index, node in enumerate(order)}
        motion = Motion()
        for at in order:
            node = nodes[at]
            motion.names.append(node.get("name", ""))
            motion.parents.append(place.get(parent.get(at, -1), -1))
            scale = node.get("scale", [1, 1, 1])
            turn = unit(tuple(node.get("rotation", [0, 0, 0, 1])))
            motion.rest.append(Local(tuple(node.get("translation", [0, 0, 0])), turn, sum(scale) / 3))
        keys: dict[tuple[int, str], tuple[list[float], list[tuple[float, ...]]]] = {}
        for channel in clip["channels"]:
            sampler = clip["samplers"][channel["sampler"]]
            times = [time for (time,) in self.accessor(sampler["input"])]
            target = place[channel["target"]["node"]], channel["target"]["path"]
            keys[target] = times, self.accessor(sampler["output"])
        motion.times = sorted({time for times, _ in keys.values() for time in times})
        for time in motion.times:
            frame = []
            for joint, rest in enumerate(motion.rest):
                at, turn, scale = rest.at, rest.turn, rest.scale
                if (joint, "translation") in keys:
                    at = value_at(*keys[joint, "translation"], time)
                if (joint, "rotation") in keys:
                    turn = unit(value_at(*keys[joint, "rotation"], time))
                frame.append(Local(at, turn, scale))
            motion.frames.append(frame)
        return motion


def value_at(times: list[float], values: list[tuple[float, ...]], time: float) -> tuple[float, ...]:
    """The key at a time; clips of `condyle retarget` have a key at each frame, or one key."""
    at = min(bisect.bisect_left(times, time), len(times) - 1)
    if len(times) > 1 and times[at] != time:
        raise ValueError(f"no key at {time} s")
    return values[at]


def read_map(path: Path) -> dict[str, str]:
    """Reads `role = joint` lines."""
    pairs = (line.split("#")[0].partition("=") for line in path.read_text().splitlines())
    return {role.strip(): joint.strip() for role, equals, joint in pairs if equals and joint.strip() != "-"}


class Legs:
    """Both legs of a body over time, scaled to the common height."""

    def __init__(self, motion: Motion, roles: dict[str, str]) -> None:
        joint = {role: motion.names.index(name) for role, name in roles.items()}
        rest = motion.model(motion.rest)
        hips = joint["hips"]
        below = [at for at in range(len(rest)) if is_below(motion.parents, at, hips)]
        heights = [rest[at].at[1] for at in below]
        self.height = max(heights) - min(heights)
        # A document's ground is at 0, if the feet are near it.
        near = -0.05 <= min(heights) / self.height < 0.1
        self.floor = 0.0 if near else min(heights)
        thighs = [joint["leftUpperLeg"], joint["rightUpperLeg"]]
        self.width = math.dist(rest[thighs[0]].at, rest[thighs[1]].at)
        lengths = []
        self.stands: list[float] = []
        self.frames: list[list[tuple[Vector, tuple[Quaternion, Quaternion]]]] = [[], []]
        self.times = motion.times
        scale = TALL / self.height
        placed = [motion.model(frame) for frame in motion.frames]
        for side, name in enumerate(("left", "right")):
            thigh, shin, foot, toes = (joint[name + part] for part in ("UpperLeg", "LowerLeg", "Foot", "Toes"))
            lengths.append(math.dist(rest[thigh].at, rest[shin].at) + math.dist(rest[shin].at, rest[foot].at))
            # The ball of the foot moves with the foot, also where the toes bend.
            away = sub(rest[toes].at, rest[foot].at)
            ball = scaled(rotate(conjugate(rest[foot].turn), away), 1 / rest[foot].scale)
            # Height of the ball where the body stands.
            self.stands.append(rest[toes].at[1] - self.floor)
            for model in placed:
                at = add(model[foot].at, rotate(model[foot].turn, scaled(ball, model[foot].scale)))
                self.frames[side].append((scaled(at, scale), (model[thigh].turn, model[shin].turn)))
        # A lifted foot has the height of the standing one.
        low = min(self.stands)
        self.stands = [low if height - low > 0.02 * self.height else height for height in self.stands]
        self.leg = sum(lengths) / 2
        self.toes = [self.floor + height for height in self.stands]
        self.rest, self.placed, self.joint = rest, placed, joint

    def stand_on_clip(self) -> None:
        """Takes the ground and the heights of standing feet from the motion, if they are elsewhere than at rest."""
        unit = self.height / TALL
        toes = [sorted(unit * toe[1] for toe, _ in frames)[len(frames) // 50] for frames in self.frames]
        floors = [toe - height for toe, height in zip(toes, self.stands)]
        floor = min(floors)
        # Feet on the ground at rest: a motion far above it is in the air.
        if self.floor == 0.0 and floor > 0.1 * self.height:
            return
        near = [abs(it - floor) < 0.05 * self.height for it in floors]
        toes = [toe if it else floor + height for toe, it, height in zip(toes, near, self.stands)]
        pairs = [(floor, self.floor), *zip(toes, self.toes)]
        if any(abs(a - b) >= 0.01 * self.height for a, b in pairs):
            self.floor, self.toes = floor, toes

    def beyond_limits(self, frame: int) -> float:
        """Largest angle by which a knee bends to the front by more than 10 degrees, or a knee or elbow by more than 165."""
        across = flat(sub(self.rest[self.joint["leftUpperLeg"]].at, self.rest[self.joint["rightUpperLeg"]].at))
        left = scaled(across, 1 / math.hypot(*across))
        worst = 0.0
        for side in ("left", "right"):
            for names in (("UpperLeg", "LowerLeg", "Foot"), ("UpperArm", "LowerArm", "Hand")):
                if any(side + name not in self.joint for name in names):
                    continue
                joints = [self.joint[side + name] for name in names]
                at = [self.placed[frame][joint].at for joint in joints]
                first, second = sub(at[1], at[0]), sub(at[2], at[1])
                around = cross(first, second)
                bent = math.degrees(math.atan2(math.hypot(*around), dot(first, second)))
                axis = rotate(conjugate(self.rest[joints[0]].turn), left)
                axis = rotate(self.placed[frame][joints[0]].turn, axis)
                is_backwards = names[0] == "UpperLeg" and dot(around, axis) < 0
                worst = max(worst, bent - (10 if is_backwards else 165))
        return worst

    def depths(self, frame: int, at_rest: float) -> tuple[float, float]:
        """Depth of joints below the ground, and of hands in the trunk and the thighs.

        `at_rest` is the ground at rest. Joints below it are left out.
        """
        at = [it.at for it in self.placed[frame]]
        joints = [joint for joint in self.joint.values() if self.rest[joint].at[1] >= at_rest]
        ground = max([self.floor - at[joint][1] for joint in joints], default=0.0)
        bones = [("hips", "neck" if "neck" in self.joint else "head", 0.5)]
        bones += [("leftUpperLeg", "leftLowerLeg", 0.3), ("rightUpperLeg", "rightLowerLeg", 0.3)]
        inside = 0.0
        for hand in ("leftHand", "rightHand"):
            for first, last, share in bones:
                if hand in self.joint:
                    ends = at[self.joint[first]], at[self.joint[last]]
                    inside = max(inside, share * self.width - from_bone(at[self.joint[hand]], *ends))
        return max(ground, 0.0), inside


def from_bone(p: Vector, first: Vector, last: Vector) -> float:
    along = sub(last, first)
    square = sum(c * c for c in along)
    part = sum(a * b for a, b in zip(sub(p, first), along)) / square if square > 0 else 0.0
    return math.dist(p, add(first, scaled(along, min(max(part, 0.0), 1.0))))


def is_below(parents: list[int], at: int, above: int) -> bool:
    while at >= 0 and at != above:
        at = parents[at]
    return at == above


def percentile(values: list[float], part: float) -> float:
    return sorted(values)[int((len(values) - 1) * part)] if values else 0.0


def certificate(source: Legs, target: Legs) -> dict[str, float]:
    ratio = (target.leg + target.width) / (source.leg + source.width)
    own = ratio * source.height / target.height
    times = source.times
    planted = sliding = beyond = moving = frozen = spins = 0
    slide = height = ground = body = limits = 0.0
    knee = [0.0, 0.0]
    rests = source.floor, target.floor
    source.stand_on_clip()
    for frame in range(len(times)):
        (a_ground, a_body), (b_ground, b_body) = (
            legs.depths(frame, rest) for legs, rest in zip((source, target), rests)
        )
        limits = max(limits, target.beyond_limits(frame) - source.beyond_limits(frame))
        ground, body = max(ground, b_ground - ratio * a_ground), max(body, b_body - ratio * a_body)
    for side in range(2):
        a, b = source.frames[side], target.frames[side]
        at_rest = [legs.toes[side] * TALL / legs.height for legs in (source, target)]
        low = percentile([toe[1] for toe, _ in a], 0.02)
        stood: Vector | None = None
        rates: list[list[Vector]] = [[], []]
        for frame in range(1, len(times)):
            step = times[frame] - times[frame - 1]
            speed = [math.hypot(*flat(sub(legs[frame][0], legs[frame - 1][0]))) / step for legs in (a, b)]
            stands = speed[0] < 0.01 and a[frame][0][1] < low + 0.04
            if stands:
                planted += 1
                sliding += speed[1] > 0.01
                beyond += speed[1] > 0.01 * max(own, 1)
                stood = stood or b[frame][0]
                slide = max(slide, math.hypot(*flat(sub(b[frame][0], stood))))
                wanted = at_rest[1] + own * (a[frame][0][1] - at_rest[0])
                height = max(height, abs(b[frame][0][1] - wanted))
            else:
                stood = None
            if speed[0] > 0.03:
                moving += 1
                frozen += speed[1] < 0.01
            for bone in range(2):
                turns = [
                    angle(multiply(legs[frame][1][bone], conjugate(legs[frame - 1][1][bone]))) for legs in (a, b)
                ]
                spins += turns[1] > math.radians(20) and turns[1] > 2.5 * turns[0]
            for legs, list_ in zip((a, b), rates):
                knees = [multiply(conjugate(legs[k][1][0]), legs[k][1][1]) for k in (frame - 1, frame)]
                turn = multiply(knees[1], conjugate(knees[0]))
                sign = 2 / step if turn[3] >= 0 else -2 / step
                list_.append(scaled((turn[0], turn[1], turn[2]), sign))
                if len(list_) > 1:
                    which = 1 if legs is a else 0
                    knee[which] += math.hypot(*sub(list_[-1], list_[-2])) / step
    percent = lambda part, of: 100 * part / of if of else 0.0
    return {
        "frames": len(times),
        "ratio": ratio,
        "source_ground": source.floor,
        "planted_frames": planted,
        "sliding_percent": percent(sliding, planted),
        "sliding_beyond_scale_percent": percent(beyond, planted),
        "slide_mm": 1e3 * slide * target.height / TALL,
        "height_mm": 1e3 * height * target.height / TALL,
        "ground_mm": 1e3 * ground,
        "body_mm": 1e3 * body,
        "limits_degrees": limits,
        "frozen_percent": percent(frozen, moving),
        "knee_acceleration": knee[0] / knee[1] if knee[1] else 1.0,
        "spins": spins,
    }


def main() -> int:
    if len(sys.argv) != 5:
        print(__doc__)
        return 2
    source_path, written, source_map, target_map = map(Path, sys.argv[1:])
    glb = Glb(written)
    roles = read_map(source_map), read_map(target_map)
    source = Legs(read_bvh(source_path), roles[0])
    differ = 0
    for clip in glb.json["animations"]:
        target = Legs(glb.motion(clip), roles[1])
        stated = clip["extras"]["condyle_retarget"]
        for name, value in certificate(source, target).items():
            # Figures have four decimals, and the numbers in the file are f32.
            rounding = 3e-5 * target.height if name.endswith("_mm") else 0.0
            is_equal = abs(value - stated[name]) <= 0.5001e-4 + rounding
            differ += not is_equal
            print(f"{clip.get('name', '')}  {name:<30} {value:14.4f} {stated[name]:14.4f}  {'' if is_equal else 'differs'}")
    print("every figure agrees" if differ == 0 else f"{differ} figures differ")
    return int(differ > 0)


if __name__ == "__main__":
    sys.exit(main())
