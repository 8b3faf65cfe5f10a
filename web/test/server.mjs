// A server like that of `condyle view`: a token, its content security policy, and tags of files.

import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { dirname, extname, join, normalize, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
/** The built page. */
export const SITE = resolve(process.env.CONDYLE_WEB ?? join(here, '../../target/web'));
export const DATA = resolve(here, '../../testdata');
/** The npm package that the page was built with. */
export const PACKAGE = pathToFileURL(`${resolve(process.env.CONDYLE_PACKAGE ?? join(here, '../../target/npm/condyle'))}/`);

/** As in tools/condyle-cli/src/commands/view/server.rs. */
const POLICY =
    "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; img-src 'self' blob: data:; " +
    "connect-src 'self' blob: data:; worker-src 'self' blob:; " +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const TYPES = {
    '.html': 'text/html; charset=utf-8',
    '.js': 'text/javascript; charset=utf-8',
    '.css': 'text/css; charset=utf-8',
    '.wasm': 'application/wasm',
    '.svg': 'image/svg+xml',
};

/**
 * Starts a server.
 *
 * `models` are the files under `model/`, which a test may change.
 *
 * @returns {Promise<{ address: string, models: Map<string, Buffer>, close: () => void }>}
 */
export async function serve() {
    const models = new Map();
    const server = createServer(async (request, response) => {
        const path = decodeURIComponent(new URL(request.url, 'http://localhost').pathname);
        const name = path.startsWith('/token/') ? path.slice(7) || 'index.html' : undefined;
        let data = models.get(name);
        if (!data && name && normalize(name) === name)
            data = await readFile(join(SITE, name)).catch(() => undefined);
        const tag = data && createHash('sha256').update(data).digest('hex').slice(0, 16);
        response.writeHead(data ? 200 : 404, {
            'Content-Type': TYPES[extname(name ?? '')] ?? 'application/octet-stream',
            'Content-Security-Policy': POLICY,
            'Cache-Control': 'no-store',
            ...(data ? { ETag: `"${tag}"` } : {}),
        });
        response.end(request.method === 'HEAD' ? undefined : data);
    });
    await new Promise((done) => server.listen(0, '127.0.0.1', done));
    return {
        address: `http://127.0.0.1:${server.address().port}/token/`,
        models,
        close: () => {
            server.closeAllConnections();
            server.close();
        },
    };
}
