// Checks of arguments. Without them, the module would take undefined for 0, and a text for NaN.

import { CondyleError } from './error.js';

/** A value in a few words. */
function shown(it) {
    if (typeof it === 'string') return JSON.stringify(it.slice(0, 40));
    if (typeof it === 'function') return 'a function';
    if (typeof it !== 'object' || it === null) return String(it);
    const type = it.constructor?.name ?? 'Object';
    return typeof it.length === 'number' ? `${type} of length ${it.length}` : `an object of type ${type}`;
}

export function wrong(what, needed, found, code = 'argument') {
    return new CondyleError(code, `${what} is ${shown(found)}, but must be ${needed}`);
}

const codeOf = (it) => (typeof it === 'number' ? 'not-finite' : 'argument');

export function number(what, it) {
    if (!Number.isFinite(it)) throw wrong(what, 'a finite number', it, codeOf(it));
    return it;
}

/** A whole number from 0 to `most`. */
export function whole(what, it, most = 2 ** 32 - 1) {
    if (!Number.isInteger(it) || it < 0 || it > most) throw wrong(what, `a whole number from 0 to ${most}`, it);
    return it;
}

/** Index of an element of a list; `name` is the function that finds it. */
export function index(what, it, list, name) {
    if (Number.isInteger(it) && it >= 0 && it < list.length) return it;
    const needed = list.length === 0 ? `, and the model has no ${what}` : ` below ${list.length}`;
    if (Number.isInteger(it)) throw new CondyleError('index', `there is no ${what} ${it}: the model has ${list.length}`);
    throw wrong(`the index of a ${what}`, `a whole number${needed}${name ? `; model.${name} finds it by its name` : ''}`, it);
}

export function text(what, it) {
    if (typeof it !== 'string') throw wrong(what, 'a text', it);
    return it;
}

const NONE = Object.freeze({});

/** An object of options or undefined. An option that is none of `names` is an error. */
export function options(it, names) {
    if (it === undefined) return NONE;
    if (typeof it !== 'object' || it === null) throw wrong('the argument for options', 'an object', it);
    for (const name in it) {
        if (!names.includes(name) && it[name] !== undefined) {
            throw new CondyleError('argument', `there is no option ${name} here; there are ${names.join(', ')}`);
        }
    }
    return it;
}

/** A matrix of 16 numbers in columns, or none for the identity. */
export function world(it) {
    return it === undefined ? new Float64Array() : Float64Array.from(vector('world', it, 16));
}

/** Finite numbers, as many as `lengths` allows. */
export function vector(what, it, ...lengths) {
    const isVector = typeof it === 'object' && lengths.includes(it?.length);
    const numbers = isVector && Array.prototype.every.call(it, Number.isFinite);
    if (numbers) return it;
    const needed = `an array of ${lengths.join(' or ')} finite numbers`;
    const found = isVector ? [...it].find((v) => !Number.isFinite(v)) : it;
    throw isVector ? wrong(`a number of ${what}`, 'finite', found, codeOf(found)) : wrong(what, needed, it);
}

/** A factor for each joint. Leaves no garbage, unlike `vector`. */
export function factors(it, joints) {
    let isValid = typeof it === 'object' && it?.length === joints;
    for (let at = 0; isValid && at < joints; at++) isValid = Number.isFinite(it[at]);
    return isValid ? it : vector('mask', it, joints);
}

/** A list of whole numbers from 0 to `most`. */
export function list(what, it, most) {
    if (typeof it !== 'object' || it === null || typeof it[Symbol.iterator] !== 'function') throw wrong(what, 'an array', it);
    return Array.from(it, (element, at) => whole(`element ${at} of ${what}`, element, most));
}

/** The bytes of a buffer or a view. */
export function bytes(what, it) {
    if (!(it instanceof ArrayBuffer) && !ArrayBuffer.isView(it)) throw wrong(what, 'an ArrayBuffer or a typed array', it);
    try {
        return ArrayBuffer.isView(it) ? new Uint8Array(it.buffer, it.byteOffset, it.byteLength) : new Uint8Array(it);
    } catch {
        throw new CondyleError('argument', `${what} is detached: it was handed to another thread, so it has no bytes here`);
    }
}
