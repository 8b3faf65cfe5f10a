// Pictures of the page for a person to look at: `node test/pictures.mjs`. They are written to
// target/web-pictures.

import { launch, NARROW, Tab, WIDE } from './browser.mjs';
import { serve } from './server.mjs';

const browser = await launch();
const server = await serve();
for (const [size, word] of [
    [WIDE, 'wide'],
    [NARROW, 'narrow'],
]) {
    for (const dark of [false, true]) {
        const tab = await Tab.open(browser, server, { size, dark });
        const name = `${word}-${dark ? 'dark' : 'light'}`;
        await tab.picture(`${name}-first`);
        await tab.set('scrub', '0.3');
        await tab.set('bones', true);
        await tab.set('names', !dark);
        await tab.picture(`${name}-skeleton`);
        await tab.set('bones', false);
        await tab.set('names', false);
        await tab.set('budget', '50');
        await tab.page.waitForFunction(() => !document.getElementById('heat').disabled, { timeout: 60_000 });
        await tab.set('heat', true);
        await tab.set('split', true);
        await tab.click('fit');
        await tab.picture(`${name}-heat`);
        await tab.set('split', false);
        await tab.set('heat', false);
        await tab.set('crowd', '20');
        await tab.drawn();
        await tab.picture(`${name}-crowd`);
        await tab.drop({ 'broken.glb': Buffer.from('no model') });
        await tab.picture(`${name}-fault`);
        console.log(name, `first picture ${tab.first.toFixed(0)} ms`, tab.faults);
        await tab.close();
    }
}
await browser.close();
server.close();
