// Problems of the file in words, with their places.

import { at, make, say } from './dom.js';
import { sentence } from './texts.js';

/** @param {import('./page.js').Page} page */
export function list(page) {
    const { joints } = page.model;
    const problems = [...page.model.problems, ...page.character.missing.map(missing)];
    say('problem-count', String(problems.length));
    at('problem-count').classList.toggle(
        'some',
        problems.some(({ severity }) => severity !== 'note'),
    );
    if (problems.length === 0) {
        at('problems').replaceChildren(make('li', { textContent: 'None.' }));
        return;
    }
    at('problems').replaceChildren(...problems.map((problem) => item(page, problem, joints)));
}

function missing(name) {
    const what = `the image ${name} was not opened with the file`;
    return { severity: 'warning', place: '', count: 1, what, action: 'white is shown instead; drop it too' };
}

function item(page, { severity, place, count, what, action, joint }, joints) {
    const inside = [make('b', { textContent: `${sentence(severity)} ` }), `${sentence(what)} `];
    if (place) inside.push(make('code', { textContent: place }));
    if (count > 1) inside.push(` and ${count - 1} more places`);
    if (action) inside.push(make('div', { className: 'action', textContent: sentence(action) }));
    if (joint !== undefined) {
        const show = () => {
            page.skeleton.marked = page.skeleton.marked === joint ? -1 : joint;
            page.changed();
        };
        inside.push(
            make('button', { type: 'button', textContent: `Show ${joints[joint].name}`, onclick: show }),
        );
    }
    return make('li', {}, ...inside);
}
