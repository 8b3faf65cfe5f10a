// Objects of GLTFLoader, geometries of those without a skin, and skeletons, for both renderers of three.js.
import * as THREE from 'three';

/**
 * Objects that GLTFLoader made: one for each mesh of the model, undefined for a mesh without one; and those of nodes,
 * by index.
 */
export function objectsOf({ scene, parser }, model) {
    const [found, nodes] = [new Map(), new Map()];
    scene.traverse((object) => {
        const own = parser.associations.get(object)?.nodes;
        if (own !== undefined && !nodes.has(own)) nodes.set(own, object);
        if (!object.isMesh || !parser.associations.has(object)) return;
        let node;
        for (let it = object; it && node === undefined; it = it.parent) node = parser.associations.get(it)?.nodes;
        found.set(`${node} ${parser.associations.get(object)?.primitives ?? 0}`, object);
    });
    const objects = model.meshes.map(({ node, primitive }) => found.get(`${node} ${primitive}`));
    if (objects.length > 0 && !objects.some((it) => it)) throw new Error('gltf is a clone or of another file: parse it again');
    return { objects, nodes };
}

/** The geometry in the space of the scene. A mirrored one has its triangles reversed: their front stays outside. */
export function still(geometry, matrix) {
    return facing(geometry.clone().applyMatrix4(matrix), matrix);
}

/** A geometry that follows one matrix of a texture. `matrix` is its place at rest. */
export function rigid(geometry, matrix) {
    const weights = geometry.attributes.position.count * 4;
    const first = new Float32Array(weights).map((_, at) => (at % 4 === 0 ? 1 : 0));
    const own = geometry.clone().setAttribute('skinIndex', new THREE.Uint16BufferAttribute(weights, 4));
    return facing(own.setAttribute('skinWeight', new THREE.Float32BufferAttribute(first, 4)), matrix);
}

function facing(geometry, matrix) {
    const { index, attributes } = geometry;
    const order = index?.array ?? Array(attributes.position.count).keys();
    return matrix.determinant() < 0 ? geometry.setIndex(Array.from(order).reverse()) : geometry;
}

/** In place of a skeleton of three.js: a texture that condyle fills. WebGPURenderer reads the array of a short one. */
export function skeletonOf(read, width, height) {
    let data = read();
    // Memory that has grown leaves the array empty. The renderer may read it much later.
    const get = () => (data.length > 0 ? data : (data = read()));
    const boneTexture = new THREE.DataTexture(data, width, height, THREE.RGBAFormat, THREE.FloatType);
    Object.defineProperty(boneTexture.image, 'data', { get });
    const skeleton = {
        boneTexture,
        bones: new Array((width * height) / 4),
        previousBoneMatrices: null,
        previousBoneTexture: null,
        update() {},
        fill() {
            data = read();
            boneTexture.needsUpdate = true;
        },
        dispose: () => boneTexture.dispose(),
    };
    return Object.defineProperty(skeleton, 'boneMatrices', { get });
}
