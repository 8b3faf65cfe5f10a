// Files from the disk, from the built-in characters, and from the server of `condyle view`.

const MODELS = /\.(glb|gltf|vrm|vrma|bvh|condyle)$/i;

/** Characters that the page brings. */
export const BUILT_IN = [
    { key: 'person', text: 'Person: walk, run, idle', file: 'characters/person.glb' },
    { key: 'forearm', text: 'Forearm: a twist', file: 'characters/forearm.glb' },
    { key: 'snake', text: 'Snake: slither, rise', file: 'characters/snake.glb' },
];

/**
 * Files to open: one model with its parts, and other models with clips for it.
 *
 * @typedef {{ name: string, files: Record<string, Uint8Array> }} Source
 */

/** Error in the voice of the library. */
export class FileError extends Error {
    constructor(code, message) {
        super(message);
        this.code = code;
    }
}

/** Escapes each name of a path, because a file's name may hold `#` or `?`. */
const path = (address) => address.split('/').map(encodeURIComponent).join('/');

/** @returns {Promise<Uint8Array>} */
export async function bytes(address) {
    let answer;
    try {
        answer = await fetch(address);
    } catch {
        throw new FileError('unreadable', `${address} cannot be read`);
    }
    if (!answer.ok) throw new FileError('unreadable', `${address} cannot be read: status ${answer.status}`);
    return new Uint8Array(await answer.arrayBuffer());
}

/** @returns {Promise<Source[]>} */
export async function builtIn(key) {
    const found = BUILT_IN.find((it) => it.key === key) ?? BUILT_IN[0];
    const name = found.file.split('/').pop();
    return [{ name, files: { [name]: await bytes(found.file) } }];
}

/**
 * Files that were dropped or chosen: each model is a source of its own, and all share the parts.
 *
 * @param {Record<string, Uint8Array>} all
 * @returns {Source[]}
 */
export function sources(all) {
    const names = Object.keys(all);
    const models = names.filter((name) => MODELS.test(name));
    // Without a known ending, the content decides.
    if (models.length === 0 && names.length === 1) models.push(names[0]);
    if (models.length === 0) throw new FileError('no-such-model', `none of ${names.length} files is a model`);
    const parts = names.filter((name) => !models.includes(name));
    // Files with a mesh come first: the others may add clips.
    const rank = (name) => (/\.(bvh|vrma)$/i.test(name) ? 1 : 0);
    models.sort((a, b) => rank(a) - rank(b));
    return models.map((name) => ({
        name,
        files: Object.fromEntries([name, ...parts].map((it) => [it, all[it]])),
    }));
}

/** Reads a list of files. @param {Iterable<File>} list */
export async function read(list) {
    const all = {};
    for (const file of list) {
        try {
            all[file.webkitRelativePath || file.name] = new Uint8Array(await file.arrayBuffer());
        } catch {
            throw new FileError('unreadable', `${file.name} cannot be read`);
        }
    }
    return sources(all);
}

/** Files of a drop, also those in folders. @param {DataTransfer} transfer */
export async function dropped(transfer) {
    const entries = [...transfer.items].map((it) => it.webkitGetAsEntry?.()).filter(Boolean);
    if (entries.length === 0) return read(transfer.files);
    const all = {};
    const visit = async (entry, path) => {
        if (entry.isFile) {
            const file = await new Promise((done, failed) => entry.file(done, failed));
            all[path + file.name] = new Uint8Array(await file.arrayBuffer());
        } else {
            const reader = entry.createReader();
            for (;;) {
                const some = await new Promise((done, failed) => reader.readEntries(done, failed));
                if (some.length === 0) break;
                for (const inner of some) await visit(inner, `${path}${entry.name}/`);
            }
        }
    };
    for (const entry of entries) await visit(entry, '');
    return sources(all);
}

/** The `open` addresses of the page's own address: those of this server only. */
export function asked(search) {
    const all = new URLSearchParams(search).getAll('open');
    for (const address of all) {
        if (new URL(address, document.baseURI).origin !== location.origin) {
            throw new FileError(
                'unreadable',
                `${address} is not on this server, and the page loads nothing from elsewhere`,
            );
        }
    }
    return all;
}

/**
 * Reads files by address. A number after `model/` separates models.
 *
 * @param {string[]} addresses
 * @returns {Promise<Source[]>}
 */
export async function fetched(addresses) {
    const groups = new Map();
    for (const address of addresses) {
        const [, group, name] = /^model\/(\d+)\/(.+)$/.exec(address) ?? [
            undefined,
            '0',
            address.split('/').pop(),
        ];
        if (!groups.has(group)) groups.set(group, {});
        groups.get(group)[name] = await bytes(path(address));
    }
    return [...groups.values()].map((files) => ({ name: Object.keys(files)[0], files }));
}

/** Calls back after one of the files on the server has changed. @param {string[]} addresses */
export function watch(addresses, changed) {
    const known = new Map();
    const look = async () => {
        let differs = false;
        for (const address of addresses) {
            try {
                const answer = await fetch(path(address), { method: 'HEAD', cache: 'no-store' });
                const tag = answer.ok ? answer.headers.get('etag') : undefined;
                if (tag) {
                    differs ||= known.has(address) && known.get(address) !== tag;
                    known.set(address, tag);
                }
            } catch {
                // The server has ended, or the file is being written.
            }
        }
        if (differs) await changed();
        setTimeout(look, 1000);
    };
    look();
}
