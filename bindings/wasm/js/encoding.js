// What `condyle/encode` has in addition: compression, and writing of files.

import { index, options } from './arguments.js';
import { RAW } from './core.js';
import { Model } from './whole.js';

const BOUND = ['error', 'millimetres'];

export class EncodeModel extends Model {
    encode(clip, given) {
        const begin = performance.now();
        const { best = false, replace } = options(given, [...BOUND, 'best', 'replace']);
        const bound = this.bound(given);
        for (const it of replace === undefined ? [clip] : [clip, replace]) index('clip', it, this.clips, 'clip()');
        const keys = this.clips[clip].bytes;
        const numbers = this[RAW].encode(clip, bound, best, replace);
        const [at, bytes, maxError, mesh, vertex, seconds] = numbers;
        this.readClips();
        return {
            clip: at,
            bytes,
            ratio: keys / bytes,
            seconds: (performance.now() - begin) / 1000,
            maxError,
            worst: { mesh, vertex, seconds },
            data: this[RAW].clip_data(at),
        };
    }

    save(given) {
        const { best = false } = options(given, [...BOUND, 'best']);
        return this[RAW].save(this.bound(given), best);
    }

    pack(given) {
        const { meshes = false } = options(given, [...BOUND, 'meshes']);
        return this[RAW].pack(this.bound(given), meshes);
    }
}
