// Opens a character: poses from Condyle, geometry and materials from three.js's loader where it can.

import { BufferAttribute, BufferGeometry, Color, LoadingManager, Matrix4, MeshStandardMaterial } from 'three';
import { GLTFLoader } from 'three/addons/loaders/GLTFLoader.js';

/** A picture of one white pixel. */
const EMPTY = 'data:image/gif;base64,R0lGODdhAQABAIAAAP///////ywAAAAAAQABAAACAkQBADs=';

/**
 * What is drawn of a mesh.
 *
 * @typedef {object} Part
 * @property {import('condyle').Mesh} mesh
 * @property {import('three').BufferGeometry} geometry
 * @property {import('three').Material} material
 * @property {import('three').Matrix4 | undefined} place of a mesh that no joint moves
 * @property {boolean} isWhole Whether the geometry has the morph targets too.
 */

/**
 * An opened file.
 *
 * @typedef {object} Character
 * @property {string} name
 * @property {import('./files.js').Source} source
 * @property {import('condyle').Model} model
 * @property {any} gltf Result of GLTFLoader, if it could read the file.
 * @property {Part[]} parts
 * @property {string[]} missing Names of images that were not opened with the file.
 */

/**
 * @param {import('condyle').Condyle<import('condyle').Model>} condyle
 * @param {import('./files.js').Source} source
 * @returns {Promise<Character>}
 */
export async function load(condyle, source) {
    const model = await condyle.open(source.files, { name: source.name });
    // The library has checked the file. What only three.js refuses is drawn without its materials.
    const missing = [];
    const data = dataOf(source, model);
    const isDrawn = data !== undefined && model.meshes.length > 0;
    const gltf = isDrawn ? await document(source, missing, data).catch(() => undefined) : undefined;
    const objects = gltf ? objectsOf(gltf) : new Map();
    const parts = model.meshes.map((mesh, index) => {
        const object = objects.get(`${mesh.node} ${mesh.primitive}`);
        if (object?.geometry.attributes.position.count === mesh.vertices) return drawn(mesh, object);
        return plain(model, mesh, index);
    });
    return { name: source.name, source, model, gltf, parts, missing };
}

/** Releases everything of a character. @param {Character} character */
export function release({ model, parts }) {
    model.dispose();
    for (const { geometry, material } of parts) {
        geometry.dispose();
        for (const it of Object.values(material)) if (it?.isTexture) it.dispose();
        material.dispose();
    }
}

/**
 * Bytes of the glTF document of a file. A .condyle file may have one.
 *
 * @param {import('./files.js').Source} source
 * @param {import('condyle').Model} model
 */
export function dataOf({ name, files }, model) {
    if (model.document) return files[name].subarray(...model.document);
    return /\.(glb|gltf|vrm)$/i.test(name) ? files[name] : undefined;
}

/**
 * Result of GLTFLoader for a document.
 *
 * @param {import('./files.js').Source} source
 * @param {string[]} missing receives the names of files that are not there
 * @param {Uint8Array} data
 */
export async function document({ name, files }, missing = [], data = files[name]) {
    const manager = new LoadingManager();
    const made = [];
    manager.setURLModifier((address) => {
        if (/^(data|blob):/.test(address)) return address;
        const wanted = decodeURIComponent(address);
        const last = wanted.split('/').pop();
        const found = Object.keys(files).find((it) => it === wanted || it.split('/').pop() === last);
        if (!found) {
            missing.push(wanted);
            // An empty picture, so that no request leaves the page.
            return EMPTY;
        }
        made.push(URL.createObjectURL(new Blob([files[found]])));
        return made.at(-1);
    });
    const loader = new GLTFLoader(manager);
    if (uses(data, 'meshopt_compression')) {
        const { MeshoptDecoder } = await import('three/addons/libs/meshopt_decoder.module.js');
        loader.setMeshoptDecoder(MeshoptDecoder);
    }
    try {
        return await loader.parseAsync(
            data.buffer.slice(data.byteOffset, data.byteOffset + data.byteLength),
            '',
        );
    } finally {
        for (const it of made) URL.revokeObjectURL(it);
    }
}

/** Whether the JSON of a document has a word. */
function uses(data, word) {
    const isBinary = data[0] === 0x67 && data[1] === 0x6c;
    const end = isBinary ? new DataView(data.buffer, data.byteOffset).getUint32(12, true) + 20 : data.length;
    return new TextDecoder().decode(data.subarray(0, end)).includes(word);
}

/** Objects of GLTFLoader by node and primitive. */
function objectsOf(gltf) {
    gltf.scene.updateMatrixWorld(true);
    const found = new Map();
    const visit = (object, node) => {
        const known = gltf.parser.associations.get(object);
        node = known?.nodes ?? node;
        if (object.isMesh && node !== undefined) found.set(`${node} ${known?.primitives ?? 0}`, object);
        for (const child of object.children) visit(child, node);
    };
    for (const scene of gltf.scenes) visit(scene, undefined);
    return found;
}

/** @returns {Part} */
function drawn(mesh, object) {
    const { material } = object;
    // Without surroundings to mirror, metal would be black.
    if (material.metalness > 0.3) material.metalness = 0.3;
    return { mesh, geometry: object.geometry, material, place: object.matrixWorld, isWhole: true };
}

/** @returns {Part} */
function plain(model, mesh, index) {
    const { positions, normals, indices, skinIndices, skinWeights } = model.geometry(index);
    const geometry = new BufferGeometry();
    geometry.setAttribute('position', new BufferAttribute(positions, 3));
    if (normals.length > 0) geometry.setAttribute('normal', new BufferAttribute(normals, 3));
    if (mesh.skin >= 0) {
        geometry.setAttribute('skinIndex', new BufferAttribute(skinIndices, 4));
        geometry.setAttribute('skinWeight', new BufferAttribute(skinWeights, 4, true));
    }
    geometry.setIndex(new BufferAttribute(indices, 1));
    const [r, g, b, opacity] = mesh.color;
    const material = new MeshStandardMaterial({
        color: new Color(r, g, b),
        opacity,
        transparent: opacity < 1,
        roughness: 0.8,
        flatShading: normals.length === 0,
    });
    return { mesh, geometry, material, place: new Matrix4(), isWhole: mesh.morphTargets === 0 };
}
