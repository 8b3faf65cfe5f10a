// Plays models of condyle on the objects of three.js. `three.d.ts` documents it.
import * as THREE from 'three';
import { crowdOf, raycast } from './adapter.js';
import { objectsOf, rigid, still } from './three-objects.js';

/** In place of a skeleton of three.js: a texture that condyle fills. WebGPURenderer reads the array of a short one. */
function skeletonOf(data, width, height) {
    const boneTexture = new THREE.DataTexture(data, width, height, THREE.RGBAFormat, THREE.FloatType);
    const previous = { previousBoneMatrices: null, previousBoneTexture: null };
    const skeleton = { boneTexture, bones: new Array((width * height) / 4), ...previous, update() {} };
    return Object.defineProperty(skeleton, 'boneMatrices', { get: () => boneTexture.image.data });
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

export class CondyleCrowd {
    constructor(gltf, model, count) {
        const moved = objectsOf(gltf, model).map((object, at) => ({ object, ...model.meshes[at] }));
        const drawn = moved.filter(({ object }) => object);
        this.source = crowdOf(model, drawn, count);
        const { crowd, stride, width, height, offsetOf } = this.source;
        this.crowd = crowd;
        this.skeleton = skeletonOf(crowd.palettes, width, height);
        this.places = new THREE.InstancedBufferAttribute(new Float32Array(16 * count), 16);
        this.object = new THREE.Group();
        this.own = [this.skeleton.boneTexture, crowd];
        gltf.scene.updateMatrixWorld(true);
        this.meshes = drawn.map((it) => {
            const { object, skin, joint } = it;
            const { geometry, material } = object;
            const own = skin < 0 && (joint < 0 ? still(object) : rigid(object));
            if (own) this.own.push(own);
            if (own && joint < 0) return new THREE.InstancedMesh(own, material, count);
            const mesh = this.meshOf(own || geometry, material, count, stride, offsetOf(it));
            this.own.push(mesh.material);
            // All instances have the object's morph weights.
            return Object.assign(mesh, { morphTargetInfluences: object.morphTargetInfluences?.slice() });
        });
        const shared = { instanceMatrix: this.places, frustumCulled: false };
        for (const mesh of this.meshes) this.object.add(Object.assign(mesh, shared));
        for (let at = 0; at < count; at++) this.setMatrixAt(at, new THREE.Matrix4());
        this.update();
    }

    meshOf(geometry, material, count, stride, offset) {
        const mesh = new THREE.InstancedMesh(geometry, instanced(material, stride, offset), count);
        const depth = instanced(new THREE.MeshDepthMaterial({ depthPacking: THREE.RGBADepthPacking }), stride, offset);
        this.own.push((mesh.customDepthMaterial = depth));
        // The shader of a SkinnedMesh, without its bones.
        const [bindMatrix, bindMatrixInverse] = [new THREE.Matrix4(), new THREE.Matrix4()];
        return Object.assign(mesh, { isSkinnedMesh: true, skeleton: this.skeleton, bindMatrix, bindMatrixInverse });
    }

    setMatrixAt(index, matrix) {
        matrix.toArray(this.places.array, 16 * index);
        this.places.needsUpdate = true;
    }

    update(seconds) {
        upload(this.skeleton, this.source.update(seconds));
    }

    dispose() {
        for (const it of this.own) it.dispose();
    }
}
