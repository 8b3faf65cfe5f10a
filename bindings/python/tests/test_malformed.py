"""Malformed files: each is a model or an exception of the package, and the interpreter outlives them all."""

from __future__ import annotations

import subprocess
import sys

import pytest
from conftest import TESTDATA

# A process of its own, so that an abort is seen and is not that of the tests.
GOES_THROUGH = """
import random, sys
from pathlib import Path
import condyle

seed, whole = int(sys.argv[1]), Path(sys.argv[2]).read_bytes()
if seed % 2:
    whole = condyle.from_bytes(whole).pack(effort="fast")
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
    try:
        model = condyle.from_bytes(bytes(data))
        model.skin(None, [0.0])
        models += 1
    except condyle.Error:
        refused += 1
print(models, refused)
"""


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", ["two_joints", "ancestors", "eight_influences"])
def test_malformed_files_are_refused(name: str, seed: int) -> None:
    command = [sys.executable, "-c", GOES_THROUGH, str(seed), str(TESTDATA / f"{name}.glb")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    models, refused = map(int, done.stdout.split())
    assert models + refused == 500
    assert refused > 0
