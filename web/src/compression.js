// The error budget as a slider: size, ratio, colours, and the original next to the result.

import { at, checked, on, say, value } from './dom.js';
import * as heat from './heat.js';
import { millimetres, seconds, size } from './texts.js';

/** Millimetres of a position of the slider: 0.01 to 100, ten positions and a bit for a factor of 2.5. */
export const budgetOf = (position) => Number((0.01 * 10 ** (position / 25)).toPrecision(2));

/** Position of the slider for millimetres. */
export const positionOf = (budget) => Math.round(25 * Math.log10(budget / 0.01));

/** Reason for a saved file that is larger than the opened one. @param {import('./files.js').Source} source */
function larger(bytes, { name, files }) {
    const opened = Object.values(files).reduce((sum, file) => sum + file.length, 0);
    if (bytes <= opened) return '';
    return ` That is more than ${name} (${size(opened)}), because meshes are stored uncompressed and images as they are.`;
}

/** Calls of the worker, in order. */
class Encoder {
    constructor() {
        this.worker = new Worker(new URL('encoder.js', document.baseURI), { type: 'module' });
        this.waiting = new Map();
        this.last = 0;
        this.worker.addEventListener('message', ({ data: { id, result, error } }) => {
            const { done, failed } = this.waiting.get(id);
            this.waiting.delete(id);
            if (error) failed(Object.assign(new Error(error.message), error));
            else done(result);
        });
        this.worker.addEventListener('error', () => {
            for (const { failed } of this.waiting.values())
                failed(new Error('the encoder did not start; load the page again'));
        });
    }

    /** @returns {Promise<any>} */
    call(call, options = {}) {
        const id = ++this.last;
        return new Promise((done, failed) => {
            this.waiting.set(id, { done, failed });
            this.worker.postMessage({ id, call, ...options });
        });
    }
}

export class Compression {
    /** @param {import('./page.js').Page} page */
    constructor(page) {
        this.page = page;
        this.reset();
        on('budget', 'input', () => this.touch());
        on('heat', 'change', () => this.shown());
        on('split', 'change', () => this.shown());
        on('go-worst', 'click', () => this.goToWorst());
        on('save', 'click', () => this.save());
        on('height', 'change', () => this.setHeight());
        page.stage.painters.push((context, place) => this.paint(context, place));
        heat.legend();
        this.label();
    }

    /** Forgets the results of the last character. */
    reset() {
        /** Compressed clip for each clip. */
        this.results = new Map();
        this.errors = undefined;
        this.opened = false;
        this.running = false;
        this.again = false;
        /** How often another character was opened. */
        this.turn = (this.turn ?? 0) + 1;
    }

    open() {
        this.reset();
        const { model } = this.page;
        const hasKeys = model.clips.some((clip) => !clip.compressed);
        at('budget').disabled = !hasKeys;
        this.sources = model.clips.length;
        say('ratio', '');
        at('numbers').hidden = true;
        const metres = model.height * (model.unit ?? 1);
        at('height').value = metres > 0 ? Number(metres.toPrecision(4)) : '';
        at('height').disabled = !(metres > 0);
        say('encode-note', this.introduction(hasKeys));
        this.enable();
    }

    introduction(hasKeys) {
        if (this.page.player.current?.from)
            return 'The clip is from another file. Open that file alone to compress it.';
        if (hasKeys) {
            const metres = value('height');
            const isOdd = metres > 4 || (metres > 0 && metres < 0.1);
            const unit = isOdd ? ` The file is ${metres} m high; set the real height below.` : '';
            return `Move the slider: your browser compresses the clip within this error.${unit}`;
        }
        if (this.page.model.clips.length === 0) return 'The file has no clips.';
        return 'The clips are compressed. Open the original file to compare with it.';
    }

    get budget() {
        return budgetOf(value('budget'));
    }

    /** Metres per unit. */
    get unit() {
        return this.page.model.unit ?? 1;
    }

    /** The result for the clip that plays. */
    get result() {
        return this.results.get(this.page.player.clip);
    }

    get isCompared() {
        return this.result !== undefined && (checked('heat') || checked('split'));
    }

    get isSplit() {
        return this.isCompared && checked('split');
    }

    label() {
        const text = millimetres(this.budget);
        say('budget-text', text);
        at('budget').setAttribute('aria-valuetext', text);
    }

    touch() {
        this.label();
        if (!this.page.character) return;
        if (this.running) this.again = true;
        else this.run();
    }

    /** Compresses the clip that plays, and once more if the slider has moved since. */
    async run() {
        const { page, turn } = this;
        const { clip, current } = page.player;
        if (!current || current.compressed || current.from) return;
        this.running = true;
        const budget = this.budget;
        say('encode-note', this.encoder ? 'Compressing…' : 'Loading the encoder…');
        try {
            this.encoder ??= new Encoder();
            if (!this.opened) {
                const { files, name } = page.character.source;
                await this.encoder.call('open', { files, name, unit: page.model.unit });
                if (turn !== this.turn) return;
                this.opened = true;
            }
            const result = await this.encoder.call('encode', { clip, millimetres: budget });
            if (turn !== this.turn) return;
            const known = this.results.get(clip);
            const { name } = current;
            const index = page.model.addClip(
                `${name} compressed`,
                result.data,
                known ? { replace: known.index } : {},
            );
            this.results.set(clip, { ...result, index, budget });
            this.shown();
        } catch (error) {
            if (turn !== this.turn) return;
            say('encode-note', `Not compressed: ${error.message}`);
        } finally {
            if (turn === this.turn) {
                this.running = false;
                if (this.again) {
                    this.again = false;
                    this.run();
                }
            }
        }
    }

