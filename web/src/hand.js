// A point of the body that follows the pointer, and feet on a slope.

import { Matrix4, Plane, Quaternion, Vector3 } from 'three';

import { at, checked, choices, on, say, value } from './dom.js';

export class Hand {
    /** @param {import('./page.js').Page} page */
    constructor(page) {
        this.page = page;
        /** The point that is held: joint, offset in its space, and the place to reach. */
        this.goal = undefined;
        this.plane = new Plane();
        const { canvas } = page.stage;
        // Before the controls of the camera.
        canvas.addEventListener('pointerdown', (event) => this.take(event), { capture: true });
        canvas.addEventListener('pointermove', (event) => this.drag(event));
        for (const end of ['pointerup', 'pointercancel']) canvas.addEventListener(end, () => this.end());
        on('grab', 'change', () => {
            canvas.classList.toggle('grab', checked('grab'));
            at('grab-joint').disabled = !checked('grab');
            if (!checked('grab')) this.letGo();
        });
        on('grab-joint', 'change', () => this.choose());
        on('let-go', 'click', () => this.letGo());
        page.stage.painters.push((context, place) => this.paint(context, place));
    }

    open() {
        this.goal = undefined;
        this.dragging = false;
        at('let-go').disabled = true;
        choices('grab-joint', [
            ['', 'None'],
            ...this.page.model.joints.map(({ name }, joint) => [joint, name]),
        ]);
    }

    take(event) {
        if (!this.page.character) return;
        const isOther = this.page.crowd.isShown || this.page.compression.isCompared;
        if (!checked('grab') || isOther || event.button !== 0) return;
        const { origin, direction } = this.page.stage.ray(event);
        const hit = this.page.pose.raycast([...origin], [...direction]);
        // A mesh that no joint moves cannot be held.
        if (!hit || hit.joint < 0) return;
        this.hold(hit.joint, new Vector3(...hit.position));
        this.plane.setFromNormalAndCoplanarPoint(direction, this.goal.place);
        this.dragging = true;
        this.page.stage.controls.enabled = false;
        this.page.stage.canvas.setPointerCapture?.(event.pointerId);
    }

    /** Holds a point of model space that belongs to a joint. */
    hold(joint, place) {
        const matrix = new Matrix4().fromArray(this.page.pose.model, 16 * joint);
        this.goal = { joint, place, offset: place.clone().applyMatrix4(matrix.invert()) };
        at('let-go').disabled = false;
        at('grab-joint').value = String(joint);
        this.page.changed();
    }

    choose() {
        if (at('grab-joint').value === '') return this.letGo();
        const joint = value('grab-joint');
        this.hold(joint, new Vector3().fromArray(this.page.pose.model, 16 * joint + 12));
        this.page.stage.canvas.focus();
    }

    drag(event) {
        if (!this.dragging) return;
        const { origin, direction } = this.page.stage.ray(event);
        const distance = this.plane.distanceToPoint(origin);
        const slope = this.plane.normal.dot(direction);
        if (slope !== 0) this.goal.place.copy(origin).addScaledVector(direction, -distance / slope);
        this.page.changed();
    }

    /** Moves the held point by the keys. */
    nudge(right, up) {
        const { camera, sphere } = this.page.stage;
        const step = sphere.radius / 40;
        this.goal.place.add(new Vector3(right * step, up * step, 0).applyQuaternion(camera.quaternion));
        this.page.changed();
    }

    end() {
        this.dragging = false;
        this.page.stage.controls.enabled = true;
    }

    letGo() {
        this.goal = undefined;
        this.end();
        at('let-go').disabled = true;
        at('grab-joint').value = '';
        this.page.changed();
    }

    /** Reaches for the goal. @param {import('condyle').MeshPose} pose */
    apply(pose) {
        if (!this.goal) return;
        const { joint, place, offset } = this.goal;
        pose.reach([{ joint, position: [...place], offset: [...offset] }], { iterations: 30 });
    }

    paint(context, place) {
        if (!this.goal) return;
        const pixel = place(...this.goal.place);
        if (!pixel) return;
        context.fillStyle = '#ff8c1a';
        context.strokeStyle = '#000000';
        context.lineWidth = 1.5;
        context.beginPath();
        context.arc(...pixel, 6, 0, 7);
        context.fill();
        context.stroke();
    }
}

export class Feet {
    /** @param {import('./page.js').Page} page */
    constructor(page) {
        this.page = page;
        on('feet', 'change', () => this.changed());
        on('slope', 'input', () => this.changed());
    }

    open() {
        this.feet?.dispose();
        this.feet = undefined;
        at('feet').checked = false;
        const found = legs(this.page.model.joints);
        at('feet').disabled = !found;
        if (found) this.feet = this.page.model.feet(found.pelvis, found.legs);
        at('feet-note').hidden = found !== undefined;
        say(
            'feet-note',
            'No two legs were found by the names of the joints: hip, knee and foot, left and right.',
        );
        this.changed();
    }

    changed() {
        const isOn = checked('feet');
        at('slope').disabled = !isOn;
        say('slope-text', `${value('slope')}°`);
        at('slope').setAttribute('aria-valuetext', `${value('slope')} degrees`);
        this.feet?.reset();
        this.page.stage.tilt(isOn ? this.angle : 0);
        this.page.changed();
    }

    get angle() {
        return (value('slope') * Math.PI) / 180;
    }

    /** Puts the feet on the slope. @param {import('condyle').MeshPose} pose */
    apply(pose, seconds) {
        if (!this.feet || !checked('feet')) return;
        const normal = new Vector3(0, 1, 0).applyQuaternion(
            new Quaternion().setFromAxisAngle(new Vector3(1, 0, 0), this.angle),
        );
        pose.place(this.feet, { point: [0, 0, 0], normal: [...normal] }, { seconds });
    }
}

/** Finds legs by names. */
export function legs(joints) {
    const isFoot = (name) =>
        /foot|ankle/i.test(name) && !/toe|ball|end|tip|ik|target|pole|ctrl|control|roll/i.test(name);
    const feet = joints.map(({ name }, joint) => ({ name, joint })).filter(({ name }) => isFoot(name));
    const found = feet.map(({ joint: foot }) => {
        const knee = joints[foot].parent;
        const hip = knee >= 0 ? joints[knee].parent : -1;
        const toe = joints.findIndex(({ name, parent }) => parent === foot && /toe|ball/i.test(name));
        return { hip, knee, foot, ...(toe >= 0 ? { toe } : {}) };
    });
    const pelvis = found.length === 2 && found[0].hip >= 0 ? joints[found[0].hip].parent : -1;
    if (pelvis < 0 || joints[found[1].hip]?.parent !== pelvis || found[0].hip === found[1].hip)
        return undefined;
    return { pelvis, legs: found };
}
