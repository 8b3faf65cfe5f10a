// The types accept this program: it is compiled, and not run.

import { CondyleError, init, type Hit, type MeshPose } from 'condyle';
import { init as initEncoder } from 'condyle/encode';
import { init as initPlayer } from 'condyle/player';
import { CondyleCharacter as BabylonCharacter, CondyleCrowd as BabylonCrowd } from 'condyle/babylon';
import { CondyleCharacter as PlayCanvasCharacter, CondyleCrowd as PlayCanvasCrowd } from 'condyle/playcanvas';
import { CondyleCharacter, CondyleCrowd } from 'condyle/three';
import { CondyleCrowd as WebGPUCrowd } from 'condyle/three-webgpu';
import { Matrix, type AssetContainer, type Ray } from '@babylonjs/core';
import { Mat4, type Asset, type Entity } from 'playcanvas';
import { Raycaster } from 'three';
import type { GLTF } from 'three/addons/loaders/GLTFLoader.js';

export async function program(bytes: Uint8Array, gltf: GLTF) {
    const player = await initPlayer();
    using crowd = (await player.open(bytes)).crowd(10, { layout: 'rows' });
    crowd.instances[1] = 0.5;
    crowd.update();
    const condyle = await init({ wasm: new URL('https://example.org/condyle.wasm') });
    try {
        const model = await condyle.open({ 'a.gltf': bytes, 'a.bin': bytes.buffer as ArrayBuffer }, { name: 'a.gltf' });
        const pose: MeshPose = model.pose();
        const rate: number = model.toFrames(0, { millimetres: 0.2 }).rate;
        pose.sampleFrames([{ clip: 0, seconds: 1 / rate, weight: 0.5, mask: model.mask(1) }]);
        const hit: Hit | undefined = pose.sample(0, 0.5).blend(0, 1, 0.5, model.mask('hand')).raycast([0, 0, 0], [0, 0, 1]);
        pose.place(model.feet(0, [{ hip: 1, knee: 2, foot: 3 }]), (x, y, z) => ({ height: x + z, normal: [0, y, 0] }), {
            seconds: 1 / 60,
            world: new Float32Array(16),
        }).velocity?.[2];
        // @ts-expect-error An option that does not exist.
        pose.swing(0.1, { wind: [1, 0, 0] });
        const names: string[] = model.eventsPassed(0, 0, 1, { loop: true }).map((it) => it.name);
        if (names.length > 3) throw new CondyleError('of-this-program', 'too many events');
        new CondyleCharacter(gltf, model, pose).update();
        new CondyleCrowd(gltf, model, 500).update(1 / 60);
        new WebGPUCrowd(gltf, model, 500).dispose();
        const small = new CondyleCharacter(gltf, await player.open(bytes));
        small.pose.sample(0, 0.5);
        // @ts-expect-error Poses of condyle/player cast no rays.
        small.raycast(new Raycaster());
        return hit?.position[0];
    } catch (error) {
        if (error instanceof CondyleError) return error.problems.length;
        throw error;
    }
}

export async function engines(bytes: Uint8Array, loaded: AssetContainer, asset: Asset, root: Entity, ray: Ray) {
    const model = await (await init()).open(bytes);
    const normal = new BabylonCharacter(loaded, model).raycast(ray)?.normal;
    const crowd = new BabylonCrowd(loaded, model, 10);
    crowd.setMatrixAt(0, Matrix.Translation(1, 0, 0));
    root.addChild(new PlayCanvasCharacter(asset.resource, model).entity);
    new PlayCanvasCrowd(asset.resource, model, 500).setMatrixAt(0, new Mat4());
    return normal;
}

export async function compress(bytes: Uint8Array): Promise<Uint8Array> {
    const condyle = await initEncoder();
    const model = await condyle.open(bytes, { name: 'a.glb' });
    const { data, worst } = model.encode(0, { millimetres: 0.5 });
    model.addClip(`worst at ${worst.seconds}`, data, { replace: 0 });
    // @ts-expect-error Only `encode` replaces clips.
    model.save({ error: 1e-3, replace: 0 });
    // @ts-expect-error Only clips of `encode` and `save` are searched longer for.
    model.pack({ error: 1e-3, best: true });
    return model.save({ error: 1e-3, best: true });
}
