// The view: renderer, camera, light and floor, and the drawing in two halves.

import {
    AmbientLight,
    DirectionalLight,
    GridHelper,
    HemisphereLight,
    PerspectiveCamera,
    Scene,
    Spherical,
    Vector3,
    WebGLRenderer,
} from 'three';
import { OrbitControls } from 'three/addons/controls/OrbitControls.js';

import { at } from './dom.js';
import { FileError } from './files.js';

const ANGLE = 35;

export class Stage {
    constructor() {
        this.canvas = at('stage');
        this.marks = at('marks');
        try {
            this.renderer = new WebGLRenderer({ canvas: this.canvas, antialias: true, alpha: true });
        } catch {
            throw new FileError('no-graphics', 'the browser has no WebGL 2');
        }
        this.scene = new Scene();
        this.camera = new PerspectiveCamera(ANGLE, 1, 0.01, 100);
        this.controls = new OrbitControls(this.camera, this.canvas);
        this.light();
        this.sphere = { center: new Vector3(0, 1, 0), radius: 1 };
        /** Functions that draw over the picture: `(context, place)`. */
        this.painters = [];
        /** Whether the picture is out of date. */
        this.dirty = true;
        this.controls.addEventListener('change', () => (this.dirty = true));
        new ResizeObserver(() => this.resize()).observe(at('view'));
        this.resize();
    }

    light() {
        const key = new DirectionalLight(0xffffff, 2.2);
        key.position.set(0.6, 1, 1);
        // The camera carries it, so that no side is dark.
        this.camera.add(key);
        this.scene.add(
            this.camera,
            new HemisphereLight(0xffffff, 0x777f88, 1.3),
            new AmbientLight(0xffffff, 0.25),
        );
    }

    resize() {
        const { clientWidth: width, clientHeight: height } = at('view');
        if (width === 0 || height === 0) return;
        const ratio = Math.min(devicePixelRatio, 2);
        this.width = width;
        this.height = height;
        this.renderer.setPixelRatio(ratio);
        this.renderer.setSize(width, height, false);
        this.marks.width = width * ratio;
        this.marks.height = height * ratio;
        this.dirty = true;
    }

    /** Shows a sphere: `[x, y, z, radius]`. */
    fit([x, y, z, radius] = [...this.sphere.center, this.sphere.radius], aspect = this.width / this.height) {
        radius = radius > 0 ? radius : 1;
        this.sphere.center.set(x, y, z);
        this.sphere.radius = radius;
        const half = Math.tan((ANGLE * Math.PI) / 360) * Math.min(1, aspect);
        const distance = (radius * 1.02) / Math.sin(Math.atan(half));
        this.controls.target.copy(this.sphere.center);
        this.camera.position.set(0.45, 0.22, 1).setLength(distance).add(this.sphere.center);
        this.camera.near = distance / 200;
        this.camera.far = distance * 50;
        this.controls.update();
        this.setFloor(radius);
    }

    setFloor(radius) {
        if (this.floor) {
            this.scene.remove(this.floor);
            this.floor.dispose();
        }
        // Squares of a length that reads well: a power of ten.
        const square = 10 ** Math.round(Math.log10(radius / 4));
        const count = 2 * Math.ceil((radius * 2.5) / square);
        this.floor = new GridHelper(count * square, count, 0x8a949e, 0xaab3bb);
        this.floor.material.transparent = true;
        this.floor.material.opacity = 0.55;
        this.floor.material.depthWrite = false;
        this.floor.visible = this.hasFloor ?? true;
        this.floor.rotation.x = this.angle ?? 0;
        this.scene.add(this.floor);
        this.dirty = true;
    }

    showFloor(shown) {
        this.hasFloor = shown;
        if (this.floor) this.floor.visible = shown;
        this.dirty = true;
    }

    /** Tilts the floor around the X axis, in radians. */
    tilt(angle) {
        this.angle = angle;
        if (this.floor) this.floor.rotation.x = angle;
        this.dirty = true;
    }

