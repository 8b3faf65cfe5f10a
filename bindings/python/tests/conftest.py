"""Paths of the reference models: those of the repository, and the shared characters next to the checkout, if
present.
"""

import os
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[3]
TESTDATA = REPOSITORY / "testdata"
SHARED = REPOSITORY.parent / "shared" / "models"

MODELS = sorted(TESTDATA.glob("*.glb"))
if SHARED.is_dir():
    MODELS += sorted(path for path in SHARED.iterdir() if path.suffix in (".glb", ".gltf"))
elif os.environ.get("CONDYLE_REQUIRE_MODELS"):
    raise FileNotFoundError(SHARED)
