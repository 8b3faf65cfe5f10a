// Draws a model by three.js alone, as a character, and as a crowd of one. The pictures must be equal.

import { GLTFLoader } from 'three/addons/loaders/GLTFLoader.js';
import { difference } from './pictures.js';

/**
 * A function of a path and a part of the first clip, which returns the shares of the pixels that differ: character,
 * crowd, and background from three.js's picture. `draw` renders a scene, and returns its pixels.
 */
export function comparison(THREE, { CondyleCharacter, CondyleCrowd }, condyle, draw) {
    const bytesOf = async (path) => (await fetch(path)).arrayBuffer();

    async function load(path) {
        const bytes = await bytesOf(path);
        const model = await condyle.open(bytes, { name: path });
        const gltf = await new GLTFLoader().parseAsync(bytes, path.slice(0, path.lastIndexOf('/') + 1));
        return { model, gltf };
    }

    /** Puts a ball into the hand of the last joint. */
    function carry({ model, gltf }, [, , , radius]) {
        const { node } = model.joints.at(-1);
        const hand = [...gltf.parser.associations].find(([it, value]) => it.isObject3D && value?.nodes === node)[0];
        const ball = new THREE.Mesh(new THREE.SphereGeometry(radius / 12), new THREE.MeshStandardMaterial());
        ball.position.y = radius / 8;
        hand.add(ball);
    }

    async function picture(object, [x, y, z, radius]) {
        const scene = new THREE.Scene();
        scene.background = new THREE.Color(0x406080);
        const light = new THREE.DirectionalLight(0xffffff, 2);
        light.position.set(x - radius, y + 2 * radius, z + radius);
        light.target.position.set(x, y, z);
        const frustum = { left: -radius, right: radius, top: radius, bottom: -radius, near: 0.1 * radius, far: 5 * radius };
        Object.assign(light.shadow.camera, frustum);
        const ground = new THREE.Mesh(new THREE.PlaneGeometry(4 * radius, 4 * radius), new THREE.MeshStandardMaterial());
        ground.rotation.x = -Math.PI / 2;
        ground.position.set(x, y - 0.6 * radius, z);
        scene.add(object, ground, light, light.target, new THREE.HemisphereLight(0xffffff, 0x202020, 2));
        scene.traverse((it) => Object.assign(it, { castShadow: it !== ground, receiveShadow: it === ground }));
        const camera = new THREE.PerspectiveCamera(40, 1, radius / 50, radius * 20);
        camera.position.set(x + radius * 1.5, y + radius, z + radius * 2.5);
        camera.lookAt(x, y, z);
        const pixels = await draw(scene, camera);
        scene.remove(object);
        return pixels;
    }

    return async (path, part) => {
        const own = await load(path);
        const { clips } = own.model;
        const seconds = clips[0].start + clips[0].seconds * part;
        const sphere = own.model.sphere(0);
        const mixer = new THREE.AnimationMixer(own.gltf.scene);
        mixer.clipAction(own.gltf.animations[0]).play();
        mixer.setTime(seconds);
        const wanted = await picture(own.gltf.scene, sphere);
        carry(own, sphere);
        const carrying = await picture(own.gltf.scene, sphere);
        const one = await load(path);
        const pose = one.model.pose();
        const character = new CondyleCharacter(one.gltf, one.model, pose);
        carry(one, sphere);
        character.pose.sample(0, seconds);
        one.gltf.scene.position.x = 5;
        character.update();
        // A character that does not play can be moved.
        one.gltf.scene.position.x = 0;
        const asCharacter = await picture(one.gltf.scene, sphere);
        const ray = new THREE.Raycaster(new THREE.Vector3(sphere[0], sphere[1], sphere[2] + sphere[3] * 2), new THREE.Vector3(0, 0, -1));
        const hit = character.raycast(ray) !== undefined;
        character.dispose();
        // The pose is the caller's.
        pose.rest().dispose();
        const many = await load(path);
        const crowd = new CondyleCrowd(many.gltf, many.model, 3);
        for (const at of [1, 2]) crowd.setMatrixAt(at, new THREE.Matrix4().makeTranslation(0, 1e6, 0));
        crowd.crowd.instances[1] = seconds;
        crowd.update();
        const asCrowd = await picture(crowd.object, sphere);
        const empty = await picture(new THREE.Group(), sphere);
        crowd.dispose();
        return { character: difference(carrying, asCharacter), carried: difference(wanted, carrying), crowd: difference(wanted, asCrowd), drawn: difference(wanted, empty), hit };
    };
}
