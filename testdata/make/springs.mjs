// Characters whose hair swings, and how it does in three-vrm: models without meshes, in VRM 1.0 and 0.x.

import { Object3D, REVISION } from "three";
import { GLTFLoader } from "three/addons/loaders/GLTFLoader.js";
import { VRMSpringBoneJoint, VRMSpringBoneLoaderPlugin } from "@pixiv/three-vrm-springbone";

// Version 3.5.5 is older than this three.js, which recomputes a matrix only if its own transform has changed.
// Here it must also be recomputed if the transform of an ancestor has changed.
const update = Object3D.prototype.updateWorldMatrix;
Object3D.prototype.updateWorldMatrix = function (parents, children) {
  update.call(this, parents, children, true);
};
// And it takes the length of a bone from where both ends are, of which the far one still is where the frame before had it: bones of
// what moves would be longer or shorter than they are. The specification has their lengths constant; so the far end is brought along.
const measure = VRMSpringBoneJoint.prototype._calcWorldSpaceBoneLength;
VRMSpringBoneJoint.prototype._calcWorldSpaceBoneLength = function () {
  this.child?.updateWorldMatrix(true, false);
  measure.call(this);
};

const FRAMES = 150, EVERY = 6, RATE = 60;

// Nodes by name, each with its parent's name and its translation.
function nodes(list) {
  const json = { asset: { version: "2.0", generator: "condyle testdata" }, scene: 0, scenes: [{ nodes: [0] }], nodes: [] };
  const at = Object.fromEntries(list.map(([name], index) => [name, index]));
  for (const [name, parent, translation, more = {}] of list) {
    json.nodes.push({ name, translation, ...more });
    if (parent) (json.nodes[at[parent]].children ??= []).push(at[name]);
  }
  return { json, at };
}

const BODY = [
  ["root", null, [0, 0, 0], { scale: [1.1, 1.1, 1.1] }],
  ["chest", "root", [0, 1.2, 0], { rotation: [0, 0.6, 0, 0.8] }],
  ["head", "chest", [0, 0.3, 0], { rotation: [0, -0.6, 0, 0.8] }],
];
// A row of joints that hang down, with a slight bend.
const row = (name, parent, from, count, step) =>
  Array.from({ length: count }, (_, i) => [`${name}${i}`, i ? `${name}${i - 1}` : parent, i ? step : from, { rotation: [0.1 * (i % 2), 0, 0, Math.sqrt(1 - 0.01 * (i % 2))] }]);

function vrm1() {
  const { json, at } = nodes([
    ...BODY,
    ...row("left", "head", [0.1, 0.1, 0], 5, [0.01, -0.09, 0]),
    ...row("right", "head", [-0.1, 0.1, 0], 5, [-0.01, -0.09, 0]),
    ...row("back", "head", [0, 0.05, -0.1], 6, [0, -0.07, -0.02]),
    // On a joint that swings itself.
    ...row("bow", "back1", [0.03, 0, -0.02], 3, [0.05, 0, 0]),
    ["hand", "chest", [0.15, -0.2, 0.1]],
  ]);
  const joints = (name, indices, settings) => indices.map((i) => ({ node: at[`${name}${i}`], ...settings }));
  const far = { sphere: { offset: [0, -10000, 0], radius: 0 } };
  const extended = (shape) => ({ VRMC_springBone_extended_collider: { specVersion: "1.0", shape } });
  const VRMC_springBone = {
    specVersion: "1.0",
    colliders: [
      { node: at.head, shape: { sphere: { offset: [0, 0.02, 0], radius: 0.11 } } },
      { node: at.chest, shape: { capsule: { offset: [-0.2, 0.1, 0], tail: [0.2, 0.1, 0.05], radius: 0.08 } } },
      { node: at.chest, shape: far, extensions: extended({ plane: { offset: [0, 0, -0.12], normal: [0, 0.2, -1] } }) },
      { node: at.head, shape: far, extensions: extended({ sphere: { offset: [0, -0.1, 0], radius: 0.45, inside: true } }) },
      { node: at.chest, shape: far, extensions: extended({ capsule: { offset: [0, 0.5, 0], tail: [0, -0.3, 0], radius: 0.3, inside: true } }) },
      { node: at.hand, shape: { sphere: { offset: [0.02, 0, 0], radius: 0.06 } } },
    ],
    colliderGroups: [{ name: "body", colliders: [0, 1] }, { name: "back", colliders: [2] }, { name: "inside", colliders: [3, 4] }, { name: "hand", colliders: [5] }],
    springs: [
      { name: "left", joints: joints("left", [0, 1, 2, 3, 4], { hitRadius: 0.02, stiffness: 0.6, gravityPower: 0.3, gravityDir: [0, -1, 0], dragForce: 0.4 }), colliderGroups: [0, 3] },
      // The head is the center. No joint is skipped, as three-vrm would take the place of the next one in its parent for that in the first one.
      { name: "right", joints: joints("right", [0, 1, 2, 3, 4], { hitRadius: 0.01, stiffness: 1.2, gravityPower: 0.2, gravityDir: [0.3, -0.9, 0.2], dragForce: 0.25 }), center: at.head, colliderGroups: [0] },
      { name: "back", joints: joints("back", [0, 1, 2, 3, 4, 5], { hitRadius: 0.015, stiffness: 0.3, gravityPower: 0.5, gravityDir: [0, -1, 0], dragForce: 0.5 }), colliderGroups: [1, 2] },
      { name: "bow", joints: joints("bow", [0, 1, 2], { stiffness: 2, dragForce: 0.3 }) },
    ],
  };
  json.extensionsUsed = ["VRMC_springBone", "VRMC_springBone_extended_collider"];
  json.extensions = { VRMC_springBone };
  return json;
}