    /** Shows the figures of the clip that plays, after a change of anything. */
    shown() {
        const { page, result } = this;
        this.enable();
        at('numbers').hidden = !result;
        this.errors = undefined;
        if (result) {
            const keys = result.bytes * result.ratio;
            const mm = 1000 * this.unit;
            say('ratio', `${result.ratio.toFixed(1)} to 1: ${size(result.bytes)}`);
            say(
                'encode-note',
                `Compressed within ${millimetres(result.budget)} in ${seconds(result.seconds)}.`,
            );
            say('raw-bytes', size(Math.round(keys)));
            say('packed-bytes', size(result.bytes));
            say('worst-all', `${millimetres(result.maxError * mm)} at ${seconds(result.worst.seconds)}`);
            say('left-name', `Original, ${size(Math.round(keys))}`);
            say('right-name', `Compressed, ${size(result.bytes)}`);
            say('legend-budget', millimetres(result.budget));
            heat.setBudget(result.budget / mm);
        } else if (!this.running) {
            say('ratio', '');
            say('encode-note', this.introduction(!page.player.current?.compressed));
        }
        // Only a clip of the original is compared, not a pose that was changed.
        for (const id of ['grab', 'feet'])
            at(id).disabled = this.isCompared || (id === 'feet' && !page.feet.feet);
        for (const id of ['blend', 'weight'])
            at(id).disabled = this.isCompared || (id === 'weight' && page.player.blend < 0);
        at('left-name').hidden = !this.isSplit;
        at('right-name').hidden = !this.isSplit;
        at('legend').hidden = !(this.isCompared && checked('heat'));
        page.changed();
    }

    enable() {
        const has = this.result !== undefined && !this.page.crowd?.isShown;
        for (const id of ['heat', 'split', 'go-worst', 'save']) at(id).disabled = !has;
    }

    /**
     * Poses the compressed clip, and measures it against the original.
     *
     * @param {import('condyle').MeshPose} original after `toModel`
     * @returns {import('condyle').MeshPose} after `toModel`
     */
    pose(original) {
        const { page } = this;
        const pose = page.packedPose.sample(this.result.index, page.player.time).toModel();
        this.errors = pose.errors(original);
        const { max } = this.errors;
        const text = millimetres(max * 1000 * this.unit);
        say('worst-now', text);
        say('legend-worst', `Worst vertex: ${text}`);
        if (checked('heat')) heat.write(page.character, this.errors);
        return pose;
    }

    /** Marks the worst vertex of this moment. */
    paint(context, place) {
        if (!this.isCompared || !this.errors || !checked('heat')) return;
        const { mesh, vertex, max } = this.errors;
        if (!(max > 0)) return;
        const { positions } = this.page.packedPose.skin(mesh);
        const pixel = place(...positions.subarray(3 * vertex, 3 * vertex + 3));
        if (!pixel) return;
        const [x, y] = pixel;
        context.lineWidth = 4;
        context.strokeStyle = '#000000';
        context.beginPath();
        context.arc(x, y, 10, 0, 7);
        context.stroke();
        context.lineWidth = 2;
        context.strokeStyle = '#ffffff';
        context.stroke();
        this.page.write(context, `${vertex}: ${millimetres(max * 1000 * this.unit)}`, x + 14, y - 8);
    }

    /** Goes to the moment and the place of the largest error of the clip. */
    goToWorst() {
        const { page, result } = this;
        at('heat').checked = true;
        page.player.playing = false;
        page.player.seek(result.worst.seconds);
        this.shown();
        page.update();
        const { mesh, vertex } = this.errors?.max > 0 ? this.errors : result.worst;
        const { positions } = page.packedPose.skin(mesh);
        const [x, y, z] = positions.subarray(3 * vertex, 3 * vertex + 3);
        page.stage.look(x, y, z);
        page.changed();
    }

    async save() {
        say('encode-note', 'Compressing all clips…');
        try {
            const data = await this.encoder.call('save', { millimetres: this.result.budget });
            const name = this.page.character.name
                .replace(/\.[^.]*$/, '')
                .split('/')
                .pop();
            this.page.download(new Blob([data]), `${name}.condyle`);
            const sizes = `${size(data.length)} with the meshes`;
            const text = `Saved all clips within ${millimetres(this.result.budget)}: ${sizes}.`;
            say('encode-note', `${text}${larger(data.length, this.page.character.source)}`);
        } catch (error) {
            say('encode-note', `Not saved: ${error.message}`);
        }
    }

    /** Changes the metres per unit, so that millimetres are millimetres of the real character. */
    async setHeight() {
        const { page } = this;
        const metres = value('height');
        if (!(metres > 0) || !page.character) return;
        page.model.setUnit(metres / page.model.height);
        if (!this.result && !this.running) say('encode-note', this.introduction(!page.player.current?.compressed));
        if (this.opened) await this.encoder.call('unit', { unit: page.model.unit });
        if (this.results.size > 0) this.touch();
        page.changed();
    }
}