    /** Moves the camera near a point. */
    look(x, y, z) {
        const offset = this.camera.position.clone().sub(this.controls.target);
        this.controls.target.set(x, y, z);
        offset.setLength(Math.min(offset.length(), this.sphere.radius * 1.2));
        this.camera.position.copy(this.controls.target).add(offset);
        this.controls.update();
        this.dirty = true;
    }

    /** Turns the camera around its target, in radians. */
    turn(around, up) {
        const offset = this.camera.position.clone().sub(this.controls.target);
        const place = new Spherical().setFromVector3(offset);
        place.theta += around;
        place.phi = Math.min(Math.max(place.phi + up, 0.05), Math.PI - 0.05);
        this.camera.position.setFromSpherical(place).add(this.controls.target);
        this.controls.update();
    }

    zoom(factor) {
        const { target } = this.controls;
        this.camera.position.sub(target).multiplyScalar(factor).add(target);
        this.controls.update();
    }

    /**
     * Draws the scene once, or twice under one camera.
     *
     * @param {Array<() => void>} halves Each shows what its half has.
     */
    render(halves) {
        const { renderer, width, height } = this;
        const each = width / halves.length;
        this.camera.aspect = each / height;
        this.camera.updateProjectionMatrix();
        renderer.setScissorTest(halves.length > 1);
        halves.forEach((show, half) => {
            show();
            renderer.setViewport(half * each, 0, each, height);
            renderer.setScissor(half * each, 0, each, height);
            renderer.render(this.scene, this.camera);
        });
        this.paint(each * (halves.length - 1), each, halves.length > 1);
        this.dirty = false;
    }

    /** Draws marks over the last half. */
    paint(left, width, hasLine) {
        const context = this.marks.getContext('2d');
        const ratio = this.marks.width / this.width;
        context.setTransform(ratio, 0, 0, ratio, 0, 0);
        context.clearRect(0, 0, this.width, this.height);
        // Chromium without a GPU goes on to show the old marks if a canvas was only cleared.
        context.fillStyle = 'rgba(128, 128, 128, 0.01)';
        context.fillRect(0, 0, 1, 1);
        if (hasLine) {
            context.fillStyle = '#7a848d';
            context.fillRect(left - 1, 0, 2, this.height);
        }
        const point = new Vector3();
        /** Pixel of a point, or undefined behind the camera. */
        const place = (x, y, z) => {
            point.set(x, y, z).project(this.camera);
            if (point.z > 1 || point.z < -1) return undefined;
            return [left + ((point.x + 1) / 2) * width, ((1 - point.y) / 2) * this.height];
        };
        context.save();
        context.beginPath();
        context.rect(left, 0, width, this.height);
        context.clip();
        for (const painter of this.painters) painter(context, place);
        context.restore();
    }

    /** Ray through a pixel of the page: origin and direction. */
    ray(event) {
        const box = this.canvas.getBoundingClientRect();
        const x = ((event.clientX - box.left) / box.width) * 2 - 1;
        const y = 1 - ((event.clientY - box.top) / box.height) * 2;
        this.camera.updateMatrixWorld();
        const origin = new Vector3().setFromMatrixPosition(this.camera.matrixWorld);
        const direction = new Vector3(x, y, 0.5).unproject(this.camera).sub(origin).normalize();
        return { origin, direction };
    }

    /** The last picture with its marks and background. */
    picture() {
        const canvas = document.createElement('canvas');
        canvas.width = this.canvas.width;
        canvas.height = this.canvas.height;
        const context = canvas.getContext('2d');
        context.fillStyle = getComputedStyle(at('view')).backgroundColor;
        context.fillRect(0, 0, canvas.width, canvas.height);
        context.drawImage(this.canvas, 0, 0);
        context.drawImage(this.marks, 0, 0, canvas.width, canvas.height);
        return new Promise((done) => canvas.toBlob(done, 'image/png'));
    }
}
