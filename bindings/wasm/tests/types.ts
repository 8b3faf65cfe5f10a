// The types accept this program: it is compiled, and not run.

import { CondyleError, init, type Hit, type MeshPose } from 'condyle';
import { init as initEncoder } from 'condyle/encode';
import { init as initPlayer } from 'condyle/player';
import { CondyleCharacter, CondyleCrowd } from 'condyle/three';
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
        const hit: Hit | undefined = pose.sample(0, 0.5).blend(0, 1, 0.5, model.mask('hand')).raycast([0, 0, 0], [0, 0, 1]);
        pose.place(model.feet(0, [{ hip: 1, knee: 2, foot: 3 }]), (x, y, z) => ({ height: x + z, normal: [0, y, 0] }), {
            seconds: 1 / 60,
        });
        new CondyleCharacter(gltf, model, pose).update();
        new CondyleCrowd(gltf, model, 500).update(1 / 60);
        return hit?.position[0];
    } catch (error) {
        if (error instanceof CondyleError) return error.problems.length;
        throw error;
    }
}

export async function compress(bytes: Uint8Array): Promise<Uint8Array> {
    const condyle = await initEncoder();
    const model = await condyle.open(bytes, { name: 'a.glb' });
    const { data, worst } = model.encode(0, { millimetres: 0.5 });
    model.addClip(`worst at ${worst.seconds}`, data, { replace: 0 });
    return model.save({ error: 1e-3 });
}
