// What `condyle` has in addition to the player: meshes, rays, solvers.

import { CondyleError, Owner, PlayerModel, Pose, RAW, View } from './core.js';

export class Model extends PlayerModel {
    get height() {
        const box = this[RAW].bounds(undefined);
        return box.length > 0 ? box[4] - box[1] : 0;
    }

    get hasSprings() {
        return this[RAW].has_springs();
    }

    setUnit(metres) {
        this[RAW].set_unit(metres);
    }

    motion(clip, from, to, { loop = false } = {}) {
        const [x, y, z, w, ...translation] = this[RAW].motion(clip, from, to, loop);
        return { rotation: [x, y, z, w], translation };
    }

    geometry(mesh) {
        const raw = new this.build.Geometry(this[RAW], mesh);
        try {
            return {
                positions: raw.positions(),
                normals: raw.normals(),
                indices: raw.indices(),
                skinIndices: raw.skin_indices(),
                skinWeights: raw.skin_weights(),
            };
        } finally {
            raw.free();
        }
    }

    sphere(clip) {
        const clips = clip !== undefined ? [clip] : this.clips.length > 0 ? [...this.clips.keys()] : [undefined];
        const box = [Infinity, Infinity, Infinity, -Infinity, -Infinity, -Infinity];
        for (const clip of clips) {
            this[RAW].bounds(clip).forEach((v, at) => (box[at] = at < 3 ? Math.min(box[at], v) : Math.max(box[at], v)));
        }
        if (box[0] > box[3]) return [0, 0, 0, 0];
        const { center, radius } = around(box);
        // The clip is looked at 65 times only.
        return [...center, radius * 1.02];
    }

    feet(pelvis, legs) {
        const joints = legs.flatMap(({ hip, knee, foot, toe = 65535 }) => [hip, knee, foot, toe]);
        return new Feet(new this.build.Feet(this[RAW], pelvis, Uint16Array.from(joints)));
    }

    pose() {
        return new MeshPose(this);
    }

    warmPose(pose, clip, time) {
        super.warmPose(pose, clip, time);
        const kinds = [(it) => it.skin >= 0, (it) => it.skin < 0].map((is) => this.meshes.findIndex(is));
        for (const mesh of kinds.filter((it) => it >= 0)) pose.skin(mesh);
        pose.bounds();
    }
}

function around([x, y, z, X, Y, Z]) {
    const radius = Math.hypot(X - x, Y - y, Z - z) / 2;
    return { min: [x, y, z], max: [X, Y, Z], center: [(x + X) / 2, (y + Y) / 2, (z + Z) / 2], radius };
}

class Feet extends Owner {
    reset() {
        this[RAW].reset();
    }
}

export class MeshPose extends Pose {
    constructor(model) {
        super(model);
        const { memory, meshes } = model;
        this.posed = meshes.map((mesh) => new PosedMesh(memory, mesh));
        this.weights = meshes.map(() => new View(memory));
        this.results = new View(memory, Float64Array);
        this.dual = false;
    }

    /** Numbers of the last result. */
    result(failed) {
        this.check(failed);
        return this.results.at(this[RAW].out(), this[RAW].out_count());
    }

    reached(failed) {
        const [distance, angle, iterations, met] = this.result(failed);
        return { distance, angle, iterations, met: met === 1 };
    }

    get skinning() {
        return this.dual ? 'dual' : 'linear';
    }

    set skinning(method) {
        this.dual = method === 'dual';
        this[RAW].set_dual(this.dual);
    }

    get methods() {
        return this.owner.build.methods().split(' ');
    }

    interpolate(clip, seconds, t, method) {
        return this.check(this[RAW].interpolate(clip, seconds, t, method));
    }

    skin(mesh) {
        const address = this[RAW].skin(mesh);
        if (address === 0) throw this[RAW].error();
        const posed = this.posed[mesh];
        posed.address = address;
        posed.normalAddress = this[RAW].normals(mesh);
        posed.normalCount = this[RAW].normal_count(mesh);
        return posed;
    }

