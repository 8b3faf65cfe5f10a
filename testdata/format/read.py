#!/usr/bin/env python3
"""A reader of .condyle files, written from docs/format.md alone; it shares no code with the library.

`read.py` reads the corpus in this folder. Every file of answers.json must have the values listed there, and
every file of refused.json must be refused.
"""

import json
import math
import struct
import sys
from pathlib import Path

MASK = (1 << 64) - 1


class Refused(Exception):
    """A file that a reader must refuse."""


def need(holds, why):
    if not holds:
        raise Refused(why)


def checksum(data):
    h = len(data)
    for at in range(0, len(data), 8):
        h = (h ^ int.from_bytes(data[at : at + 8], "little")) * 0x9E3779B97F4A7C15 & MASK
        h ^= h >> 32
    return h


def folded(data):
    h = checksum(data)
    return (h >> 32 ^ h & 0xFFFFFFFF) or 1


def numbers(data, at, form):
    need(at + struct.calcsize("<" + form) <= len(data), "truncated")
    return struct.unpack_from("<" + form, data, at)


def text(data):
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise Refused("not UTF-8") from None


def container(data):
    """The entries: kind, version, model, name, number (of a clip: its shell), bytes."""
    need(data[:8] == b"CONDYLE\0", "magic")
    major, _, count, names, _, length = numbers(data, 8, "HHIIIQ")
    need(major == 1, "version")
    end = 32 + 40 * count + (names + 7) // 8 * 8
    need(end + 8 <= len(data), "truncated")
    need(checksum(data[:end]) == numbers(data, end, "Q")[0], "checksum")
    need(len(data) >= length, "truncated")
    need(len(data) == length, "length")
    lines = [numbers(data, 32 + 40 * at, "HHIIfQQQ") for at in range(count)]
    entries, name, last = [], 0, end + 8
    for kind, version, model, name_end, number, offset, size, total in lines:
        need(name <= name_end <= names and offset % 16 == 0 and offset >= last and offset + size <= length, "table")
        if kind <= 5 and model != 0xFFFFFFFF:
            need(model < count and lines[model][0] == 1, "model")
        part = data[offset : offset + size]
        need(checksum(part) == total, "checksum")
        entries.append((kind, version, model, text(data[32 + 40 * count + name : 32 + 40 * count + name_end]), number, part))
        name, last = name_end, offset + size
    return entries


def skeleton(data):
    """Both fingerprints and the rest transforms."""
    n, _ = numbers(data, 0, "II")
    at = 8 + 2 * n + 2 * (n % 2) + 4 * n
    parents = numbers(data, 8, f"{n}H")
    rest = [list(numbers(data, at + 40 * j, "10f")) for j in range(n)]
    ends = numbers(data, at + 40 * n, f"{n}I")
    names = [data[at + 44 * n + a : at + 44 * n + b] for a, b in zip((0, *ends), ends)]
    joints = b"".join(struct.pack("<HQ", p, len(name)) + name for p, name in zip(parents, names))
    floats = b"".join(struct.pack("<10f", *(v + 0.0 for v in row)) for row in rest)
    return folded(joints), folded(floats), rest


def dot(a, b):
    return sum(x * y for x, y in zip(a, b))


def unit(q):
    length = math.sqrt(dot(q, q))
    return [v / length for v in q]


def product(a, b):
    x, y, z, w = a
    p, q, r, s = b
    return [w * p + x * s + y * r - z * q, w * q - x * r + y * s + z * p, w * r + x * q - y * p + z * s, w * s - x * p - y * q - z * r]


def exp(v):
    angle = math.sqrt(dot(v, v))
    by = math.sin(angle) / angle if angle else 1.0
    return [c * by for c in v] + [math.cos(angle)]


def slerp(a, b, t):
    cos = dot(a, b)
    b = b if cos >= 0 else [-v for v in b]
    angle = math.acos(min(abs(cos), 1.0))
    if angle < 1e-9:
        return unit([x + (y - x) * t for x, y in zip(a, b)])
    return [(x * math.sin((1 - t) * angle) + y * math.sin(t * angle)) / math.sin(angle) for x, y in zip(a, b)]


def nlerp(a, b, t):
    b = b if dot(a, b) >= 0 else [-v for v in b]
    return unit([x + (y - x) * t for x, y in zip(a, b)])


