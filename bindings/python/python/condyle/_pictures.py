"""Pictures as arrays that show themselves in a notebook."""

from __future__ import annotations

import base64
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._condyle import Error, _picture_file

# Pixels on a side of what can be encoded: MAX_SHEET of condyle-draw.
_MOST = 16_000


class Picture(np.ndarray[tuple[int, ...], np.dtype[np.uint8]]):
    """Pixels of uint8, red, green and blue: (H, W, 3), or (T, H, W, 3) of an animation with `fps` frames a second.

    A notebook shows it: one picture as a PNG, several as a GIF that plays. It is an array all the same: frames and views of it are pictures, what is
    computed of it are plain arrays.

    >>> film = condyle.open("two_joints.glb").render("bend", np.linspace(0, 1, 5), size=(64, 48))
    >>> film.shape, film[0].shape, film.fps
    ((5, 48, 64, 3), (48, 64, 3), 4.0)
    >>> film[0].save("first.png")
    """

    fps: float

    def __new__(cls, pixels: ArrayLike, fps: float | None = None) -> Picture:
        """Of an array of uint8, which is not copied; `fps` is that of the array if it is a picture, else 25."""
        array = np.asarray(pixels)
        if array.dtype != np.uint8:
            raise Error(f"pixels are {array.dtype}, uint8 from 0 to 255 is wanted")
        it = array.view(cls)
        it.fps = float(getattr(pixels, "fps", 25.0) if fps is None else fps)
        return it

    def __array_finalize__(self, parent: NDArray[Any] | None) -> None:
        self.fps = getattr(parent, "fps", 25.0)

    def __array_wrap__(self, array: NDArray[Any], context: Any = None, return_scalar: bool = False) -> Any:
        return array[()] if return_scalar or array.ndim == 0 else np.asarray(array)

    def __reduce__(self) -> tuple[type[Picture], tuple[NDArray[np.uint8], float]]:
        return Picture, (np.asarray(self), self.fps)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a file: .png, .gif or .webp for one picture, .gif or .webp for an animation. It is written whole or not at all."""
        data, path = self.encode(path), Path(path)
        draft = path.with_name(f"{path.name}.{os.getpid()}.draft")
        try:
            draft.write_bytes(data)
            os.replace(draft, path)
        finally:
            draft.unlink(missing_ok=True)

    def encode(self, name: str | os.PathLike[str]) -> bytes:
        """The bytes of a file of this name, whose extension says which format it has.

        >>> condyle.open("two_joints.glb").render(size=(32, 32)).encode(".png")[:4]
        b'\\x89PNG'
        """
        if self.dtype != np.uint8:
            raise Error(f"pixels are {self.dtype}, uint8 from 0 to 255 is wanted")
        # A name that is nothing but an extension has none.
        path = f"picture{name}" if str(name).startswith(".") else name
        return _picture_file(np.ascontiguousarray(self), self.fps, path)

    def _is_shown(self, axes: int) -> bool:
        return self.dtype == np.uint8 and self.ndim == axes and self.shape[-1] == 3 and 0 < self.size and max(self.shape[-3:]) <= _MOST

    def _repr_png_(self) -> bytes | None:
        return self.encode(".png") if self._is_shown(3) else None

    def _repr_html_(self) -> str | None:
        if not self._is_shown(4):
            return None
        return f'<img src="data:image/gif;base64,{base64.b64encode(self.encode(".gif")).decode()}"/>'
