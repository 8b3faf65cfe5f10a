// The skeleton as lines, the names of joints, and a joint that is pointed out.

import { at, checked, on } from './dom.js';

export class Skeleton {
    /** @param {import('./page.js').Page} page */
    constructor(page) {
        this.page = page;
        /** Joint that a problem is about. */
        this.marked = -1;
        for (const id of ['bones', 'names']) on(id, 'change', () => page.changed());
        page.stage.painters.push((context, place) => this.paint(context, place));
    }

    open() {
        this.marked = -1;
        // Without meshes, the skeleton is all there is to see.
        const isAlone = this.page.model.meshes.length === 0;
        if (isAlone || this.wasAlone) at('bones').checked = isAlone;
        this.wasAlone = isAlone;
    }

    paint(context, place) {
        const { page } = this;
        const hasNames = checked('names');
        if (page.crowd.isShown || (!checked('bones') && !hasNames && this.marked < 0)) return;
        const { model } = page.shownPose;
        const pixels = page.model.joints.map((_, joint) =>
            place(...model.subarray(16 * joint + 12, 16 * joint + 15)),
        );
        if (checked('bones')) this.lines(context, pixels);
        if (hasNames) {
            page.model.joints.forEach(({ name }, joint) => {
                if (pixels[joint]) page.write(context, name, pixels[joint][0] + 5, pixels[joint][1] - 3, 11);
            });
        }
        const marked = pixels[this.marked];
        if (marked) {
            context.strokeStyle = '#ff5a4d';
            context.lineWidth = 3;
            context.beginPath();
            context.arc(...marked, 9, 0, 7);
            context.stroke();
            page.write(context, page.model.joints[this.marked].name, marked[0] + 13, marked[1] - 6);
        }
    }

    lines(context, pixels) {
        for (const [style, width] of [
            ['#000000', 4],
            ['#ffd34d', 2],
        ]) {
            context.strokeStyle = style;
            context.lineWidth = width;
            context.beginPath();
            this.page.model.joints.forEach(({ parent }, joint) => {
                if (parent < 0 || !pixels[joint] || !pixels[parent]) return;
                context.moveTo(...pixels[parent]);
                context.lineTo(...pixels[joint]);
            });
            context.stroke();
        }
        context.fillStyle = '#ffffff';
        for (const pixel of pixels) {
            if (!pixel) continue;
            context.beginPath();
            context.arc(...pixel, 2.5, 0, 7);
            context.fill();
            context.lineWidth = 1;
            context.strokeStyle = '#000000';
            context.stroke();
        }
    }
}
