// Draws a model by PlayCanvas alone, as a character, and as a crowd. The pictures must be equal.

import * as pc from 'playcanvas';
import { init } from 'condyle';
import { CondyleCharacter, CondyleCrowd } from 'condyle/playcanvas';
import { SIZE, difference, pixelsOf } from './pictures.js';

const canvas = Object.assign(document.createElement('canvas'), { width: SIZE, height: SIZE });
document.body.append(canvas);
const app = new pc.Application(canvas, { graphicsDeviceOptions: { antialias: false, preserveDrawingBuffer: true } });
app.setCanvasResolution(pc.RESOLUTION_FIXED, SIZE, SIZE);
app.autoRender = false;
app.start();
const condyle = await init();

const camera = new pc.Entity();
camera.addComponent('camera', { clearColor: new pc.Color(0.25, 0.4, 0.5), fov: 40 });
const light = new pc.Entity();
light.addComponent('light', { type: 'directional' });
light.setEulerAngles(45, 30, 0);
for (const it of [camera, light]) app.root.addChild(it);

async function load(url) {
    const asset = new pc.Asset('model', 'container', { url, filename: 'model.glb' });
    app.assets.add(asset);
    app.assets.load(asset);
    await new Promise((resolve, reject) => asset.ready(resolve) || asset.once('error', reject));
    return asset.resource;
}

async function picture(entity, [x, y, z, radius]) {
    Object.assign(camera.camera, { nearClip: radius / 50, farClip: radius * 20 });
    camera.setPosition(x + radius * 1.5, y + radius, z + radius * 2.5);
    camera.lookAt(x, y, z);
    if (entity) app.root.addChild(entity);
    let pixels;
    // Shaders and textures arrive over some frames.
    for (let frame = 0; frame < 3; frame++) {
        app.renderNextFrame = true;
        await new Promise((resolve) => app.once('frameend', resolve));
        pixels = pixelsOf(app.graphicsDevice.gl);
    }
    return pixels;
}

/** Shares of the pixels that differ from the picture of PlayCanvas. A flat light does not depend on normals. */
globalThis.pictures = async (path, part, { flat = false } = {}) => {
    light.enabled = !flat;
    app.scene.ambientLight = flat ? new pc.Color(0.8, 0.8, 0.8) : new pc.Color();
    const model = await condyle.open(await (await fetch(path)).arrayBuffer(), { name: path });
    const sphere = model.sphere(0);
    const seconds = model.clips[0].start + model.clips[0].seconds * part;
    const container = await load(path);
    const own = container.instantiateRenderEntity();
    own.addComponent('anim', { activate: true, speed: 0 });
    own.anim.assignAnimation('clip', container.animations[0].resource);
    own.anim.baseLayer.play('clip');
    app.root.addChild(own);
    own.anim.baseLayer.activeStateCurrentTime = seconds;
    const wanted = await picture(own, sphere);
    own.destroy();
    const character = new CondyleCharacter(container, model);
    character.pose.sample(0, seconds);
    character.update();
    const [x, y, z, radius] = sphere;
    const hit = character.raycast(new pc.Ray(new pc.Vec3(x, y, z + 2 * radius), new pc.Vec3(0, 0, -1)));
    const asCharacter = await picture(character.entity, sphere);
    character.destroy();
    const crowd = new CondyleCrowd(container, model, 3);
    for (const at of [0, 1]) crowd.setMatrixAt(at, new pc.Mat4().setTranslate(0, 1e6, 0));
    crowd.crowd.instances[11] = seconds;
    crowd.update();
    const asCrowd = await picture(crowd.entity, sphere);
    crowd.destroy();
    const empty = await picture(undefined, sphere);
    const compared = (it) => difference(wanted, it);
    return { character: compared(asCharacter), crowd: compared(asCrowd), drawn: compared(empty), hit: Boolean(hit) };
};

globalThis.result = Promise.resolve('ready');
