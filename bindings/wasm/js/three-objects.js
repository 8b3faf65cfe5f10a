// Objects of GLTFLoader, and geometries of those without a skin, for both renderers of three.js.
import * as THREE from 'three';

/** Objects that GLTFLoader made, one for each mesh of the model; undefined for a mesh without one. */
export function objectsOf({ scene, parser }, model) {
    const found = new Map();
    scene.traverse((object) => {
        if (!object.isMesh) return;
        let node;
        for (let it = object; it && node === undefined; it = it.parent) node = parser.associations.get(it)?.nodes;
        found.set(`${node} ${parser.associations.get(object)?.primitives ?? 0}`, object);
    });
    const objects = model.meshes.map(({ node, primitive }) => found.get(`${node} ${primitive}`));
    if (objects.length > 0 && !objects.some((it) => it)) throw new Error('gltf is a clone or of another file: parse it again');
    return objects;
}

/** The geometry in the space of the scene. A mirrored one has its triangles reversed: their front stays outside. */
export function still({ geometry, matrixWorld }) {
    return facing(geometry.clone().applyMatrix4(matrixWorld), matrixWorld);
}

/** A geometry that follows one matrix. */
export function rigid({ geometry, matrixWorld }) {
    const weights = geometry.attributes.position.count * 4;
    const first = new Float32Array(weights).map((_, at) => (at % 4 === 0 ? 1 : 0));
    const own = geometry.clone().setAttribute('skinIndex', new THREE.Uint16BufferAttribute(weights, 4));
    return facing(own.setAttribute('skinWeight', new THREE.Float32BufferAttribute(first, 4)), matrixWorld);
}

function facing(geometry, matrix) {
    const { index, attributes } = geometry;
    const order = index?.array ?? Array(attributes.position.count).keys();
    return matrix.determinant() < 0 ? geometry.setIndex(Array.from(order).reverse()) : geometry;
}