    morphs(mesh) {
        return this.weights[mesh].at(this[RAW].morphs(mesh), this.owner.meshes[mesh].morphTargets);
    }

    raycast(origin, direction, max = Infinity) {
        const hit = this.result(this[RAW].raycast(ray(origin, direction, max)));
        if (hit.length === 0) return undefined;
        const [mesh, triangle, distance, joint] = hit;
        const vector = (at) => Array.from(hit.subarray(at, at + 3));
        return { mesh, triangle, distance, joint, position: vector(4), normal: vector(7), weights: vector(10) };
    }

    raycastHitboxes(origin, direction, max = Infinity) {
        const hit = this.result(this[RAW].raycast_hitboxes(ray(origin, direction, max)));
        if (hit.length === 0) return undefined;
        const [joint, distance, ...position] = hit;
        return { joint, distance, position };
    }

    bounds() {
        const box = this.result(this[RAW].bounds());
        return around(box.length > 0 ? box : [0, 0, 0, 0, 0, 0]);
    }

    errors(other) {
        if (other === this) throw new CondyleError('same-pose', 'a pose has no errors against itself');
        const [max, mesh, vertex] = this.result(this[RAW].errors(other[RAW]));
        const { meshes } = this.owner;
        const values = (mesh) => this.weights[mesh].at(this[RAW].differences_of(mesh), meshes[mesh].vertices);
        return { max, mesh, vertex, values };
    }

    reach(goals, { iterations = 100, shift } = {}) {
        const numbers = [];
        for (const { joint, position, orientation, offset = [0, 0, 0], weight = 1 } of goals) {
            const goal = (kind, [x = 0, y = 0, z = 0, w = 0] = []) => {
                numbers.push(joint, kind, x, y, z, w, ...offset, weight);
            };
            if (position || !orientation) goal(position ? 0 : 2, position);
            if (orientation) goal(1, orientation);
        }
        const { joint, ease = 1 } = shift ?? {};
        return this.reached(this[RAW].reach(Float32Array.from(numbers), iterations, joint, ease));
    }

    twoBone(joints, target, { pole, weight = 1, soft = 0 } = {}) {
        const vectors = Float32Array.from(pole ? [...target, ...pole] : target);
        return this.reached(this[RAW].two_bone(Uint16Array.from(joints), vectors, weight, soft));
    }

    aim(joint, axis, target, { weight = 1 } = {}) {
        return this.reached(this[RAW].aim(joint, Float32Array.from([...axis, ...target]), weight));
    }

    place(feet, ground, { seconds, weight = 1, clip = -1, time = 0, loop = true }) {
        const asked = { below: typeof ground === 'function' ? ground : plane(ground), error: undefined };
        const failed = feet[RAW].place(this[RAW], asked, seconds, weight, clip, time, loop);
        if (asked.error) throw asked.error;
        return this.reached(failed);
    }

    swing(seconds, { force = [0, 0, 0], weight = 1 } = {}) {
        return this.check(this[RAW].swing(seconds, Float32Array.from(force), weight));
    }

    resetSprings() {
        this[RAW].reset_springs();
    }
}

class PosedMesh {
    constructor(memory, mesh) {
        this.views = [new View(memory), new View(memory)];
        this.count = 3 * mesh.vertices;
    }

    get positions() {
        return this.views[0].at(this.address, this.count);
    }

    get normals() {
        return this.views[1].at(this.normalAddress, 3 * this.normalCount);
    }
}

function ray(origin, direction, max) {
    return Float32Array.from([...origin, ...direction, max]);
}

function plane({ point, normal }) {
    const [x, y, z] = normal;
    return (px, py, pz) => ({ height: point[1] - (x * (px - point[0]) + z * (pz - point[2])) / y, normal });
}
