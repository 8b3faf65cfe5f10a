// Plays models of condyle on the objects of three.js. `three.d.ts` documents it.
import * as THREE from 'three';
import { changes, crowdOf, raycast } from './adapter.js';
import { objectsOf, rigid, skeletonOf, still } from './three-objects.js';

export class CondyleCharacter {
    constructor(gltf, model, pose) {
        this.pose = pose ?? model.pose();
        this.root = gltf.scene;
        const { objects, nodes } = objectsOf(gltf, model);
        this.objects = objects;
        this.skeletons = model.skins.map(({ joints }, skin) => skeletonOf(() => this.pose.palette(skin), 4 * joints.length, 1));
        this.own = pose ? this.skeletons : [...this.skeletons, this.pose];
        this.morphs = model.meshes.map((_, mesh) => changes(() => this.pose.morphs?.(mesh)));
        this.sphere = this.pose.bounds && new THREE.Sphere();
        // Joints of the nodes that follow the pose, and with them whatever is attached to them.
        const followers = new Map();
        for (const [joint, { node }] of model.joints.entries()) if (nodes.has(node)) followers.set(nodes.get(node), joint);
        for (const [at, object] of objects.entries()) {
            const { skin, joint } = model.meshes[at];
            if (object && skin < 0 && joint >= 0) followers.set(object, joint);
            if (!object || skin < 0) continue;
            // Vertices are posed in the space of the scene, whatever the node.
            followers.delete(object);
            Object.assign(object, { matrixWorld: this.root.matrixWorld, matrixWorldAutoUpdate: false });
            Object.assign(object, { skeleton: this.skeletons[skin], bindMode: 'detached' });
            for (const matrix of [object.bindMatrix, object.bindMatrixInverse]) matrix.identity();
            // Without a sphere, three.js would skin the mesh on the CPU.
            Object.assign(object, this.sphere ? { boundingSphere: this.sphere } : { frustumCulled: false });
        }
        this.nodes = [...followers].map(([node, joint]) => ({ node, joint, matrix: new THREE.Matrix4() }));
        for (const { node } of this.nodes) Object.assign(node, { matrixAutoUpdate: false, matrixWorldAutoUpdate: false });
        this.root.updateMatrixWorld = (force) => {
            this.root.updateWorldMatrix(false, false);
            this.follow();
            THREE.Group.prototype.updateMatrixWorld.call(this.root, force);
        };
        this.update();
    }

    update() {
        for (const skeleton of this.skeletons) skeleton.fill();
        const matrices = this.pose.model;
        for (const { joint, matrix } of this.nodes) matrix.fromArray(matrices, 16 * joint);
        for (const [at, object] of this.objects.entries()) {
            const influences = object?.morphTargetInfluences;
            if (influences) this.morphs[at]((weight, target) => (influences[target] = weight));
        }
        const bounds = this.pose.bounds?.();
        if (bounds) this.sphere.set(this.sphere.center.fromArray(bounds.center), bounds.radius);
        this.root.updateWorldMatrix(true, false);
        this.follow();
    }

    /** Moves the nodes of joints to where they are in the pose. */
    follow() {
        for (const { node, matrix } of this.nodes) node.matrixWorld.multiplyMatrices(this.root.matrixWorld, matrix);
    }

    raycast({ ray, far }) {
        const { matrixWorld } = this.root;
        const hit = raycast(this.pose, ray, matrixWorld.elements, matrixWorld.clone().invert().elements, far);
        return hit && { ...hit, object: this.objects[hit.mesh] };
    }

    dispose() {
        for (const it of this.own) it.dispose();
    }
}

/** A material that finds the matrices of its instance in the texture. */
function instanced(material, stride, offset) {
    const own = material.clone();
    const [chunk, from] = [THREE.ShaderChunk?.skinning_pars_vertex, 'int j = int( i ) * 4;'];
    if (!chunk?.includes(from)) {
        const text = `condyle/three does not know the shaders of three.js r${THREE.REVISION}`;
        throw new Error(`${text}; for WebGPURenderer, import condyle/three-webgpu`);
    }
    const to = chunk.replace(from, `int j = ( gl_InstanceID * ${stride} + ${offset} + int( i ) ) * 4;`);
    own.onBeforeCompile = (shader, renderer) => {
        material.onBeforeCompile(shader, renderer);
        shader.vertexShader = shader.vertexShader.replace('#include <skinning_pars_vertex>', to);
    };
    own.customProgramCacheKey = () => `condyle ${stride} ${offset} ${material.customProgramCacheKey()}`;
    return own;
}

export class CondyleCrowd {
    constructor(gltf, model, count) {
        const moved = objectsOf(gltf, model).objects.map((object, at) => ({ object, ...model.meshes[at] }));
        const drawn = moved.filter(({ object }) => object);
        this.source = crowdOf(model, drawn, count);
        const { crowd, stride, width, height, offsetOf } = this.source;
        this.crowd = crowd;
        this.skeleton = skeletonOf(() => crowd.palettes, width, height);
        this.places = new THREE.InstancedBufferAttribute(new Float32Array(16 * count), 16);
        this.object = new THREE.Group();
        this.own = [this.skeleton, crowd];
        gltf.scene.updateMatrixWorld(true);
        const inverse = gltf.scene.matrixWorld.clone().invert();
        this.meshes = drawn.map((it) => {
            const { object, skin, joint } = it;
            const { geometry, material } = object;
            const fixed = inverse.clone().multiply(object.matrixWorld);
            const own = skin < 0 && (joint < 0 ? still(geometry, fixed) : rigid(geometry, fixed));
            if (own) this.own.push(own);
            const moves = skin >= 0 || joint >= 0;
            const mesh = moves ? this.meshOf(own || geometry, material, count, stride, offsetOf(it)) : new THREE.InstancedMesh(own, material, count);
            if (moves) this.own.push(mesh.material);
            const { name, castShadow, receiveShadow, renderOrder, visible } = object;
            mesh.layers.mask = object.layers.mask;
            // All instances have the object's morph weights.
            const morphTargetInfluences = object.morphTargetInfluences?.slice();
            return Object.assign(mesh, { name, castShadow, receiveShadow, renderOrder, visible, morphTargetInfluences });
        });
        const shared = { instanceMatrix: this.places, frustumCulled: false };
        for (const mesh of this.meshes) this.object.add(Object.assign(mesh, shared));
        for (let at = 0; at < count; at++) this.setMatrixAt(at, new THREE.Matrix4());
        this.update();
    }

    meshOf(geometry, material, count, stride, offset) {
        const mesh = new THREE.InstancedMesh(geometry, instanced(material, stride, offset), count);
        const depth = instanced(new THREE.MeshDepthMaterial({ depthPacking: THREE.RGBADepthPacking }), stride, offset);
        const distance = instanced(new THREE.MeshDistanceMaterial(), stride, offset);
        Object.assign(mesh, { customDepthMaterial: depth, customDistanceMaterial: distance });
        this.own.push(mesh, depth, distance);
        // The shader of a SkinnedMesh, without its bones.
        const [bindMatrix, bindMatrixInverse] = [new THREE.Matrix4(), new THREE.Matrix4()];
        return Object.assign(mesh, { isSkinnedMesh: true, skeleton: this.skeleton, bindMatrix, bindMatrixInverse });
    }

    setMatrixAt(index, matrix) {
        matrix.toArray(this.places.array, 16 * index);
        this.places.needsUpdate = true;
    }

    update(seconds) {
        this.source.update(seconds);
        this.skeleton.fill();
    }

    dispose() {
        for (const it of this.own) it.dispose();
    }
}
