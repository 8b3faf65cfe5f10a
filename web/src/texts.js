// Numbers and messages in words.

/** Bytes for people. */
export function size(bytes) {
    if (bytes < 1000) return `${bytes} B`;
    return bytes < 1e6 ? `${(bytes / 1e3).toFixed(1)} kB` : `${(bytes / 1e6).toFixed(2)} MB`;
}

/** Millimetres with three digits. */
export function millimetres(number) {
    if (number === 0) return '0 mm';
    if (number >= 1000) return `${(number / 1000).toPrecision(3)} m`;
    return number < 0.001 ? `${(number * 1000).toPrecision(2)} µm` : `${Number(number.toPrecision(3))} mm`;
}

/** Milliseconds with enough digits. */
export function milliseconds(number) {
    return number < 0.1
        ? `${number.toFixed(3)} ms`
        : number < 10
          ? `${number.toFixed(2)} ms`
          : `${number.toFixed(0)} ms`;
}

export const seconds = (number) => `${number.toFixed(3)} s`;

export const count = (number, word) => `${number.toLocaleString('en')} ${word}${number === 1 ? '' : 's'}`;

/** What to do about an error, by its code. */
const ADVICE = {
    unreadable: 'Check the address, or choose the file again.',
    'no-such-model':
        'Drop a .glb, .gltf, .vrm, .bvh or .condyle file, with a .gltf also its .bin and images.',
    'other-joints': '',
    'too-far': 'The file is damaged, or was exported with a wrong scale.',
    'no-graphics': 'Switch on WebGL 2 in the browser, or use another browser.',
};

/**
 * @param {any} error
 * @param {string} name of the file
 */
export function fault(error, name) {
    const problems = error.problems ?? [];
    if (error instanceof WebAssembly.RuntimeError) {
        const text = `This is a bug of Condyle: ${error.message}. Please report it with the file.`;
        return { title: name ? `${name} cannot be shown` : 'This does not work', text, list: [] };
    }
    const unknown = 'If another program opens this file, please report it.';
    const text =
        problems.length > 0
            ? 'The file has errors that cannot be repaired. Correct it, or export it again.'
            : `${sentence(error.message ?? String(error))} ${ADVICE[error.code] ?? unknown}`;
    return {
        title: name ? `${name} cannot be shown` : 'This does not work',
        text,
        list: problems.slice(0, 50).map(problem),
    };
}

/** One line for a problem. */
export function problem({ severity, place, what, action, count: places }) {
    const where = place ? ` at ${place}${places > 1 ? ` and ${places - 1} more` : ''}` : '';
    return `${severity}${where}: ${what}${action ? `; ${action}` : ''}`;
}

export function sentence(text) {
    const whole = text.charAt(0).toUpperCase() + text.slice(1);
    return /[.!?]$/.test(whole) ? whole : `${whole}.`;
}