function vrm0() {
  const { json, at } = nodes([
    ...BODY,
    ...row("left", "head", [0.1, 0.1, 0], 4, [0.01, -0.09, 0]),
    ...row("right", "head", [-0.1, 0.1, 0], 4, [-0.01, -0.09, 0]),
    // A second row that begins at the second joint of the first one.
    ...row("lock", "left1", [0.02, -0.05, 0.02], 3, [0, -0.06, 0.01]),
    ...row("tail", "root", [0, 0.9, -0.1], 5, [0, -0.05, -0.1]),
  ]);
  const secondaryAnimation = {
    boneGroups: [
      { comment: "hair", stiffiness: 0.7, gravityPower: 0.25, gravityDir: { x: 0, y: -1, z: 0 }, dragForce: 0.4, center: -1, hitRadius: 0.02, bones: [at.left0, at.right0], colliderGroups: [0, 1] },
      { comment: "tail", stiffiness: 1.5, gravityPower: 0, gravityDir: { x: 0, y: -1, z: 0 }, dragForce: 0.3, center: at.root, hitRadius: 0.03, bones: [at.tail0], colliderGroups: [1] },
    ],
    colliderGroups: [
      { node: at.head, colliders: [{ offset: { x: 0, y: 0.02, z: 0.01 }, radius: 0.1 }] },
      { node: at.chest, colliders: [{ offset: { x: 0.12, y: 0.1, z: 0.06 }, radius: 0.1 }, { offset: { x: -0.12, y: 0.1, z: -0.06 }, radius: 0.12 }] },
    ],
  };
  json.extensionsUsed = ["VRM"];
  // three-vrm takes no `center` of -1 for none.
  for (const group of secondaryAnimation.boneGroups) if (group.center < 0) delete group.center;
  json.extensions = { VRM: { specVersion: "0.0", secondaryAnimation } };
  return json;
}

// Motion of a frame: the translation of the root and the rotation of the head, relative to rest.
function motion(frame) {
  const t = frame / RATE, angle = 0.5 * Math.sin(5 * t), nod = 0.3 * (1 - Math.cos(7 * t));
  const head = [0, -0.6, 0, 0.8], [s, c] = [Math.sin(angle / 2), Math.cos(angle / 2)], [u, v] = [Math.sin(nod / 2), Math.cos(nod / 2)];
  const product = (a, b) => [
    a[3] * b[0] + a[0] * b[3] + a[1] * b[2] - a[2] * b[1],
    a[3] * b[1] - a[0] * b[2] + a[1] * b[3] + a[2] * b[0],
    a[3] * b[2] + a[0] * b[1] - a[1] * b[0] + a[2] * b[3],
    a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2],
  ];
  const turned = product(head, product([0, s, 0, c], [u, 0, 0, v]));
  return { root: [Math.sin(2 * t), 0.1 * (1 - Math.cos(9 * t)), 1.5 * t * t].map(Math.fround), head: turned.map(Math.fround) };
}

async function answers(name, json) {
  const loader = new GLTFLoader();
  loader.register((parser) => new VRMSpringBoneLoaderPlugin(parser));
  const gltf = await loader.parseAsync(JSON.stringify(json), "");
  const manager = gltf.userData.vrmSpringBoneManager, numbers = [];
  // The loader reads the rest state from matrices that are not computed yet.
  gltf.scene.updateMatrixWorld(true);
  manager.setInitState();
  const objects = await gltf.parser.getDependencies("node");
  const swinging = [...manager.joints].map((joint) => objects.indexOf(joint.bone)).filter((node) => node >= 0).sort((a, b) => a - b);
  for (let frame = 0; frame <= FRAMES; frame++) {
    const { root, head } = motion(frame);
    numbers.push(...root, ...head);
    if (frame === 0) continue;
    objects[0].position.set(...root);
    objects[2].quaternion.set(...head);
    manager.update(1 / RATE);
    if (frame % EVERY === 0) for (const node of swinging) numbers.push(...objects[node].quaternion.toArray());
  }
  const manifest = { format: 1, model: `${name}.gltf`, three: `0.${REVISION}.0`, rate: RATE, frames: FRAMES, every: EVERY, swinging };
  return { [`${name}.gltf`]: `${JSON.stringify(json, null, 1)}\n`, [`${name}.ref.json`]: `${JSON.stringify(manifest)}\n`, [`${name}.ref.bin`]: new Uint8Array(Float32Array.from(numbers).buffer) };
}

// The files, by name.
export async function springs() {
  return { ...(await answers("vrm1", vrm1())), ...(await answers("vrm0", vrm0())) };
}
