// Clip, time, speed and loop of the character on the stage.

/** Seconds of a step: a frame of most files. */
export const STEP = 1 / 30;

export class Player {
    constructor() {
        this.speed = 1;
        this.playing = !matchMedia('(prefers-reduced-motion: reduce)').matches;
        this.open([]);
    }

    /**
     * @typedef {import('condyle').Clip & { index: number, from?: import('./clips.js').Other }} Entry A clip
     * of the model, or of another model with `from`.
     * @param {Entry[]} clips
     */
    open(clips) {
        this.clips = clips;
        this.clip = clips.length > 0 ? 0 : -1;
        this.blend = -1;
        this.weight = 0;
        this.method = '';
        this.whole();
        this.time = this.from;
    }

    get current() {
        return this.clips[this.clip];
    }

    choose(clip) {
        const phase = this.phase;
        this.clip = clip;
        this.whole();
        this.time = this.from + phase * (this.to - this.from);
    }

    /** Plays the whole clip. */
    whole() {
        this.from = this.current?.start ?? 0;
        this.to = this.current?.end ?? 0;
    }

    get isWhole() {
        return !this.current || (this.from === this.current.start && this.to === this.current.end);
    }

    /** Sets the loop range; an empty one is the whole clip. */
    range(from, to) {
        this.from = from;
        this.to = to;
        if (!(from < to)) this.whole();
    }

    /** Part of the clip that has passed, 0 to 1. */
    get phase() {
        const clip = this.current;
        return clip?.seconds > 0 ? (this.time - clip.start) / clip.seconds : 0;
    }

    seek(time) {
        if (!this.current) return;
        this.time = Math.min(Math.max(time, this.current.start), this.current.end);
    }

    step(frames) {
        this.playing = false;
        this.seek(this.time + frames * STEP);
    }

    advance(seconds) {
        const length = this.to - this.from;
        if (!this.playing || !(length > 0)) return;
        const moved = this.time + seconds * this.speed - this.from;
        this.time = this.from + (moved - Math.floor(moved / length) * length);
    }

    /** Time in the second clip, at the same part of it. */
    get blendTime() {
        const clip = this.clips[this.blend];
        return clip ? clip.start + this.phase * clip.seconds : 0;
    }

    /** Writes the pose, blended if that is wanted. @param {import('condyle').MeshPose} pose */
    sample(pose, isBlended = true) {
        const clip = this.current;
        if (!clip) return pose.rest();
        if (clip.from) clip.from.sample(pose, clip.index, this.time);
        else pose.sample(clip.index, this.time);
        if (isBlended && this.blend >= 0 && this.weight > 0) {
            if (this.method) pose.interpolate(this.blend, this.blendTime, this.weight, this.method);
            else pose.blend(this.blend, this.blendTime, this.weight);
        }
        return pose;
    }
}
