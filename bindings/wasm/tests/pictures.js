// Comparison of pictures, for the tests of the adapters.

export const SIZE = 200;

/** Share of the pixels that differ visibly. */
export function difference(a, b) {
    let count = 0;
    for (let at = 0; at < a.length; at += 4) {
        if ([0, 1, 2].some((channel) => Math.abs(a[at + channel] - b[at + channel]) > 8)) count++;
    }
    return count / (a.length / 4);
}

/** Pixels of the canvas. */
export function pixelsOf(gl) {
    const pixels = new Uint8Array(4 * SIZE * SIZE);
    gl.readPixels(0, 0, SIZE, SIZE, gl.RGBA, gl.UNSIGNED_BYTE, pixels);
    return pixels;
}
