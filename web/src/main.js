// Starts the page: the first picture by the small module, and everything else when it is needed.

import { at, say } from './dom.js';
import { dropped } from './files.js';
import { First } from './first.js';
import { Stage } from './stage.js';
import { fault } from './texts.js';

/** Events of a person that need the whole page. */
const TOUCHES = ['pointerdown', 'keydown', 'focusin', 'dragenter', 'drop'];
/** Events of controls, which are repeated for the whole page. */
const REPEATED = ['click', 'input', 'change', 'keydown'];

/** Shows an error before there is a page. */
function fail(error) {
    say('busy', '');
    document.body.dataset.state = 'failed';
    const { title, text } = fault(error);
    say('fault-title', title);
    say('fault-text', text);
    at('fault').hidden = false;
    at('fault-close').addEventListener('click', () => (at('fault').hidden = true), { once: true });
}

/** Keeps events until the whole page is there, which the first one starts. Returns a function that repeats them. */
function keep(wake) {
    const kept = [];
    const hold = (event) => {
        const button = event.target.closest?.('button');
        // A click on anything else changes it, and further events follow.
        if (event.type === 'click' && !button) return;
        event.stopImmediatePropagation();
        // The list of clips is made again.
        const clip = [...document.querySelectorAll('#clips button')].indexOf(button);
        kept.push({ event, target: button ?? event.target, clip });
        // Programs that help people send no pointer and no key.
        wake();
    };
    for (const type of REPEATED) addEventListener(type, hold, { capture: true });
    return () => {
        for (const type of REPEATED) removeEventListener(type, hold, { capture: true });
        for (const { event, target, clip } of kept) {
            const now = clip >= 0 ? document.querySelectorAll('#clips button')[clip] : target;
            if (now && !now.disabled) now.dispatchEvent(new event.constructor(event.type, event));
        }
    };
}

async function start() {
    const stage = new Stage();
    const isPlain = !location.hash && !new URLSearchParams(location.search).has('open');
    if (!isPlain) return (await import('./page.js')).start(stage);
    const first = await First.open(stage);
    say('busy', '');
    document.body.dataset.state = 'first';
    const repeat = keep(() => touched());
    // The files of a drop are there during the event only.
    let drop;
    const take = (event) => {
        event.preventDefault();
        event.stopImmediatePropagation();
        drop = dropped(event.dataTransfer);
    };
    let isTouched = false;
    const touched = async () => {
        if (isTouched) return;
        isTouched = true;
        for (const type of TOUCHES) removeEventListener(type, touched, { capture: true });
        document.body.dataset.state = 'loading';
        // Most people do not notice the time that it takes.
        const slow = setTimeout(() => say('busy', 'Loading…'), 700);
        try {
            const page = await (await import('./page.js')).start(stage, first);
            removeEventListener('drop', take, { capture: true });
            if (drop) await page.attempt('The file', drop);
        } catch (error) {
            fail(error);
        }
        clearTimeout(slow);
        if (!drop) say('busy', '');
        repeat();
    };
    for (const type of TOUCHES) addEventListener(type, touched, { capture: true });
    addEventListener('drop', take, { capture: true });
}

addEventListener('dragover', (event) => event.preventDefault());
start().catch(fail);