class Clip:
    def __init__(self, data):
        self.data = data
        need(data[:4] == b"CLIP", "magic")
        self.version, self.flags, length = numbers(data, 4, "HHI")
        need(self.version == 3, "version")
        need(len(data) >= length, "truncated")
        need(len(data) == length, "length")
        need(checksum(data[:12]) ^ checksum(data[20:]) == numbers(data, 12, "Q")[0], "checksum")
        self.joints, self.frames, self.count, self.skeleton = numbers(data, 20, "HHII")
        self.start, self.end, _, free, events, fallback, self.rest = numbers(data, 32, "fffHHII")
        need(self.flags < 8, "flags")
        need(self.frames > 0 and math.isfinite(self.start) and math.isfinite(self.end), "header")
        need(self.end > self.start if self.count else self.end == self.start, "times")
        need(self.count <= min(1 << 22, (1 << 26) // max(self.joints, 1)), "frames")
        at = 56
        if self.flags & 4:
            (size,) = numbers(data, at, "I")
            at, last = at + 4, at + 4 + size
            while at < last:
                kind, size = numbers(data, at, "II")
                need(kind < 1 << 31, "required chunk")
                at += 8 + size
            need(at == last, "chunks")
        segments = max(-(-self.count // self.frames), 1)
        places = numbers(data, at, f"{segments}I")
        at += 4 * segments
        self.free = [numbers(data, at + 8 * i, "IHH") for i in range(free)]
        for _, width, kind in self.free:
            need(width > 0 and kind <= 2 and (kind < 2 or width == 4), "free track")
        parts = [1 if kind == 2 else -(-width // 3) for _, width, kind in self.free]
        self.first = [sum(parts[:i]) for i in range(free)]
        self.fallback, at = self.read_fallback(at + 8 * free, fallback)
        lines = [numbers(data, at + 8 * i, "fI") for i in range(events)]
        at += 8 * events
        ends = [0, *(end for _, end in lines)]
        need(ends == sorted(ends) and at + ends[-1] <= len(data), "events")
        times = [0.0, *(time for time, _ in lines)]
        need(times == sorted(times) and times[-1] <= struct.unpack("<f", struct.pack("<f", self.end - self.start))[0], "events")
        self.events = [[time, text(data[at + a : at + b])] for (time, b), a in zip(lines, ends)]
        at += ends[-1]
        self.segments, self.keys, window = [], 0, 0
        for i, place in enumerate(places):
            need(place == at, "segments")
            frames = min(self.frames, self.count - i * self.frames)
            tracks, at, last = self.read_segment(place, frames, sum(parts))
            window = max(window, last)
            self.segments.append((frames, tracks))
        need(max(at, window) <= len(data), "truncated")
        need(max(at, window) == len(data), "bytes left over")

    def read_fallback(self, table, count):
        tracks, at, before = {}, table + 16 * count, (-1, -1)
        for i in range(count):
            kind, code, width, index, keys, place = numbers(self.data, table + 16 * i, "BBHIII")
            way = code & 31
            need(kind <= 3 and way <= 2 and place == at and keys > 0 and (kind, index) > before, "fallback")
            need(index < (len(self.free) if kind == 3 else self.joints), "fallback index")
            before = (kind, index)
            held = (0, 1 << 32)
            if code & 128:
                held = numbers(self.data, at, "II")
                at += 8
            if code & 64:
                (owner,) = numbers(self.data, at, "I")
                at += 4
                need(owner < i, "owner")
                times = tracks[owner][5]
            else:
                times = numbers(self.data, at, f"{keys}f")
                at += 4 * keys
            need(len(times) == keys and all(a < b for a, b in zip(times, times[1:])), "key times")
            values = keys * width * (3 if way == 2 else 1)
            short = code & 32
            row = numbers(self.data, at, f"{values}{'h' if short else 'f'}")
            need(all(map(math.isfinite, row)), "fallback values")
            at += values * (2 if short else 4)
            row = [v / 32767 for v in row] if short else list(row)
            if short:
                # Rotations: their lengths are rounding errors.
                row = sum((unit(row[n : n + width]) for n in range(0, len(row), width)), [])
            tracks[i] = (kind, index, way, width, held, times, row)
        return {(t[0], t[1]): t for t in tracks.values()}, at

    def read_segment(self, place, frames, parts):
        data = self.data
        classes, sizes, tracks, rows = numbers(data, place, "BBHI")
        size, wide = sizes & 63, self.flags >> 1 & 1
        need(1 <= size <= 3, "offset size")
        row = place + 8 + 7 * classes
        record = row + rows
        found, seen, before = [], set(), 0
        for i in range(classes):
            code, m, r, count = numbers(data, place + 8 + 7 * i, "BHHH")
            kind, curve = code & 3, code >> 2
            need(curve in (0, 1, 3) and count > 0 and kind >= before, "class")
            need((curve > 0) == (m > 0) and (frames > 0 or m == 0), "intervals")
            self.keys += (m + 1) * count if curve else 0
            need(self.keys <= 64 * len(data), "keys")
            before = kind
            bit = 0
            for _ in range(count):
                step, *widths = numbers(data, record, "BBBB")
                raw = [data[record + 5 + size * c : record + 5 + size * (c + 1)] for c in range(3)]
                offsets = [int.from_bytes(b, "little", signed=True) for b in raw]
                index = data[record + 4] + (data[record + 5 + 3 * size] << 8 if wide else 0)
                limit = parts if kind == 3 else self.joints + (self.flags & 1 if kind < 2 else 0)
                need(index < limit and (kind, index) not in seen, "index")
                need(max(widths) <= (24 if kind == 3 or index == self.joints else 20), "widths")
                seen.add((kind, index))
                worth = 2.0 ** (step // 8 - 26) * (1 + step % 8 / 8)
                found.append((kind, index, curve, m, row, r, bit, widths, offsets, worth, sizes & 64))
                bit += sum(widths)
                record += 5 + 3 * size + wide
            need(-(-bit // 8) == r, "row bytes")
            row += r * (m + 1 if curve else 0)
        need(row == place + 8 + 7 * classes + rows and len(found) == tracks, "rows")
        return found, record, record - (5 + 3 * size + wide) + 32 if found else record

    def key(self, track, j):
        _, _, curve, _, row, r, bit, widths, offsets, worth, _ = track
        if not curve:
            return [worth * v for v in offsets]
        bits = int.from_bytes(self.data[row + j * r : row + (j + 1) * r], "little") >> bit
        out = []
        for width, offset in zip(widths, offsets):
            out.append(worth * (offset + (bits & (1 << width) - 1)))
            bits >>= width
        return out

    def value(self, track, ratio):
        kind, _, curve, m = track[:4]
        x = ratio * m
        j = max(min(int(x), m - 1), 0)
        t = x - j
        turn = exp if kind == 0 else list
        if curve == 0:
            return turn(self.key(track, 0))
        ends = [self.key(track, j), self.key(track, j + 1)]
        if kind == 0 and curve == 1:
            return (nlerp if track[10] else slerp)(*map(exp, ends), t)
        if curve == 1 or m == 1:
            return turn([(1 - t) * a + t * b for a, b in zip(*ends)])
        keys = [self.key(track, i) if 0 <= i <= m else None for i in range(j - 1, j + 3)]
        if keys[0] is None:
            keys[0] = [2 * a - b for a, b in zip(keys[1], keys[2])]
        if keys[3] is None:
            keys[3] = [2 * a - b for a, b in zip(keys[2], keys[1])]
        w = [(1 - t) ** 3, 4 - 6 * t * t + 3 * t**3, 1 + 3 * t + 3 * t * t - 3 * t**3, t**3]
        return turn([dot(w, column) / 6 for column in zip(*keys)])

    def keyed(self, kind, index, segment, seconds):
        """A fallback track at a moment, or None."""
        track = self.fallback.get((kind, index))
        if not track or not track[4][0] <= segment < track[4][1]:
            return None
        _, _, way, width, _, times, values = track
        rotates = kind == 0 or kind == 3 and self.free[index][2] == 2
        at = max(sum(time <= seconds for time in times) - 1, 0)
        part = lambda key, p: values[((3 * key + p) if way == 2 else key) * width :][:width]  # noqa: E731
        if at + 1 == len(times) or seconds <= times[at] or way == 0:
            out = part(at, 1)
        else:
            length = times[at + 1] - times[at]
            t = (seconds - times[at]) / length
            a, b = part(at, 1), part(at + 1, 1)
            if way == 1:
                out = unit(slerp(a, b, t)) if rotates else [x + (y - x) * t for x, y in zip(a, b)]
            else:
                w = [2 * t**3 - 3 * t * t + 1, length * (t**3 - 2 * t * t + t), length * (t**3 - t * t), 3 * t * t - 2 * t**3]
                out = [dot(w, column) for column in zip(a, part(at, 2), part(at + 1, 0), b)]
        return unit(out) if rotates and abs(dot(out, out) - 1) > 1e-6 else out

    def at(self, seconds, rest):
        """The local transforms, the free tracks and the root motion at a moment."""
        part = (min(max(seconds, self.start), self.end) - self.start) / (self.end - self.start) if self.count else 0.0
        frame = part * self.count
        segment = min(int(frame) // self.frames, len(self.segments) - 1)
        frames, tracks = self.segments[segment]
        ratio = (frame - segment * self.frames) / max(frames, 1)
        pose = [list(row) for row in rest]
        free = [[0.0, 0.0, 0.0, 1.0] if kind == 2 else [0.0] * width for _, width, kind in self.free]
        motion = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]
        for track in tracks:
            kind, index, value = *track[:2], self.value(track, ratio)
            if kind == 3:
                at = max(i for i, first in enumerate(self.first) if first <= index)
                if self.free[at][2] == 2:
                    free[at] = exp(value)
                else:
                    begin = 3 * (index - self.first[at])
                    free[at][begin : begin + 3] = value[: len(free[at]) - begin]
            elif index == self.joints:
                motion[0 if kind == 0 else 4 : 4 if kind == 0 else 7] = value
            elif kind == 0:
                pose[index][:4] = product(pose[index][:4], value)
            else:
                begin = 4 if kind == 1 else 7
                pose[index][begin : begin + 3] = [a + b for a, b in zip(pose[index][begin:], value)]
        for index, row in enumerate(pose):
            for kind, begin, width in ((0, 0, 4), (1, 4, 3), (2, 7, 3)):
                row[begin : begin + width] = self.keyed(kind, index, segment, seconds) or row[begin : begin + width]
        free = [self.keyed(3, index, segment, seconds) or row for index, row in enumerate(free)]
        return pose, free, motion


def read(data):
    """The clips of a file by name, each with the rest pose that it is relative to and its shell, if the file has it."""
    entries, clips = container(data), {}
    for kind, version, model, name, number, part in entries:
        if kind == 3:
            need(version == entries[model][1] == 0, "version of the entry")
            clip = Clip(part)
            joints, rest, pose = skeleton(entries[model][5])
            need(clip.skeleton in (0, joints), "skeleton")
            need(clip.rest in (0, rest), "rest pose")
            clips[name] = (clip, pose, number if 0 < number < math.inf else None)
    return clips


def apart(found, wanted):
    """Difference of numbers, relative to their size above 1. The two quaternions of a rotation are equal."""
    way = -1.0 if len(found) in (4, 7, 10) and dot(found[:4], wanted[:4]) < 0 else 1.0
    turned = [way * v for v in found[:4]] + list(found[4:])
    return max((abs(a - b) / max(1.0, abs(b)) for a, b in zip(turned, wanted)), default=0.0)


def main():
    folder = Path(__file__).parent
    worst, moments = 0.0, 0
    for case in json.loads((folder / "checksums.json").read_text()):
        found = f"{checksum(bytes.fromhex(case['bytes'])):016x}"
        assert found == case["checksum"], f"{case}: {found}"
    all_answers = json.loads((folder / "answers.json").read_text(encoding="utf-8"))
    for name, answers in all_answers.items():
        clips = read((folder / name).read_bytes())
        assert list(clips) == list(answers), name
        for clip, wanted in answers.items():
            found, rest, shell = clips[clip]
            assert shell == (wanted["shell"] and numbers(struct.pack("<f", wanted["shell"]), 0, "f")[0]), (name, clip, shell)
            assert found.events == wanted["events"], (name, clip, found.events)
            for moment in wanted["moments"]:
                pose, free, motion = found.at(moment["seconds"], rest)
                rows = zip([*pose, *free, motion], [*moment["local"], *moment["free"], moment["motion"]], strict=True)
                off = max(apart(a, b) for a, b in rows)
                assert off < 3e-6, f"{name}, {clip} at {moment['seconds']} s: {off}"
                worst, moments = max(worst, off), moments + 1
    # The clip that the page goes through byte by byte.
    page = (folder / "../../docs/format.md").read_text(encoding="utf-8")
    lines = page.partition("### A clip byte by byte")[2].split("```")[1].splitlines()[1:]
    told = bytes.fromhex("".join(line[6:30] for line in lines))
    assert told == read((folder / "small.condyle").read_bytes())["bend"][0].data, "docs/format.md shows other bytes"
    refused = json.loads((folder / "refused.json").read_text())
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*.condyle")}
    assert files == {*all_answers, *refused}, "files without answers, or answers without files"
    for name, why in refused.items():
        try:
            read((folder / name).read_bytes())
        except Refused as error:
            assert str(error) == why, f"{name}: {error}, not {why}"
        else:
            raise AssertionError(f"{name} is not refused: {why}")
    print(f"{moments} moments within {worst:.1e}, {len(refused)} files refused")


if __name__ == "__main__":
    sys.exit(main())
