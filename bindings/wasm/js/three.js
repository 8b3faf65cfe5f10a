// Plays models of condyle on the objects of three.js. `three.d.ts` documents it.
import * as THREE from 'three';
import { crowdOf, raycast } from './adapter.js';

/** Objects that GLTFLoader made, one for each mesh of the model; undefined for a mesh without one. */
function objectsOf({ scene, parser }, model) {
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

/** In place of a skeleton of three.js: a texture that condyle fills. */
function skeletonOf(data, width, height) {
    const boneTexture = new THREE.DataTexture(data, width, height, THREE.RGBAFormat, THREE.FloatType);
    return { boneTexture, bones: [], update() {} };
}

/** Hands the palettes to three.js: another array after the module's memory has grown. */
function upload({ boneTexture }, data) {
    boneTexture.image.data = data;
    boneTexture.needsUpdate = true;
}

export class CondyleCharacter {
    constructor(gltf, model, pose = model.pose()) {
        this.pose = pose;
        this.root = gltf.scene;
        this.objects = objectsOf(gltf, model);
        this.meshes = model.meshes;
        this.skeletons = model.skins.map(({ joints }, skin) => skeletonOf(pose.palette(skin), 4 * joints.length, 1));
        this.sphere = pose.bounds && new THREE.Sphere();
        for (const [at, object] of this.objects.entries()) {
            const { skin, joint } = this.meshes[at];
            if (object && (skin >= 0 || joint >= 0)) object.matrixWorldAutoUpdate = false;
            if (!object || skin < 0) continue;
            // Vertices are posed in the space of the scene, whatever the node.
            Object.assign(object, { matrixWorld: this.root.matrixWorld, skeleton: this.skeletons[skin], bindMode: 'detached' });
            for (const matrix of [object.bindMatrix, object.bindMatrixInverse]) matrix.identity();
            // Without a sphere, three.js would skin the mesh on the CPU.
            Object.assign(object, this.sphere ? { boundingSphere: this.sphere } : { frustumCulled: false });
        }
        this.update();
    }

    update() {
        const { pose, root } = this;
        root.updateWorldMatrix(true, false);
        this.skeletons.forEach((skeleton, skin) => upload(skeleton, pose.palette(skin)));
        const matrices = pose.model;
        for (const [at, { skin, joint, morphTargets }] of this.meshes.entries()) {
            const influences = morphTargets > 0 && this.objects[at]?.morphTargetInfluences;
            if (influences) pose.morphs?.(at).forEach((weight, target) => (influences[target] = weight));
            if (skin >= 0 || joint < 0) continue;
            this.objects[at]?.matrixWorld.fromArray(matrices, 16 * joint).premultiply(root.matrixWorld);
        }
        const bounds = pose.bounds?.();
        if (bounds) this.sphere.set(this.sphere.center.fromArray(bounds.center), bounds.radius);
    }

    raycast({ ray, far }) {
        const { matrixWorld } = this.root;
        const hit = raycast(this.pose, ray, matrixWorld.elements, matrixWorld.clone().invert().elements, far);
        return hit && { ...hit, object: this.objects[hit.mesh] };
    }

    dispose() {
        for (const { boneTexture } of this.skeletons) boneTexture.dispose();
        this.pose.dispose();
    }
}

/** A material that finds the matrices of its instance in the texture. */
function instanced(material, stride, offset) {
    const own = material.clone();
    own.onBeforeCompile = (shader) => {
        const at = `int j = ( gl_InstanceID * ${stride} + ${offset} + int( i ) ) * 4;`;
        const chunk = THREE.ShaderChunk.skinning_pars_vertex.replace('int j = int( i ) * 4;', at);
        shader.vertexShader = shader.vertexShader.replace('#include <skinning_pars_vertex>', chunk);
    };
    own.customProgramCacheKey = () => `condyle ${stride} ${offset}`;
    return own;
}

/** A geometry that follows one matrix. */
function rigid(geometry) {
    const weights = geometry.attributes.position.count * 4;
    const first = new Float32Array(weights).map((_, at) => (at % 4 === 0 ? 1 : 0));
    const own = geometry.clone().setAttribute('skinIndex', new THREE.Uint16BufferAttribute(weights, 4));
    return own.setAttribute('skinWeight', new THREE.Float32BufferAttribute(first, 4));
}

export class CondyleCrowd {
    constructor(gltf, model, count) {
        const moved = objectsOf(gltf, model).map((object, at) => ({ object, ...model.meshes[at] }));
        const drawn = moved.filter(({ object }) => object);
        this.source = crowdOf(model, drawn, count);
        const { crowd, stride, width, height, offsetOf } = this.source;
        this.crowd = crowd;
        this.skeleton = skeletonOf(crowd.palettes, width, height);
        this.object = new THREE.Group();
        gltf.scene.updateMatrixWorld(true);
        this.meshes = drawn.map((it) => {
            const { object, skin, joint } = it;
            const still = skin < 0 && joint < 0 && object.geometry.clone().applyMatrix4(object.matrixWorld);
            if (still) return new THREE.InstancedMesh(still, object.material, count);
            const offset = offsetOf(it);
            const geometry = skin >= 0 ? object.geometry : rigid(object.geometry);
            const mesh = new THREE.InstancedMesh(geometry, instanced(object.material, stride, offset), count);
            const depth = new THREE.MeshDepthMaterial({ depthPacking: THREE.RGBADepthPacking });
            mesh.customDepthMaterial = instanced(depth, stride, offset);
            // The shader of a SkinnedMesh, without its bones; all instances have the object's morph weights.
            const [bindMatrix, bindMatrixInverse] = [new THREE.Matrix4(), new THREE.Matrix4()];
            mesh.morphTargetInfluences = object.morphTargetInfluences?.slice();
            return Object.assign(mesh, { isSkinnedMesh: true, skeleton: this.skeleton, bindMatrix, bindMatrixInverse });
        });
        this.places = new THREE.InstancedBufferAttribute(new Float32Array(16 * count), 16);
        for (const mesh of this.meshes) Object.assign(mesh, { instanceMatrix: this.places, frustumCulled: false });
        if (this.meshes.length > 0) this.object.add(...this.meshes);
        for (let at = 0; at < count; at++) this.setMatrixAt(at, new THREE.Matrix4());
        this.update();
    }

    setMatrixAt(index, matrix) {
        matrix.toArray(this.places.array, 16 * index);
        this.places.needsUpdate = true;
    }

    update(seconds) {
        upload(this.skeleton, this.source.update(seconds));
    }

    dispose() {
        this.skeleton.boneTexture.dispose();
        this.meshes.forEach(({ customDepthMaterial }) => customDepthMaterial?.dispose());
        this.crowd.dispose();
    }
}
