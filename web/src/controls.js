// Buttons, sliders and keys of the time and of the look.

import { at, checked, choices, make, on, say, value } from './dom.js';
import { count, seconds, size } from './texts.js';

export class Controls {
    /** @param {import('./page.js').Page} page */
    constructor(page) {
        this.page = page;
        const { player } = page;
        on('play', 'click', () => this.toggle());
        on('back', 'click', () => this.step(-1));
        on('next', 'click', () => this.step(1));
        on('scrub', 'input', () => {
            player.seek(value('scrub'));
            page.changed();
        });
        on('speed', 'change', () => (player.speed = value('speed')));
        on('from', 'click', () => this.range(player.time, player.to));
        on('to', 'click', () => this.range(player.from, player.time));
        on('whole', 'click', () => this.range(0, 0));
        on('blend', 'change', () => this.blend());
        on('weight', 'input', () => this.blend());
        on('method', 'change', () => this.blend());
        for (const id of ['wire', 'floor', 'skinning', 'background', 'springs'])
            on(id, 'change', () => this.look());
        on('fit', 'click', () => page.fit());
        addEventListener('keydown', (event) => this.key(event));
    }

    open() {
        const { model, player } = this.page;
        const buttons = player.clips.map((clip, index) => {
            const name = make('span', { textContent: clip.name || `clip ${index}` });
            const length = make('span', { textContent: `${clip.seconds.toFixed(2)} s` });
            const choose = () => this.choose(index);
            const title = `${size(clip.bytes)}${clip.compressed ? ', compressed' : ''}`;
            return make('button', { type: 'button', onclick: choose, title }, name, length);
        });
        at('clips').replaceChildren(...buttons.map((button) => make('li', {}, button)));
        at('no-clips').hidden = player.clips.length > 0;
        say(
            'no-clips',
            'The file has no clips: it shows the rest pose. Drop it together with a file that has clips.',
        );
        at('blend-rows').hidden = model.clips.length < 1 || player.clips.length < 2;
        choices('blend', [['-1', 'None'], ...model.clips.map(({ name }, index) => [index, name])]);
        choices('method', [['', 'Default'], ...this.page.pose.methods.map((it) => [it, it])]);
        at('weight').value = 0;
        at('springs-row').hidden = !model.hasSprings;
        for (const id of ['play', 'back', 'next', 'scrub', 'from', 'to']) at(id).disabled = !player.current;
        const vertices = model.meshes.reduce((sum, mesh) => sum + mesh.vertices, 0);
        const parts = [count(model.joints.length, 'joint'), `${vertices.toLocaleString('en')} vertices`];
        say('facts', [...parts, count(player.clips.length, 'clip')].join(', '));
        this.blend();
        this.look();
        this.clip();
    }

    choose(index) {
        this.page.player.choose(index);
        this.clip();
        this.page.compression.shown();
    }

    /** Shows which clip plays. */
    clip() {
        const { player } = this.page;
        [...at('clips').querySelectorAll('button')].forEach((button, index) => {
            button.setAttribute('aria-pressed', String(index === player.clip));
        });
        const clip = player.current;
        at('scrub').min = clip?.start ?? 0;
        at('scrub').max = clip?.end ?? 1;
        this.band();
    }

    /** Shows the loop range on the slider. */
    band() {
        const { player } = this.page;
        const { start = 0, seconds: length = 0 } = player.current ?? {};
        const part = (time) => (length > 0 ? (100 * (time - start)) / length : 0);
        const element = at('scrub');
        element.classList.toggle('ranged', !player.isWhole);
        element.style.setProperty('--from', `${part(player.from)}%`);
        element.style.setProperty('--to', `${part(player.to)}%`);
        at('whole').hidden = player.isWhole;
    }

    toggle() {
        const { player } = this.page;
        if (player.current) player.playing = !player.playing;
        this.time();
        this.page.changed();
    }

    step(frames) {
        this.page.player.step(frames);
        this.page.changed();
    }

    range(from, to) {
        this.page.player.range(from, to);
        this.band();
        this.page.changed();
    }

    /** Shows the time. */
    time() {
        const { player } = this.page;
        if (document.activeElement !== at('scrub') || player.playing) at('scrub').value = player.time;
        const text = `${player.time.toFixed(3)} of ${seconds(player.current?.end ?? 0)}`;
        say('clock', text);
        at('scrub').setAttribute('aria-valuetext', text);
        const label = player.playing ? 'Pause' : 'Play';
        if (at('play').getAttribute('aria-label') !== label) {
            at('play').setAttribute('aria-label', label);
            at('play-icon').setAttribute('href', player.playing ? '#i-pause' : '#i-play');
        }
    }

    blend() {
        const { player } = this.page;
        player.blend = value('blend');
        player.weight = value('weight');
        player.method = at('method').value;
        at('weight').disabled = player.blend < 0;
        at('method').disabled = player.blend < 0;
        say('weight-text', `${Math.round(100 * player.weight)} %`);
        at('weight').setAttribute('aria-valuetext', `${Math.round(100 * player.weight)} percent`);
        this.page.changed();
    }

    look() {
        const { page } = this;
        if (!page.character) return;
        page.bodies((body) => {
            body.setWire(checked('wire'));
            body.onCpu = at('skinning').value === 'dual';
        });
        for (const pose of [page.pose, page.packedPose]) if (pose) pose.skinning = at('skinning').value;
        page.stage.showFloor(checked('floor'));
        at('view').style.backgroundColor = at('background').value;
        page.changed();
    }

    /** @param {KeyboardEvent} event */
    key(event) {
        if (event.ctrlKey || event.metaKey || event.altKey) return;
        const { page } = this;
        const { target, key } = event;
        if (key === 'Escape') {
            at('fault').hidden = true;
            if (page.hand?.goal) page.hand.letGo();
            return;
        }
        if (!page.model || /^(select|textarea)$/i.test(target.tagName) || target.type === 'number') return;
        const isControl = /^(button|summary|input|a)$/i.test(target.tagName) && target.type !== 'range';
        const toggle = { b: 'bones', n: 'names', w: 'wire', h: 'heat' }[key.toLowerCase()];
        if (key === ' ' && !isControl) this.toggle();
        else if (key === ',') this.step(-1);
        else if (key === '.') this.step(1);
        else if (key === '[') this.range(page.player.time, page.player.to);
        else if (key === ']') this.range(page.player.from, page.player.time);
        else if (key.toLowerCase() === 'f') page.fit();
        else if (toggle && !at(toggle).disabled) at(toggle).click();
        else if (target !== at('stage') || !this.arrow(key)) return;
        event.preventDefault();
    }

    /** Keys of the view: they turn it, or move the held point. */
    arrow(key) {
        const { stage, hand } = this.page;
        const moved = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[key];
        if (moved) {
            if (hand.goal) hand.nudge(...moved);
            else stage.turn(-0.1 * moved[0], -0.1 * moved[1]);
        } else if (key === '+' || key === '=') stage.zoom(0.9);
        else if (key === '-') stage.zoom(1 / 0.9);
        else return false;
        return true;
    }
}
