// Plays models of condyle with the WebGPURenderer of three.js. `three-webgpu.d.ts` documents it.
import * as THREE from 'three/webgpu';
import { Fn, attribute, instanceIndex, int, ivec2, mat3, mat4, normalLocal, positionLocal, tangentLocal, texture, transformNormal } from 'three/tsl';
import { CondyleCrowd as WebGLCrowd } from './three.js';

export { CondyleCharacter } from './three.js';

/** The matrix at `index` of a texture with whole matrices in each row. */
function matrixAt(map, index) {
    const inRow = int(map.image.width / 4);
    const [column, row] = [index.mod(inRow).mul(4).toVar(), index.div(inRow).toVar()];
    return mat4(...[0, 1, 2, 3].map((at) => texture(map).load(ivec2(column.add(at), row))));
}

/** A node material with the properties of a material. */
function nodeMaterialOf(material) {
    if (material.isNodeMaterial) return material.clone();
    const Class = THREE[material.type.replace(/Material$/, 'NodeMaterial')];
    if (!Class) throw new Error(`WebGPURenderer has no node material for ${material.type}`);
    const own = new Class();
    for (const [key, value] of Object.entries(material)) if (key !== 'uuid') own[key] = value;
    return own;
}

export class CondyleCrowd extends WebGLCrowd {
    /** Places of the instances. Shaders read them from a texture, because a uniform buffer holds a thousand at most. */
    get map() {
        const rows = Math.ceil(this.places.count / 512);
        const make = () => new THREE.DataTexture(new Float32Array(rows * 8192), 2048, rows, THREE.RGBAFormat, THREE.FloatType);
        return (this.placesMap ??= make());
    }

    meshOf(geometry, material, count, stride, offset) {
        const { boneTexture } = this.skeleton;
        const instance = int(instanceIndex);
        const own = nodeMaterialOf(material);
        own.positionNode = Fn(() => {
            const [joints, weights] = [attribute('skinIndex', 'uvec4'), attribute('skinWeight', 'vec4')];
            const first = instance.mul(stride).add(offset).toVar();
            const part = (axis) => matrixAt(boneTexture, first.add(int(joints[axis]))).mul(weights[axis]);
            const skin = part('x').add(part('y')).add(part('z')).add(part('w')).toVar();
            const place = matrixAt(this.map, instance).toVar();
            const { normal, tangent } = geometry.attributes;
            if (normal) normalLocal.assign(transformNormal(mat3(skin).mul(normalLocal), place));
            if (tangent) tangentLocal.assign(mat3(place).mul(mat3(skin).mul(tangentLocal)));
            return place.mul(skin.mul(positionLocal)).xyz;
        })();
        // The renderer draws `count` instances of any mesh.
        return Object.assign(new THREE.Mesh(geometry, own), { count });
    }

    setMatrixAt(index, matrix) {
        super.setMatrixAt(index, matrix);
        matrix.toArray(this.map.image.data, 16 * index);
        this.map.needsUpdate = true;
    }

    dispose() {
        this.map.dispose();
        super.dispose();
    }
}
