// Plays models of condyle in PlayCanvas. `playcanvas.d.ts` documents it.
import * as pc from 'playcanvas';
import { changes, crowdOf, matricesOf, raycast } from './adapter.js';
import { LINES, code } from './playcanvas-code.js';

/** Draws the meshes of a container with matrices of one texture. */
class Figure {
    constructor({ data, _defaultMaterial }, model, count, sourceOf) {
        // These properties are not documented; the tests notice a change.
        const meshOf = ({ node, primitive }) => data.renders[data.gltf.nodes[node]?.mesh]?.meshes[primitive];
        const all = model.meshes.map((it, index) => ({ ...it, index, mesh: meshOf(it) }));
        const drawn = all.filter(({ mesh, vertices }) => mesh?.vertexBuffer.numVertices === vertices);
        if (drawn.length === 0) throw new Error('the container was not made of the file of the model');
        const { device } = drawn[0].mesh;
        this.source = sourceOf(drawn, device.maxTextureSize);
        const { width, height } = this.source;
        const filter = { mipmaps: false, minFilter: pc.FILTER_NEAREST, magFilter: pc.FILTER_NEAREST };
        this.texture = new pc.Texture(device, { width, height, format: pc.PIXELFORMAT_RGBA32F, ...filter });
        const format = LINES.map((semantic) => ({ semantic, components: 4, type: pc.TYPE_FLOAT32 }));
        this.buffer = new pc.VertexBuffer(device, new pc.VertexFormat(device, format), count, { usage: pc.BUFFER_DYNAMIC });
        this.places = new Float32Array(this.buffer.lock());
        this.entity = new pc.Entity('condyle');
        this.drawn = drawn.map((it) => {
            const material = (data.materials[data.meshDefaultMaterials[it.mesh.id]] ?? _defaultMaterial).clone();
            LINES.forEach((semantic, at) => material.setAttribute(`place${at}`, semantic));
            material.getShaderChunks(pc.SHADERLANGUAGE_GLSL).set('transformInstancingVS', code(this.source, it));
            material.setParameter('condyle_palettes', this.texture);
            const fixed = data.nodes[it.node].getWorldTransform();
            material.setParameter('condyle_fixed', fixed.data);
            material.update();
            const instance = new pc.MeshInstance(it.mesh, material, this.entity);
            if (it.mesh.morph) instance.morphInstance = new pc.MorphInstance(it.mesh.morph);
            instance.setInstancing(this.buffer);
            if (it.skin < 0 && it.joint < 0) instance.flipFacesFactor = fixed.scaleSign;
            return { ...it, instance, material };
        });
        this.entity.addComponent('render', { meshInstances: this.drawn.map(({ instance }) => instance) });
        for (let at = 0; at < count; at++) this.setMatrixAt(at, pc.Mat4.IDENTITY);
    }

    setMatrixAt(index, { data }) {
        this.places.set(data, 16 * index);
        this.moved = true;
    }

    update(seconds) {
        this.texture.lock().set(this.source.update(seconds));
        this.texture.unlock();
        if (this.moved) this.buffer.unlock();
        this.moved = false;
    }

    destroy() {
        for (const { material } of this.drawn) material.destroy();
        for (const it of [this.entity, this.texture, this.buffer]) it.destroy();
        (this.crowd ?? this.own)?.dispose();
    }
}

export class CondyleCharacter extends Figure {
    constructor(container, model, given) {
        const pose = given ?? model.pose();
        super(container, model, 1, (drawn) => matricesOf(model, drawn, pose));
        const morphs = this.drawn.map(({ index }) => changes(() => pose.morphs?.(index)));
        Object.assign(this, { pose, morphs, own: given ? undefined : pose }).update();
    }

    update() {
        super.update();
        const bounds = this.pose.bounds?.();
        const box = bounds && new pc.BoundingBox();
        box?.setMinMax(new pc.Vec3(bounds.min), new pc.Vec3(bounds.max));
        for (const [at, { instance }] of this.drawn.entries()) {
            instance.cull = Boolean(box);
            instance.setCustomAabb(box);
            this.morphs[at]((weight, target) => instance.morphInstance?.setWeight(target, weight));
        }
    }

    raycast(ray) {
        const world = this.entity.getWorldTransform();
        return raycast(this.pose, ray, world.data, world.clone().invert().data);
    }
}

export class CondyleCrowd extends Figure {
    constructor(container, model, count) {
        super(container, model, count, (drawn, limit) => crowdOf(model, drawn, count, { limit }));
        this.crowd = this.source.crowd;
        this.update();
    }
}
