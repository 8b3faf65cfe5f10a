// Plays models of condyle on the objects of three.js. `three.d.ts` documents it.

import * as THREE from 'three';

/** Objects that GLTFLoader made, one for each mesh of the model; undefined for a mesh without one. */
function objectsOf({ scene, parser }, model) {
    const found = new Map();
    scene.traverse((object) => {
        if (!object.isMesh) return;
        let node;
        for (let it = object; it && node === undefined; it = it.parent) node = parser.associations.get(it)?.nodes;
        found.set(`${node} ${parser.associations.get(object)?.primitives ?? 0}`, object);
    });
    return model.meshes.map(({ node, primitive }) => found.get(`${node} ${primitive}`));
}

/** In place of a skeleton of three.js: a texture that condyle fills. */
function skeletonOf(data, width, height) {
    const boneTexture = new THREE.DataTexture(data, width, height, THREE.RGBAFormat, THREE.FloatType);
    boneTexture.needsUpdate = true;
    return { boneTexture, bones: [], update() {} };
}

/** Hands the palettes to three.js. The array is another one after the module's memory has grown. */
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
            if (!object || (skin < 0 && joint < 0)) continue;
            object.matrixWorldAutoUpdate = false;
            if (skin < 0) continue;
            // Vertices are posed in the space of the scene, whatever the node.
            object.matrixWorld = this.root.matrixWorld;
            object.skeleton = this.skeletons[skin];
            object.bindMode = 'detached';
            object.bindMatrix.identity();
            object.bindMatrixInverse.identity();
            // Without a sphere, three.js would skin the mesh on the CPU.
            if (this.sphere) object.boundingSphere = this.sphere;
            else object.frustumCulled = false;
        }
        this.update();
    }

    update() {
        const { pose, root } = this;
        root.updateWorldMatrix(true, false);
        this.skeletons.forEach((skeleton, skin) => upload(skeleton, pose.palette(skin)));
        const matrices = pose.model;
        for (const [at, { skin, joint }] of this.meshes.entries()) {
            const object = this.objects[at];
            if (!object || skin >= 0 || joint < 0) continue;
            object.matrixWorld.fromArray(matrices, 16 * joint).premultiply(root.matrixWorld);
        }
        if (this.sphere) {
            const { center, radius } = pose.bounds();
            this.sphere.center.fromArray(center);
            this.sphere.radius = radius;
        }
    }

    raycast({ ray, far }) {
        const { matrixWorld } = this.root;
        const local = ray.clone().applyMatrix4(matrixWorld.clone().invert());
        const hit = this.pose.raycast(local.origin.toArray(), local.direction.toArray());
        if (!hit) return undefined;
        const position = new THREE.Vector3(...hit.position).applyMatrix4(matrixWorld);
        const distance = position.distanceTo(ray.origin);
        if (distance > far) return undefined;
        const normal = new THREE.Vector3(...hit.normal).transformDirection(matrixWorld);
        return { ...hit, distance, position: position.toArray(), normal: normal.toArray(), object: this.objects[hit.mesh] };
    }

    dispose() {
        this.skeletons.forEach(({ boneTexture }) => boneTexture.dispose());
        this.pose.dispose();
    }
}

/** A material that finds the matrices of its instance in the texture. */
function instanced(material, stride, offset) {
    const own = material.clone();
    own.onBeforeCompile = (shader) => {
        const index = `int j = ( gl_InstanceID * ${stride} + ${offset} + int( i ) ) * 4;`;
        const chunk = THREE.ShaderChunk.skinning_pars_vertex.replace('int j = int( i ) * 4;', index);
        shader.vertexShader = shader.vertexShader.replace('#include <skinning_pars_vertex>', chunk);
    };
    own.customProgramCacheKey = () => `condyle ${stride} ${offset}`;
    return own;
}

/** A geometry that follows one matrix. */
function rigid(geometry) {
    const { count } = geometry.attributes.position;
    const own = geometry.clone();
    const weights = new Float32Array(4 * count).map((_, at) => (at % 4 === 0 ? 1 : 0));
    own.setAttribute('skinIndex', new THREE.Uint16BufferAttribute(new Uint16Array(4 * count), 4));
    own.setAttribute('skinWeight', new THREE.Float32BufferAttribute(weights, 4));
    return own;
}

export class CondyleCrowd {
    constructor(gltf, model, count) {
        const moved = objectsOf(gltf, model).map((object, at) => ({ object, ...model.meshes[at] }));
        const drawn = moved.filter(({ object, skin, joint }) => object && (skin >= 0 || joint >= 0));
        const joints = [...new Set(drawn.filter(({ skin }) => skin < 0).map(({ joint }) => joint))];
        const matrices = joints.length + model.skins.reduce((sum, skin) => sum + skin.joints.length, 0);
        // Several instances to a row, because a texture may have few rows.
        const row = matrices * Math.max(1, Math.floor(512 / matrices));
        this.crowd = model.crowd(count, { joints, row });
        const { palettes, stride, offsets } = this.crowd;
        this.skeleton = skeletonOf(palettes, 4 * row, palettes.length / 16 / row);
        this.object = new THREE.Group();
        const places = new THREE.InstancedBufferAttribute(new Float32Array(16 * count), 16);
        this.meshes = drawn.map(({ object, skin, joint }) => {
            const offset = offsets[skin >= 0 ? skin : model.skins.length + joints.indexOf(joint)];
            const geometry = skin >= 0 ? object.geometry : rigid(object.geometry);
            const mesh = new THREE.InstancedMesh(geometry, instanced(object.material, stride, offset), count);
            const depth = new THREE.MeshDepthMaterial({ depthPacking: THREE.RGBADepthPacking });
            mesh.customDepthMaterial = instanced(depth, stride, offset);
            mesh.instanceMatrix = places;
            // The shader of a SkinnedMesh, without its bones.
            const [bindMatrix, bindMatrixInverse] = [new THREE.Matrix4(), new THREE.Matrix4()];
            Object.assign(mesh, { isSkinnedMesh: true, skeleton: this.skeleton, bindMatrix, bindMatrixInverse });
            // InstancedMesh makes none: all instances have the weights of the object.
            mesh.morphTargetInfluences = object.morphTargetInfluences?.slice();
            mesh.frustumCulled = false;
            this.object.add(mesh);
            return mesh;
        });
        const still = new THREE.Matrix4();
        for (let at = 0; at < count; at++) this.setMatrixAt(at, still);
        this.update();
    }

    setMatrixAt(index, matrix) {
        for (const { instanceMatrix } of this.meshes.slice(0, 1)) {
            matrix.toArray(instanceMatrix.array, 16 * index);
            instanceMatrix.needsUpdate = true;
        }
    }

    update(seconds = 0) {
        if (seconds !== 0) this.crowd.advance(seconds);
        this.crowd.update();
        upload(this.skeleton, this.crowd.palettes);
    }

    dispose() {
        this.skeleton.boneTexture.dispose();
        for (const mesh of this.meshes) {
            mesh.material.dispose();
            mesh.customDepthMaterial.dispose();
        }
        this.crowd.dispose();
    }
}
