// Chromium with software graphics, and what all tests do in it.

import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

import puppeteer from 'puppeteer-core';

const here = dirname(fileURLToPath(import.meta.url));
const PICTURES = resolve(here, '../../target/web-pictures');

export const WIDE = { width: 1280, height: 800 };
export const NARROW = { width: 390, height: 844 };

export function launch() {
    return puppeteer.launch({
        executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
        args: ['--headless=new', '--no-sandbox', '--use-angle=swiftshader', '--enable-unsafe-swiftshader'],
        protocolTimeout: 120_000,
    });
}

/** A page of the browser that notes errors and requests to elsewhere. */
export class Tab {
    static async open(
        browser,
        server,
        { size = WIDE, query = '', dark = false, motion = false, untouched = false } = {},
    ) {
        const tab = new Tab();
        tab.page = await browser.newPage();
        tab.server = server;
        /** Everything that must not happen. */
        tab.faults = [];
        tab.requests = [];
        await tab.page.setViewport(size);
        await tab.page.emulateMediaFeatures([
            { name: 'prefers-color-scheme', value: dark ? 'dark' : 'light' },
            // The character stands still, so that tests do not depend on speed.
            { name: 'prefers-reduced-motion', value: motion ? 'no-preference' : 'reduce' },
        ]);
        tab.page.on('console', (line) => {
            if (line.type() === 'error') tab.faults.push(`console: ${line.text()}`);
        });
        tab.page.on('pageerror', (error) => tab.faults.push(`error: ${error.message}`));
        tab.page.on('request', (request) => {
            const address = request.url();
            tab.requests.push(address);
            const isOwn = address.startsWith(server.address) || /^(blob|data):/.test(address);
            if (!isOwn) tab.faults.push(`request to ${address}`);
        });
        const begin = performance.now();
        await tab.page.goto(server.address + query);
        await tab.ready();
        /** Milliseconds to the first picture. */
        tab.first = performance.now() - begin;
        if (!untouched) await tab.touch();
        return tab;
    }

    /** Waits until a character is shown, or a message. */
    async ready() {
        await this.page.waitForFunction(() => document.body.dataset.state !== 'loading', { timeout: 60_000 });
        await this.drawn();
    }

    /** Lets the whole page load, as a person does. */
    async touch() {
        const isFirst = await this.page.evaluate(() => document.body.dataset.state === 'first');
        if (!isFirst) return;
        await this.page.evaluate(() =>
            document.body.dispatchEvent(new Event('pointerdown', { bubbles: true })),
        );
        await this.ready();
    }

    /** Waits for two frames. */
    drawn() {
        return this.page.evaluate(
            () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))),
        );
    }

    text(id) {
        return this.page.$eval(`#${id}`, (it) => it.textContent);
    }

    isHidden(id) {
        return this.page.$eval(`#${id}`, (it) => it.hidden);
    }

    /** Sets a control as a person does. */
    async set(id, to) {
        await this.page.$eval(
            `#${id}`,
            (element, to) => {
                element.closest('details')?.setAttribute('open', '');
                if (element.type === 'checkbox') {
                    if (element.checked !== to) element.click();
                    return;
                }
                element.value = to;
                element.dispatchEvent(new Event('input', { bubbles: true }));
                element.dispatchEvent(new Event('change', { bubbles: true }));
            },
            to,
        );
        await this.drawn();
    }

    async click(id) {
        await this.page.$eval(`#${id}`, (element) => {
            element.closest('details')?.setAttribute('open', '');
            element.click();
        });
        await this.drawn();
    }

    /** Drops files on the page: names and bytes. */
    async drop(files) {
        const list = Object.entries(files).map(([name, data]) => [
            name,
            Buffer.from(data).toString('base64'),
        ]);
        await this.page.evaluate((list) => {
            const transfer = new DataTransfer();
            for (const [name, data] of list) {
                transfer.items.add(new File([Uint8Array.from(atob(data), (it) => it.charCodeAt(0))], name));
            }
            document.body.dataset.state = 'loading';
            dispatchEvent(new DragEvent('drop', { dataTransfer: transfer, bubbles: true, cancelable: true }));
        }, list);
        await this.ready();
    }

    /** Picture of the stage as bytes of a PNG. */
    async stage() {
        const element = await this.page.$('#view');
        return Buffer.from(await element.screenshot());
    }

    /**
     * Share of the pixels of the stage that differ from a stored picture by more than 8 of 255. With
     * `CONDYLE_WRITE=1`, the picture is stored.
     */
    async difference(name) {
        await this.page.$$eval('#marks, #legend, .side', (all) => {
            for (const it of all) it.hidden = true;
        });
        const now = await this.stage();
        const path = join(here, 'pictures', `${name}.png`);
        if (process.env.CONDYLE_WRITE) {
            await mkdir(dirname(path), { recursive: true });
            await writeFile(path, now);
        }
        return this.share(now, await readFile(path));
    }

    /** Share of the pixels of two pictures that differ by more than 8 of 255. */
    share(...files) {
        const pictures = files.map((it) => it.toString('base64'));
        return this.page.evaluate(async (pictures) => {
            const [a, b] = await Promise.all(
                pictures.map(async (text) => {
                    const data = await fetch(`data:image/png;base64,${text}`);
                    const bitmap = await createImageBitmap(await data.blob());
                    const canvas = new OffscreenCanvas(bitmap.width, bitmap.height);
                    const context = canvas.getContext('2d');
                    context.drawImage(bitmap, 0, 0);
                    return context.getImageData(0, 0, bitmap.width, bitmap.height).data;
                }),
            );
            if (a.length !== b.length) return 1;
            let count = 0;
            for (let at = 0; at < a.length; at += 4) {
                if ([0, 1, 2].some((it) => Math.abs(a[at + it] - b[at + it]) > 8)) count++;
            }
            return count / (a.length / 4);
        }, pictures);
    }

    async picture(name) {
        await mkdir(PICTURES, { recursive: true });
        await this.page.screenshot({ path: join(PICTURES, `${name}.png`) });
    }

    close() {
        return this.page.close();
    }
}
