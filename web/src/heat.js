// The error of each vertex as a colour.

import { BufferAttribute, MeshLambertMaterial } from 'three';

import { at } from './dom.js';

/** From no error to the budget: dark to light, so that the order is clear without hues too. */
const RAMP = ['#2b1d5e', '#2f5d8f', '#25918c', '#6cc05a', '#f4e32a'];
/** Above the budget. */
const ABOVE = '#e0301e';

const uniforms = { heatBudget: { value: 1 } };

const glsl = (hex) => {
    const [r, g, b] = [1, 3, 5].map((at) => (parseInt(hex.slice(at, at + 2), 16) / 255) ** 2.2);
    return `vec3(${r.toFixed(4)}, ${g.toFixed(4)}, ${b.toFixed(4)})`;
};

/** Material of all meshes while the error is shown. */
export const material = new MeshLambertMaterial();
material.onBeforeCompile = (shader) => {
    Object.assign(shader.uniforms, uniforms);
    shader.vertexShader = `attribute float heat;\nvarying float vHeat;\n${shader.vertexShader}`.replace(
        '#include <begin_vertex>',
        '#include <begin_vertex>\nvHeat = heat;',
    );
    const parts = RAMP.length - 1;
    const step = (hex, at) =>
        `heatColor = mix(heatColor, ${glsl(hex)}, clamp(part * ${parts}.0 - ${at}.0, 0.0, 1.0));`;
    const steps = RAMP.slice(1).map(step).join('\n');
    shader.fragmentShader =
        `uniform float heatBudget;\nvarying float vHeat;\n${shader.fragmentShader}`.replace(
            '#include <color_fragment>',
            `float part = vHeat / heatBudget;
        vec3 heatColor = ${glsl(RAMP[0])};
        ${steps}
        diffuseColor.rgb = part > 1.0 ? ${glsl(ABOVE)} : heatColor;`,
        );
};

/** Sets the error that the lightest colour stands for, in units of the file. */
export function setBudget(error) {
    uniforms.heatBudget.value = error;
}

/**
 * Writes the errors of a moment into the geometries.
 *
 * @param {import('./load.js').Character} character
 * @param {import('condyle').Errors} errors
 */
export function write({ parts }, errors) {
    parts.forEach(({ geometry, mesh }, index) => {
        if (!geometry.attributes.heat) {
            geometry.setAttribute('heat', new BufferAttribute(new Float32Array(mesh.vertices), 1));
        }
        const { heat } = geometry.attributes;
        heat.array.set(errors.values(index));
        heat.needsUpdate = true;
    });
}

/** Draws the legend. */
export function legend() {
    const context = at('ramp').getContext('2d');
    const colours = context.createLinearGradient(0, 0, 230, 0);
    RAMP.forEach((hex, at) => colours.addColorStop(at / (RAMP.length - 1), hex));
    context.fillStyle = colours;
    context.fillRect(0, 0, 230, 10);
    context.fillStyle = ABOVE;
    context.fillRect(234, 0, 22, 10);
}
