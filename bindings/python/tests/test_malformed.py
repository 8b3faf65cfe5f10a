"""Each malformed file opens as a model or raises an exception of the package, and the interpreter survives.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import TESTDATA
from test_bodies import made

# Runs in a separate process, so that an abort is detected and does not end the tests.
GOES_THROUGH = """
import random, sys
from pathlib import Path
import condyle

seed, path, broken = int(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3])
whole = path.read_bytes()
if seed % 2 and path.suffix == ".glb":
    whole = condyle.from_bytes(whole).pack()
body = condyle.BodyModel(sys.argv[4]).shaped() if path.name == "motion.npz" else None
random = random.Random(seed)
numbers = [b"-1", b"0", b"4294967295", b"1e999", b"18446744073709551616", b"null", b"{}", b"0.5"]
models = refused = 0
for _ in range(500):
    data = bytearray(whole)
    for _ in range(random.randint(1, 4)):
        at = random.randrange(len(data))
        match random.randrange(4):
            case 0:
                data[at] ^= 1 << random.randrange(8)
            case 1:
                del data[at : at + random.choice([1, 4, len(data)])]
                data = data or bytearray(b"x")
            case 2:
                data[at : at + 4] = random.choice([b"\\xff" * 4, bytes(4), b"\\x00\\x00\\x00\\x80"])
            case 3:
                # The next number of a document.
                digits = next((i for i in range(at, len(data)) if 48 <= data[i] <= 57), at)
                number = random.choice(numbers)
                data[digits : digits + len(number)] = number
    broken.write_bytes(data)
    try:
        model = condyle.open(broken, body=body if data[:2] == b"PK" else None)
        model.joints(0 if model.clips else None, [0.0, 0.3])
        if model.primitives:
            model.skin(None, [0.0])
        models += 1
    except condyle.Error:
        refused += 1
print(models, refused)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with a file of each format."""
    folder = tmp_path_factory.mktemp("malformed")
    for name in ("two_joints", "ancestors", "eight_influences", "morph"):
        shutil.copy(TESTDATA / f"{name}.glb", folder)
    motion = "HIERARCHY\nROOT hips\n{\nOFFSET 0 0 0\nCHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation\n"
    motion += "JOINT knee\n{\nOFFSET 0 -4e-1 0\nCHANNELS 3 Zrotation Xrotation Yrotation\nEnd Site\n{\nOFFSET 0 9 0\n}\n}\n}\n"
    rows = "".join(" ".join(str(9.5 * row * column) for column in range(9)) + "\n" for row in range(4))
    (folder / "walk.bvh").write_text(motion + "MOTION\nFrames: 4\nFrame Time: 0.1\n" + rows)
    np.savez(folder / "model.npz", **made(2))  # type: ignore[arg-type]
    turns = np.random.default_rng(2).normal(size=(3, 72))
    np.savez(folder / "motion.npz", poses=turns, trans=np.zeros((3, 3)), betas=np.zeros(2), mocap_framerate=30.0)
    return folder


NAMES = ["two_joints.glb", "ancestors.glb", "eight_influences.glb", "morph.glb", "walk.bvh", "model.npz", "motion.npz"]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", NAMES)
def test_malformed_files_are_refused(name: str, seed: int, folder: Path, tmp_path: Path) -> None:
    """Broken files keep the original extension, because some formats are detected by it."""
    files = [folder / name, tmp_path / f"broken{Path(name).suffix}", folder / "model.npz"]
    command = [sys.executable, "-c", GOES_THROUGH, str(seed), *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    models, refused = map(int, done.stdout.split())
    assert models + refused == 500
    assert refused > 0


# Opened documents are posed too. Each malformed document yields a model or an exception of the package.
OPENS_ALL = """
import sys
from pathlib import Path
import condyle

models = refused = 0
for path in sorted(Path(sys.argv[1]).iterdir()):
    try:
        model = condyle.open(path)
        model.joints(0 if model.clips else None, [0.0, 0.3])
        if model.primitives:
            model.skin(0 if model.clips else None, [0.3])
        models += 1
    except condyle.Error:
        refused += 1
print(models, refused)
"""

# Maximum number of documents per family. There are 117,138 documents in 28 families.
MOST = 300


@pytest.mark.skipif(
    "CONDYLE_MALFORMED" not in os.environ, reason="`cargo build --release --example malformed` and name it there"
)
def test_documents_of_the_library_are_refused(tmp_path: Path) -> None:
    """Opens the malformed documents of the library's tests in a process that must survive."""
    subprocess.run([os.environ["CONDYLE_MALFORMED"], str(tmp_path), str(MOST)], check=True, timeout=60)
    documents = len(list(tmp_path.iterdir()))
    assert documents > 2500
    command = [sys.executable, "-c", OPENS_ALL, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    models, refused = map(int, done.stdout.split())
    assert models + refused == documents
    assert models > MOST and refused > MOST
