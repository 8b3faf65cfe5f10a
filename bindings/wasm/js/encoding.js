// What `condyle/encode` has in addition: compression, and writing of files.

import { CondyleError, RAW } from './core.js';
import { Model } from './whole.js';

export class EncodeModel extends Model {
    /** Error in units of the file. */
    bound({ error, millimetres }) {
        const found = error ?? millimetres / 1000 / (this.unit ?? 1);
        if (found > 0) return found;
        throw new CondyleError('out-of-range', 'set error or millimetres to a number above 0');
    }

    encode(clip, options) {
        const begin = performance.now();
        const keys = this.clips[clip]?.bytes;
        const numbers = this[RAW].encode(clip, this.bound(options), options.best ?? false, options.replace);
        const [index, bytes, , maxError, mesh, vertex, seconds] = numbers;
        this.readClips();
        return {
            clip: index,
            bytes,
            ratio: keys / bytes,
            seconds: (performance.now() - begin) / 1000,
            maxError,
            worst: { mesh, vertex, seconds },
            data: this[RAW].clip_data(index),
        };
    }

    save(options) {
        return this[RAW].save(this.bound(options), options.best ?? false);
    }

    pack(options) {
        return this[RAW].pack(this.bound(options), options.meshes ?? false);
    }
}
