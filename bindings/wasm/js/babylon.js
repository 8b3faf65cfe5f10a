// Plays models of condyle on the meshes of Babylon.js. `babylon.d.ts` documents it.
import { BakedVertexAnimationManager } from '@babylonjs/core/BakedVertexAnimation/bakedVertexAnimationManager.js';
import { Skeleton } from '@babylonjs/core/Bones/skeleton.js';
import { RawTexture } from '@babylonjs/core/Materials/Textures/rawTexture.js';
import { Matrix, Vector3 } from '@babylonjs/core/Maths/math.vector.js';
import { TransformNode } from '@babylonjs/core/Meshes/transformNode.js';
import '@babylonjs/core/Meshes/thinInstanceMesh.js';
import { changes, crowdOf, matricesOf, paired, raycast, rootOf } from './adapter.js';

/** Lets a mesh take its matrices from `offset` on. A rigid mesh has only that one. */
function shift(mesh, { skin, vertices }, offset) {
    if (skin < 0) mesh.setVerticesData('matricesWeights', new Float32Array(4 * vertices).fill(0.25), false, 4);
    if (skin < 0) mesh.setVerticesData('matricesIndices', new Float32Array(4 * vertices), false, 4);
    for (const kind of ['matricesIndices', 'matricesIndicesExtra'].filter((kind) => mesh.isVerticesDataPresent(kind))) {
        mesh.setVerticesData(kind, Float32Array.from(mesh.getVerticesData(kind), (it) => it + offset), false, 4);
    }
}

/** Copies of the loaded meshes, which take their matrices from one texture. */
class Figure {
    constructor({ meshes }, model, sourceOf) {
        const drawn = paired(model, meshes.filter((it) => it.getTotalVertices() > 0), (it) => it.getTotalVertices());
        const [root, scene] = [rootOf(drawn[0].mesh), drawn[0].mesh.getScene()];
        const { width, height, update, offsetOf, crowd } = sourceOf(drawn, scene.getEngine().getCaps().maxTextureSize);
        // For Babylon.js, the rows of the texture are the frames of a baked animation.
        const texture = RawTexture.CreateRGBATexture(update(), width, height, scene, false, false, 1, 1);
        const bakedVertexAnimationManager = Object.assign(new BakedVertexAnimationManager(scene), { texture });
        // Without a skeleton, Babylon.js does not bind the weights. This one has no bones, so it costs nothing.
        const skeleton = new Skeleton('condyle', 'condyle', scene);
        const turn = root.computeWorldMatrix(true).clone(); // The loader mirrors files: Babylon.js is left-handed.
        const [back, object] = [Matrix.Invert(turn), new TransformNode('condyle', scene)];
        const compute = (seconds) => texture.update(update(seconds));
        Object.assign(this, { crowd, texture, skeleton, turn, back, compute, object });
        this.drawn = drawn.map((it) => {
            const mesh = (it.mesh.sourceMesh ?? it.mesh).clone(it.name, this.object, true);
            mesh.makeGeometryUnique();
            if (it.skin >= 0 || it.joint >= 0) {
                shift(mesh, it, offsetOf(it));
                Object.assign(mesh, { skeleton, bakedVertexAnimationManager });
            } else mesh.bakeTransformIntoVertices(it.mesh.computeWorldMatrix(true).multiply(back));
            mesh.morphTargetManager = it.mesh.morphTargetManager?.clone() ?? null;
            mesh.resetLocalMatrix(false);
            return { ...it, mesh: mesh.setPreTransformMatrix(turn) };
        });
    }

    dispose() {
        for (const it of [this.object, this.texture, this.skeleton, this.crowd ?? this.own]) it?.dispose();
    }
}

export class CondyleCharacter extends Figure {
    constructor(gltf, model, given) {
        const pose = given ?? model.pose();
        super(gltf, model, (drawn) => matricesOf(model, drawn, pose));
        const morphs = this.drawn.map(({ index }) => changes(() => pose.morphs?.(index)));
        Object.assign(this, { pose, morphs, own: given ? undefined : pose }).update();
    }

    update() {
        this.compute();
        const bounds = this.pose.bounds?.();
        const [min, max] = ['min', 'max'].map((it) => bounds && Vector3.FromArray(bounds[it]));
        for (const [at, { mesh }] of this.drawn.entries()) {
            mesh.alwaysSelectAsActiveMesh = !bounds;
            if (bounds) mesh.getBoundingInfo().reConstruct(min, max, mesh.computeWorldMatrix());
            this.morphs[at]((it, target) => (mesh.morphTargetManager.getTarget(target).influence = it));
        }
    }

    raycast(ray) {
        const world = this.turn.multiply(this.object.computeWorldMatrix(true));
        return raycast(this.pose, ray, world.asArray(), Matrix.Invert(world).asArray(), ray.length);
    }
}

export class CondyleCrowd extends Figure {
    constructor(gltf, model, count) {
        super(gltf, model, (drawn, limit) => crowdOf(model, drawn, count, { inRow: 1, limit }));
        this.places = new Float32Array(16 * count);
        for (let at = 0; at < count; at++) this.setMatrixAt(at, Matrix.IdentityReadOnly);
        const frames = Float32Array.from({ length: 4 * count }, (_, at) => (at % 4 < 2 ? Math.floor(at / 4) : 0));
        for (const { mesh } of this.drawn) {
            Object.assign(mesh, { alwaysSelectAsActiveMesh: true, doNotSyncBoundingInfo: true });
            mesh.thinInstanceSetBuffer('matrix', this.places, 16, false);
            mesh.thinInstanceSetBuffer('bakedVertexAnimationSettingsInstanced', frames, 4);
        }
    }

    setMatrixAt(index, matrix) {
        this.turn.multiply(matrix).multiply(this.back).copyToArray(this.places, 16 * index);
        this.moved = true;
    }

    update(seconds) {
        this.compute(seconds);
        for (const { mesh } of this.moved ? this.drawn : []) mesh.thinInstanceBufferUpdated('matrix');
        this.moved = false;
    }
}
