// Clips of other files for the character on the stage.

import { CondyleError } from 'condyle';

/** A model whose clips move another one: joints of the same name. */
export class Other {
    /**
     * @param {import('condyle').Model} model
     * @param {string} file
     * @param {import('condyle').Model} target
     */
    constructor(model, file, target) {
        this.model = model;
        this.pose = model.pose();
        this.local = new Float32Array(10 * model.joints.length);
        const names = new Map(target.joints.map(({ name }, joint) => [name, joint]));
        /** Pairs: joint of the other model, joint of the target. */
        this.pairs = model.joints.flatMap(({ name }, joint) =>
            names.has(name) ? [[joint, names.get(name)]] : [],
        );
        if (2 * this.pairs.length < model.joints.length) {
            const total = model.joints.length;
            const found = `${this.pairs.length} of its ${total} joints have a name of this character`;
            const text = `the clips of ${file} do not fit: ${found}; open the file alone to see it`;
            throw new CondyleError('other-joints', text);
        }
    }

    /** Writes a moment of a clip into a pose of the target. */
    sample(pose, clip, seconds) {
        // A copy, because a view ends when `set` needs memory.
        const { local } = this;
        local.set(this.pose.sample(clip, seconds).local);
        pose.rest();
        for (const [from, joint] of this.pairs) {
            const at = 10 * from;
            pose.set(joint, {
                rotation: local.subarray(at, at + 4),
                translation: local.subarray(at + 4, at + 7),
                scale: local.subarray(at + 7, at + 10),
            });
        }
    }

    dispose() {
        this.pose.dispose();
        this.model.dispose();
    }
}
