// Service worker: keeps the files of the page, so that it works without a network. The build writes VERSION,
// FILES and LATER above. The encoder and the decoder of Draco are kept once they
// were used.

addEventListener('install', (event) => {
    event.waitUntil(
        caches
            .open(VERSION)
            .then((cache) => cache.addAll(FILES))
            .then(() => skipWaiting()),
    );
});

addEventListener('activate', (event) => {
    const old = async () => {
        for (const name of await caches.keys()) if (name !== VERSION) await caches.delete(name);
        await clients.claim();
    };
    event.waitUntil(old());
});

addEventListener('fetch', (event) => {
    if (event.request.method !== 'GET') return;
    const kept = async () => {
        const cache = await caches.open(VERSION);
        const address = new URL(event.request.url);
        const request = address.pathname.endsWith('/') ? './' : event.request;
        const found = await cache.match(request, { ignoreSearch: true });
        if (found) return found;
        const answer = await fetch(event.request);
        if (answer.ok && LATER.some((name) => address.pathname.endsWith(`/${name}`))) {
            await cache.put(event.request, answer.clone());
        }
        return answer;
    };
    event.respondWith(kept());
});
