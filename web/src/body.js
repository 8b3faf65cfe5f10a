// A character as it is drawn: `condyle/three` fills its bone textures from a pose.

import { CondyleCharacter } from 'condyle/three';
import { BufferAttribute, BufferGeometry, Group, Mesh, MeshBasicMaterial, SkinnedMesh } from 'three';

const wire = new MeshBasicMaterial({ color: 0x111111, wireframe: true, transparent: true, opacity: 0.45 });
wire.polygonOffset = true;
wire.polygonOffsetFactor = -1;

export class Body {
    /**
     * @param {import('./load.js').Character} character
     * @param {import('condyle').MeshPose} pose
     */
    constructor({ model, parts }, pose) {
        this.parts = parts;
        this.pose = pose;
        this.object = new Group();
        /** Whether vertices are posed by Condyle on the CPU. */
        this.onCpu = false;
        this.meshes = parts.map((part) => this.make(part));
        this.posed = parts.map(() => undefined);
        // Own objects, because two bodies share a document, and some files have none.
        const of = ({ mesh: { node, primitive } }, at) => [
            this.meshes[at],
            { nodes: node, primitives: primitive },
        ];
        const parser = { associations: new Map(parts.map(of)) };
        this.character = new CondyleCharacter({ scene: this.object, parser }, model, pose);
    }

    /** @param {import('./load.js').Part} part */
    make({ mesh, geometry, material, place }) {
        if (mesh.skin < 0) {
            const object = this.add(new Mesh(geometry, material), mesh.shown);
            object.matrix.copy(place);
            return object;
        }
        return this.add(new SkinnedMesh(geometry, material), mesh.shown);
    }

    add(object, shown) {
        object.matrixAutoUpdate = false;
        object.userData.shown = shown;
        object.visible = shown;
        this.object.add(object);
        return object;
    }

    /** Draws the pose, after `toModel`. */
    update() {
        this.character.update();
        this.parts.forEach(({ mesh, isWhole }, index) => {
            const isPosed = this.onCpu || !isWhole;
            if (isPosed) this.write(index);
            this.meshes[index].visible = mesh.shown && !isPosed;
            if (this.posed[index]) this.posed[index].visible = mesh.shown && isPosed;
        });
    }

    /** Copies vertices that Condyle has posed. */
    write(index) {
        const { positions, normals } = this.pose.skin(index);
        if (!this.posed[index]) {
            const { geometry, material, mesh } = this.parts[index];
            const own = new BufferGeometry();
            own.setIndex(geometry.index);
            for (const name of ['uv', 'color', 'heat']) {
                if (geometry.attributes[name]) own.setAttribute(name, geometry.attributes[name]);
            }
            own.setAttribute('position', new BufferAttribute(positions.slice(), 3));
            if (normals.length > 0) own.setAttribute('normal', new BufferAttribute(normals.slice(), 3));
            this.posed[index] = this.add(new Mesh(own, material), mesh.shown);
            this.dress();
        }
        const { position, normal } = this.posed[index].geometry.attributes;
        position.array.set(positions);
        position.needsUpdate = true;
        if (normal && normals.length > 0) {
            normal.array.set(normals);
            normal.needsUpdate = true;
        }
    }

    /** Sets another material for all meshes, or their own. */
    dress(material = this.material) {
        this.material = material;
        for (const list of [this.meshes, this.posed]) {
            list.forEach((object, index) => {
                if (!object) return;
                object.material = material ?? this.parts[index].material;
                const { heat } = this.parts[index].geometry.attributes;
                if (heat) object.geometry.setAttribute('heat', heat);
            });
        }
    }

    /** Draws the edges of the triangles too. */
    setWire(shown) {
        for (const object of [...this.meshes, ...this.posed]) {
            if (!object) continue;
            let edges = object.children[0];
            if (!edges && shown) {
                edges = object.isSkinnedMesh
                    ? new SkinnedMesh(object.geometry, wire)
                    : new Mesh(object.geometry, wire);
                if (object.isSkinnedMesh) {
                    const { skeleton, bindMode, bindMatrix, bindMatrixInverse, boundingSphere } = object;
                    Object.assign(edges, {
                        skeleton,
                        bindMode,
                        bindMatrix,
                        bindMatrixInverse,
                        boundingSphere,
                    });
                }
                edges.morphTargetInfluences = object.morphTargetInfluences;
                object.add(edges);
            }
            if (edges) edges.visible = shown;
        }
    }

    dispose() {
        this.character.dispose();
        for (const object of this.posed) object?.geometry.dispose();
    }
}
