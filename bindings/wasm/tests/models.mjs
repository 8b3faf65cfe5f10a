// Paths of the models of the tests.

import { join } from 'node:path';

/** Path of `testdata/NAME` in the checkout or of `models/NAME`, a reference character in the folder CONDYLE_MODELS. */
export function fileOf(path) {
    if (!path.startsWith('models/')) return join(process.env.CONDYLE_ROOT, path);
    const models = process.env.CONDYLE_MODELS;
    return models && join(models, path.slice('models/'.length));
}
