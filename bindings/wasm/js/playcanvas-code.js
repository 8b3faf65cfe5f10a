// Shader code of `playcanvas.js`.

/** Vertex attributes of PlayCanvas that no file has, for the place of an instance. */
export const LINES = ['ATTR10', 'ATTR11', 'ATTR12', 'ATTR13'];

/** Vertex code of a material for instances: the product of the place and the matrices in the texture. */
export function code({ stride, offsetOf }, it) {
    const blend = ['x', 'y', 'z', 'w'].map((at) => `palette(vertex_boneIndices.${at}) * vertex_boneWeights.${at}`);
    const matrix = it.skin >= 0 ? blend.join(' + ') : it.joint >= 0 ? 'palette(0.0)' : 'condyle_fixed';
    const own = it.skin >= 0 ? ['vertex_boneIndices', 'vertex_boneWeights'] : [];
    return `${[...LINES.map((_, at) => `place${at}`), ...own].map((name) => `attribute vec4 ${name};`).join('\n')}
        uniform highp sampler2D condyle_palettes;
        uniform mat4 condyle_fixed;
        #define COLUMN(n) texelFetch(condyle_palettes, ivec2(at % width + n, at / width), 0)
        mat4 palette(float index) {
            int at = (gl_InstanceID * ${stride} + ${offsetOf(it) ?? 0} + int(index + 0.5)) * 4;
            int width = textureSize(condyle_palettes, 0).x;
            return mat4(COLUMN(0), COLUMN(1), COLUMN(2), COLUMN(3));
        }
        mat4 getModelMatrix() {
            return matrix_model * mat4(place0, place1, place2, place3) * (${matrix});
        }`;
}
