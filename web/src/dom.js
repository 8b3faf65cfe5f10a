// Access to the elements of the page.

/**
 * @param {string} id
 * @returns {any} The element, which index.html has.
 */
export const at = (id) => document.getElementById(id);

/**
 * Makes an element.
 *
 * @param {string} tag
 * @param {object} [properties]
 * @param {...(Node | string)} inside
 */
export function make(tag, properties = {}, ...inside) {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...inside);
    return element;
}

/** Sets the text of an element only if it differs, so that screen readers are not disturbed. */
export function say(id, text) {
    const element = at(id);
    if (element.textContent !== text) element.textContent = text;
}

/** Fills a list of choices: [value, text]. */
export function choices(id, list) {
    at(id).replaceChildren(...list.map(([value, text]) => make('option', { value, textContent: text })));
}

/** Calls a function on each change of a control, while it moves. */
export function on(id, event, call) {
    at(id).addEventListener(event, call);
}

/** Value of a slider. */
export const value = (id) => Number(at(id).value);

/** Whether a box is checked and can be. */
export const checked = (id) => at(id).checked && !at(id).disabled;
