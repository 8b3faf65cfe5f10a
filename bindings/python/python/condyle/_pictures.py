"""Pictures as arrays that notebooks display."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._condyle import Error, _picture_file

# Maximum side of an encoded picture in pixels: `MAX_SHEET` of condyle-draw.
_MOST = 16_000


class Picture(np.ndarray[tuple[int, ...], np.dtype[np.uint8]]):
    """RGB picture of uint8, (H, W, 3), or animation, (T, H, W, 3), with `fps` frames per second.

    Notebooks display a picture as PNG and an animation as GIF. Frames and views of a picture are pictures;
    results of arithmetic are plain arrays.

    >>> film = condyle.open("two_joints.glb").render("bend", np.linspace(0, 1, 5), size=(64, 48))
    >>> film.shape, film[0].shape, film.fps
    ((5, 48, 64, 3), (48, 64, 3), 4.0)
    >>> film[0].save("first.png")
    """

    fps: float

    def __new__(cls, pixels: ArrayLike, fps: float | None = None) -> Picture:
        """Wrap an array of uint8 without a copy. `fps` defaults to that of a picture, else to 25."""
        array = np.asarray(pixels)
        if array.dtype != np.uint8:
            raise Error(f"pixels must be uint8 (0 to 255), got {array.dtype}")
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
        """Write a .png, .gif or .webp file; .gif and .webp can hold animations.

        The file appears only when it is complete.
        """
        # Imported here, because it takes a third of the time to import the package.
        from pathlib import Path

        data, path = self.encode(path), Path(path)
        draft = path.with_name(f"{path.name}.{os.getpid()}.draft")
        try:
            draft.write_bytes(data)
            os.replace(draft, path)
        finally:
            draft.unlink(missing_ok=True)

    def encode(self, name: str | os.PathLike[str]) -> bytes:
        """Return the bytes of a file. The extension of `name` selects the format: .png, .gif or .webp.

        >>> condyle.open("two_joints.glb").render(size=(32, 32)).encode(".png")[:4]
        b'\\x89PNG'
        """
        if self.dtype != np.uint8:
            raise Error(f"pixels must be uint8 (0 to 255), got {self.dtype}")
        # A name such as ".png" has no extension.
        path = f"picture{name}" if str(name).startswith(".") else name
        return _picture_file(np.ascontiguousarray(self), self.fps, path)

    def _is_shown(self, axes: int) -> bool:
        return self.dtype == np.uint8 and self.ndim == axes and self.shape[-1] == 3 and 0 < self.size and max(self.shape[-3:]) <= _MOST

    def _repr_png_(self) -> bytes | None:
        return self.encode(".png") if self._is_shown(3) else None

    def _repr_html_(self) -> str | None:
        if not self._is_shown(4):
            return None
        import base64

        return f'<img src="data:image/gif;base64,{base64.b64encode(self.encode(".gif")).decode()}"/>'
