// Draws a model by Babylon.js alone, as a character, and as a crowd. The pictures must be equal.

import { FreeCamera } from '@babylonjs/core/Cameras/freeCamera.js';
import { Ray } from '@babylonjs/core/Culling/ray.js';
import { Engine } from '@babylonjs/core/Engines/engine.js';
import { HemisphericLight } from '@babylonjs/core/Lights/hemisphericLight.js';
import { LoadAssetContainerAsync } from '@babylonjs/core/Loading/sceneLoader.js';
import { Color3, Color4 } from '@babylonjs/core/Maths/math.color.js';
import { Matrix, Vector3 } from '@babylonjs/core/Maths/math.vector.js';
import { Scene } from '@babylonjs/core/scene.js';
import '@babylonjs/loaders/glTF/2.0/index.js';
import { init } from 'condyle';
import { CondyleCharacter, CondyleCrowd } from 'condyle/babylon';
import { SIZE, difference, pixelsOf } from './pictures.js';

const canvas = Object.assign(document.createElement('canvas'), { width: SIZE, height: SIZE });
document.body.append(canvas);
const engine = new Engine(canvas, false, { preserveDrawingBuffer: true });
const condyle = await init();

/** A scene with a camera and a light. */
function stage([x, y, z, radius], { rightHanded, flat }) {
    const scene = new Scene(engine);
    scene.useRightHandedSystem = rightHanded;
    scene.clearColor = new Color4(0.25, 0.4, 0.5, 1);
    // The loader turns files by half a turn and mirrors them, which is a mirrored x axis.
    const side = rightHanded ? 1 : -1;
    const camera = new FreeCamera('camera', new Vector3(side * (x + radius * 1.5), y + radius, z + radius * 2.5), scene);
    Object.assign(camera, { fov: 0.7, minZ: radius / 50, maxZ: radius * 20 });
    camera.setTarget(new Vector3(side * x, y, z));
    const light = new HemisphericLight('light', new Vector3(0, 1, 0), scene);
    if (flat) Object.assign(light, { groundColor: Color3.White(), specular: Color3.Black() });
    return scene;
}

async function drawn(scene) {
    await scene.whenReadyAsync();
    scene.render();
    return pixelsOf(engine._gl);
}

/** Shares of the pixels that differ from the picture of Babylon.js. A flat light does not depend on normals. */
globalThis.pictures = async (path, part, { rightHanded = false, flat = false } = {}) => {
    const bytes = new Uint8Array(await (await fetch(path)).arrayBuffer());
    const model = await condyle.open(bytes, { name: path });
    const sphere = model.sphere(0);
    const seconds = model.clips[0].start + model.clips[0].seconds * part;
    const picture = async (make) => {
        const scene = stage(sphere, { rightHanded, flat });
        const container = await LoadAssetContainerAsync(bytes, scene, { pluginExtension: '.glb' });
        const { hit, dispose } = (await make?.(container, scene)) ?? {};
        const pixels = await drawn(scene);
        dispose?.();
        scene.dispose();
        return { hit, pixels };
    };
    const wanted = await picture((container) => {
        container.addAllToScene();
        const [animation] = container.animationGroups;
        animation.start();
        animation.goToFrame(seconds * animation.targetedAnimations[0].animation.framePerSecond);
        animation.pause();
    });
    const character = await picture((container, scene) => {
        const it = new CondyleCharacter(container, model);
        it.object.position.x = 5;
        it.object.computeWorldMatrix(true);
        it.pose.sample(0, seconds);
        it.update();
        const [x, y, z, radius] = sphere;
        const from = new Vector3((rightHanded ? x : -x) + 5, y, z + 2 * radius);
        const hit = it.raycast(new Ray(from, new Vector3(0, 0, -1)));
        scene.activeCamera.position.x += 5;
        return { hit, dispose: () => it.dispose() };
    });
    const crowd = await picture((container) => {
        const it = new CondyleCrowd(container, model, 3);
        it.setMatrixAt(0, Matrix.Translation(0, 1e6, 0));
        it.setMatrixAt(1, Matrix.Translation(0, 1e6, 0));
        it.crowd.instances[11] = seconds;
        it.update();
        return { dispose: () => it.dispose() };
    });
    const empty = await picture();
    const compared = (it) => difference(wanted.pixels, it.pixels);
    return { character: compared(character), crowd: compared(crowd), drawn: compared(empty), hit: Boolean(character.hit) };
};

globalThis.result = Promise.resolve('ready');
