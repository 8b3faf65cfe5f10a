// Worker with the encoder. It is started when the slider of the budget is touched.

import { init } from 'condyle/encode';

let started;
let model;

const calls = {
    async open({ files, name, unit }) {
        started ??= init();
        const condyle = await started;
        model?.dispose();
        model = undefined;
        model = await condyle.open(files, { name, unit, warm: false });
        encoded.clear();
    },
    encode({ clip, millimetres }) {
        const replace = encoded.get(clip);
        const result = model.encode(clip, { millimetres, replace });
        encoded.set(clip, result.clip);
        return result;
    },
    unit({ unit }) {
        model.setUnit(unit);
    },
    save({ millimetres }) {
        return model.save({ millimetres });
    },
};

/** Index of the compressed clip for each clip that was compressed. */
const encoded = new Map();

addEventListener('message', async ({ data: { id, call, ...options } }) => {
    try {
        postMessage({ id, result: await calls[call](options) });
    } catch (error) {
        postMessage({ id, error: { message: error.message, code: error.code, problems: error.problems } });
    }
});
