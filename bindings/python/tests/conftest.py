"""Paths of the reference models: those of the repository, and the characters in the folder CONDYLE_MODELS, if
it is set.
"""

import os
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[3]
TESTDATA = REPOSITORY / "testdata"

MODELS = sorted(TESTDATA.glob("*.glb"))
if characters := os.environ.get("CONDYLE_MODELS"):
    MODELS += sorted(path for path in Path(characters).iterdir() if path.suffix in (".glb", ".gltf"))
