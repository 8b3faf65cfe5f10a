// The same models in three.js: loader, mixer and skinning are its own.

import { AnimationMixer, LoopOnce, Matrix3, REVISION, Vector3, Vector4 } from "three";
import { GLTFLoader } from "three/addons/loaders/GLTFLoader.js";

export { REVISION };

// World-space positions of each of `prims`, and their normals by the rule that three.js draws with: "A" for what follows a
// skin, "C" for what follows its node.
export async function pose(file, prims, clip, seconds) {
  // Loaded again each time, so that results of different times are independent.
  const bytes = file.buffer.slice(file.byteOffset, file.byteOffset + file.length);
  const gltf = await new GLTFLoader().parseAsync(bytes, "");
  if (clip >= 0) {
    const mixer = new AnimationMixer(gltf.scene), action = mixer.clipAction(gltf.animations[clip]);
    action.setLoop(LoopOnce);
    action.clampWhenFinished = true;
    action.play();
    mixer.setTime(seconds);
  }
  gltf.scene.updateMatrixWorld(true);
  const out = [];
  for (const prim of prims) {
    const mesh = await gltf.parser.getDependency("node", prim.node);
    const { position, normal } = mesh.geometry.attributes;
    const positions = [], normals = [];
    const upright = new Matrix3().getNormalMatrix(mesh.matrixWorld);
    for (let v = 0; v < position.count; v++) {
      positions.push(mesh.getVertexPosition(v, new Vector3()).applyMatrix4(mesh.matrixWorld).toArray());
      const n = new Vector3().fromBufferAttribute(normal, v);
      if (mesh.isSkinnedMesh) {
        // A vector of length four whose last number is zero is a direction.
        const turned = mesh.applyBoneTransform(v, new Vector4(n.x, n.y, n.z, 0)).applyMatrix4(mesh.matrixWorld);
        n.set(turned.x, turned.y, turned.z);
      } else {
        n.applyMatrix3(upright);
      }
      normals.push(n.normalize().toArray());
    }
    out.push({ positions, normals: { [mesh.isSkinnedMesh ? "A" : "C"]: normals } });
  }
  return out;
}
