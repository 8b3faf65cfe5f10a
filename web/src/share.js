// A picture to save, and a link with the state of the page.

import { at, on, say, value } from './dom.js';

/** Boxes and lists whose state a link holds. */
const KEPT = ['bones', 'names', 'wire', 'floor', 'skinning', 'background', 'speed'];

export class Share {
    /** @param {import('./page.js').Page} page */
    constructor(page) {
        this.page = page;
        on('picture', 'click', () => this.picture());
        on('link', 'click', () => this.link());
    }

    async picture() {
        const { page } = this;
        if (!page.character) return;
        page.draw();
        const name = page.character.name
            .replace(/\.[^.]*$/, '')
            .split('/')
            .pop();
        page.download(await page.stage.picture(), `${name}.png`);
        say('share-note', `Saved ${name}.png.`);
    }

    /** State of the page as the part of an address after `#`. */
    state() {
        const { player, stage, builtIn, compression } = this.page;
        const round = (numbers) => numbers.map((it) => Number(it.toPrecision(7))).join(',');
        const state = new URLSearchParams();
        if (builtIn) state.set('character', builtIn);
        if (player.current) state.set('clip', player.current.name);
        state.set('time', player.time.toFixed(4));
        if (!player.isWhole) state.set('loop', round([player.from, player.to]));
        state.set('camera', round([...stage.camera.position, ...stage.controls.target]));
        for (const id of KEPT) {
            const element = at(id);
            if (element.type === 'checkbox') {
                if (element.checked !== element.defaultChecked) state.set(id, element.checked ? '1' : '0');
            } else if (
                element.value !== element.querySelector('[selected]')?.value &&
                element.selectedIndex > 0
            ) {
                state.set(id, element.value);
            }
        }
        if (compression.result) {
            state.set('budget', value('budget'));
            if (at('heat').checked) state.set('heat', '1');
            if (at('split').checked) state.set('split', '1');
        }
        return state;
    }

    async link() {
        if (!this.page.character) return;
        const address = new URL(location.href);
        address.hash = this.state().toString();
        history.replaceState(null, '', address);
        const about = this.page.builtIn
            ? 'It shows the same character, moment and view.'
            : 'It holds the settings. Send the file too, and open it first: the page does not upload it.';
        try {
            await navigator.clipboard.writeText(address.href);
            say('share-note', `Copied. ${about}`);
        } catch {
            say('share-note', `The address of the page is the link. ${about}`);
        }
    }

    /** Takes over the state of a link, after the character was opened. */
    async restore(hash) {
        const state = new URLSearchParams(hash.replace(/^#/, ''));
        const { page } = this;
        const { player, stage } = page;
        for (const id of KEPT) {
            if (!state.has(id)) continue;
            const element = at(id);
            if (element.type === 'checkbox') element.checked = state.get(id) === '1';
            else if ([...element.options].some((it) => it.value === state.get(id)))
                element.value = state.get(id);
            element.dispatchEvent(new Event('change'));
        }
        const numbers = (name) => state.get(name)?.split(',').map(Number) ?? [];
        const clip = player.clips.findIndex(({ name }) => name === state.get('clip'));
        if (clip >= 0) player.choose(clip);
        const [from, to] = numbers('loop');
        if (to > from) player.range(Math.max(from, player.from), Math.min(to, player.to));
        if (state.has('time') && Number.isFinite(Number(state.get('time')))) {
            player.seek(Number(state.get('time')));
            player.playing = false;
        }
        const camera = numbers('camera');
        if (camera.length === 6 && camera.every(Number.isFinite)) {
            stage.camera.position.fromArray(camera);
            stage.controls.target.fromArray(camera, 3);
            stage.controls.update();
        }
        if (state.has('budget') && !at('budget').disabled) {
            at('budget').value = state.get('budget');
            for (const id of ['heat', 'split']) at(id).checked = state.get(id) === '1';
            page.compression.touch();
        }
        page.shown();
    }
}
