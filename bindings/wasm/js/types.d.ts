/// <reference lib="esnext.disposable" />

/**
 * Types of all three builds. `condyle/player` has {@link PlayerModel}, `condyle` has {@link Model}, and
 * `condyle/encode` has {@link EncodeModel}.
 *
 * Right-handed, +Y up, seconds, radians. Lengths are in units of the file. Quaternions are x, y, z, w.
 * Matrices are column-major, as in three.js, except where "rows" is written.
 *
 * Typed arrays that a getter returns are views of the module's memory. A view is valid until the next call of
 * the library, and only while its owner (the pose or the crowd) is referenced and not disposed. Then read the
 * getter again. Copy a view with `slice()` to keep or post it.
 *
 * An option that a function does not have is an error with the code "argument".
 */

/**
 * The .wasm file, for bundlers and content security policies: an address, its bytes, or a compiled
 * module.
 */
export type WasmSource = string | URL | Request | Response | BufferSource | WebAssembly.Module;

export interface PlayerInitOptions {
    /** Default: the file next to the JavaScript, found by `import.meta.url`. */
    wasm?: WasmSource | Promise<WasmSource>;
}

export interface InitOptions extends PlayerInitOptions {
    /** The same for `draco.wasm`, which is loaded once, for the first file with meshes compressed by Draco. */
    draco?: WasmSource | Promise<WasmSource>;
}

/** Owner of memory of the module. `using` calls `dispose`; so does the garbage collector, at some time. */
export interface Disposable {
    dispose(): void;
    [Symbol.dispose](): void;
}

/** An instance of the module with its own memory. Models of two instances do not share anything. */
export interface Condyle<M extends PlayerModel = PlayerModel> {
    readonly version: string;
    /** Memory of the module. */
    readonly memory: WebAssembly.Memory;
    /**
     * Opens a character: the bytes of one file, or all files by name if a .gltf consists of several.
     *
     * @throws {CondyleError} `problems` lists everything that is wrong with the file.
     */
    open(
        files: Uint8Array | ArrayBuffer | Record<string, Uint8Array | ArrayBuffer>,
        options?: OpenOptions,
    ): Promise<M>;
}

export interface OpenOptions {
    /**
     * Name for messages; its ending helps to recognise the format. With several files, the one to open.
     * Default: the only file that is a model, otherwise "model".
     */
    name?: string;
    /** Name of the model, if a .condyle file holds several. */
    model?: string;
    /** Metres per unit. Default: as the file states. */
    unit?: number;
    /** Turns a file with +Z up. Default: false. */
    zUp?: boolean;
    /**
     * Runs each stage some times, so that browsers compile it before the first frame. Errors of this are
     * ignored: the call that meets one throws it. Default: true.
     */
    warm?: boolean;
}

/** An error of the library. The message is for people. */
export class CondyleError extends Error {
    /** For errors of your own that are shown like those of the library. */
    constructor(code: string, message: string);
    /**
     * Stable word for programs, for example "file", "several-models", "index", "not-finite". With "argument",
     * a function was called with a wrong type or length.
     */
    readonly code: string;
    /** Place in the file, for example "/meshes/0"; empty if it is not known. */
    readonly path: string;
    /** Everything found in a file that was refused, errors first; otherwise empty. */
    readonly problems: readonly Problem[];
    /** Names to choose from, with the code "several-models" or "no-such-model"; otherwise empty. */
    readonly names: readonly string[];
}

export interface Problem {
    readonly severity: 'error' | 'warning' | 'note';
    /** JSON pointer, line, or array name; empty for the whole file. */
    readonly place: string;
    /** Number of places with the same problem. */
    readonly count: number;
    readonly what: string;
    /** How the problem was handled, or what to do. */
    readonly action: string;
    /** Joint at that place, if there is one. */
    readonly joint?: number;
}

export interface Joint {
    readonly name: string;
    /** Index of the parent, which is lower; -1 for a root. */
    readonly parent: number;
    /** Index of the glTF node; -1 without one. */
    readonly node: number;
}

export interface Clip {
    readonly name: string;
    /** Time of the first and of the last key. */
    readonly start: number;
    readonly end: number;
    /** Duration: `end - start`. */
    readonly seconds: number;
    readonly compressed: boolean;
    /** Size: of the compressed clip, or of all keys. */
    readonly bytes: number;
    /** Error bound of a compressed clip in units of the file; 0 for an uncompressed one. */
    readonly error: number;
    /** Whether the clip has root motion, which only a compressed clip can have. */
    readonly hasMotion: boolean;
    readonly events: readonly ClipEvent[];
    /** Set by {@link Model.toFrames}. */
    readonly frames: Frames | undefined;
}

export interface ClipEvent {
    readonly name: string;
    /** Time after the start of the clip. */
    readonly seconds: number;
}

/** An event that playback passes. */
export interface PassedEvent extends ClipEvent {
    /** Index in `events` of the clip. */
    readonly index: number;
    /** Loop in which it is passed, 0 for the first. */
    readonly loops: number;
    /** Its time on the clock of playback. */
    readonly clock: number;
}

/** Evenly spaced poses of a clip, which the module samples in its place. */
export interface Frames {
    /** Poses per second; 0 for a clip without duration. */
    readonly rate: number;
    /** Bound on the displacement from the clip in units of the file, on top of the error of the clip. */
    readonly error: number;
    /** Bound on half of the jumps between the segments of a compressed clip, which the frames smooth. */
    readonly seamError: number;
    /** Memory that they take in addition to the clip. */
    readonly bytes: number;
}

export interface FramesOptions {
    /** Largest displacement from the clip in units of the file; or `millimetres`, which `unit` converts. */
    error?: number;
    millimetres?: number;
    /**
     * Radius of the balls around joints whose points are measured, in units of the file. Default: the
     * distance of the farthest vertex of each joint, and 3 cm for joints without vertices.
     */
    radius?: number;
}

/** A clip of {@link MeshPose.sampleFrames}. */
export interface FrameLayer {
    /** Index of a clip with `frames`. */
    clip: number;
    seconds: number;
    /** At least 0, relative to the sum of all weights. Default: 1. */
    weight?: number;
    /** Factor of the weight for each joint. Default: 1. */
    mask?: Mask;
}

export interface Skin {
    /** Joint of the skeleton for each matrix of the palette. */
    readonly joints: Uint16Array;
}

/** A mesh primitive on a node. */
export interface Mesh {
    readonly name: string;
    /** Index into `skins`, or -1 for a mesh that follows one joint or none. */
    readonly skin: number;
    /** Joint that the mesh follows, or -1. */
    readonly joint: number;
    /**
     * Index of the glTF node, and of the primitive within its mesh: GLTFLoader's `associations` have
     * both.
     */
    readonly node: number;
    readonly primitive: number;
    readonly vertices: number;
    readonly triangles: number;
    readonly morphTargets: number;
    /** Linear base colour and opacity of the material, if the file has no document for another loader. */
    readonly color: readonly [number, number, number, number];
    /** Whether the file shows the mesh. */
    readonly shown: boolean;
}

/** A character: what `condyle/player` offers. */
export interface PlayerModel extends Disposable {
    readonly name: string;
    readonly joints: readonly Joint[];
    readonly clips: readonly Clip[];
    readonly skins: readonly Skin[];
    readonly meshes: readonly Mesh[];
    /** Problems that were repaired. */
    readonly problems: readonly Problem[];
    /**
     * Place of a glTF document in the bytes of a .condyle file, without clips, for loaders of engines:
     * `bytes.subarray(...model.document)`.
     */
    readonly document: readonly [start: number, end: number] | undefined;
    /** Metres per unit, or undefined if the file does not state it. */
    readonly unit: number | undefined;
    /** Index of the first clip with this name. @throws {CondyleError} with all names, if there is none. */
    clip(name: string): number;
    /** Index of the joint with this name. @throws {CondyleError} if there is none. */
    joint(name: string): number;
    /** Adds a compressed clip, for example `Encoded.data` of a worker, and returns its index. */
    addClip(name: string, data: Uint8Array, options?: { replace?: number }): number;
    /**
     * Events that playback passes between two times after the start of a clip: those after `from` and up to
     * `to`, or in reverse order if `to` is earlier. Consecutive calls return each event once per loop. With
     * `loop`, the times may be any number of loops later. `inclusive` adds the events at `from`, for the first
     * call. At most 10,000.
     */
    eventsPassed(
        clip: number,
        from: number,
        to: number,
        options?: { loop?: boolean; inclusive?: boolean },
    ): PassedEvent[];
    /**
     * One factor for each joint: `weight` (default: 1) at and below the joints, 0 elsewhere. `feather` spreads
     * the change over generations: with 2, the joint has a third of it, its children two thirds, and their
     * children all. Default: 0, a sharp border.
     */
    mask(
        joints: number | string | readonly (number | string)[],
        options?: { weight?: number; feather?: number },
    ): Float32Array;
    /** Many characters at once, for the GPU. */
    crowd(count: number, options?: CrowdOptions): Crowd;
    /** One character on the CPU. */
    pose(): Pose;
}

export interface CrowdOptions {
    /** Skins whose palettes are written, one after another for each instance. Default: all. */
    skins?: readonly number[];
    /** Joints whose model matrices follow the palettes in each instance, for what they carry. Default: none. */
    joints?: readonly number[];
    /** "columns": 16 numbers a matrix, as three.js wants it. "rows": 12, three texels, as PlayCanvas does. */
    layout?: 'columns' | 'rows';
    /** Matrices from one instance to the next. Default: those of the skins and joints. */
    stride?: number;
    /** Matrices in a row of the texture: `palettes` is padded to whole rows. Default: no padding. */
    row?: number;
}

/** Many characters with one model. Nothing is allocated per frame. */
export interface Crowd extends Disposable {
    readonly count: number;
    /** Matrices from one instance to the next in `palettes`. */
    readonly stride: number;
    /** Offset of each of `skins` and then of each of `joints`, in matrices from the start of an instance. */
    readonly offsets: readonly number[];
    /**
     * Input: clip A, seconds A, clip B, seconds B, weight of B (0 to 1); five numbers for each instance. A
     * clip of -1 is the rest pose. Starts with clip 0 at its start.
     */
    readonly instances: Float32Array;
    /** Advances both times of each instance; times past the end go on from the start. */
    advance(seconds: number): void;
    /**
     * Computes all palettes.
     *
     * @throws {CondyleError} for a clip that does not exist, or a time that is not finite. The message names
     * the instance. Palettes of the instances before it are computed.
     */
    update(): void;
    /** Result: `stride` matrices for each instance. */
    readonly palettes: Float32Array;
}

export type Mask = ArrayLike<number>;

/** One character. Methods that change it return it, so that calls can be chained. */
export interface Pose extends Disposable {
    /** Sets all joints to the rest pose. */
    rest(): this;
    /** Copies the joints of another pose of the same model. */
    copy(other: Pose): this;
    /** Samples a clip. Times before its start or after its end are clamped. */
    sample(clip: number, seconds: number): this;
    /**
     * Blends towards a clip: `weight` 0 keeps the pose, 1 replaces it. A mask has a factor for each
     * joint.
     */
    blend(clip: number, seconds: number, weight: number, mask?: Mask): this;
    /** Adds the difference of a clip from its first moment. */
    add(clip: number, seconds: number, amount: number, mask?: Mask): this;
    /** Sets the local transform of a joint. */
    set(
        joint: number,
        transform: {
            rotation?: ArrayLike<number>;
            translation?: ArrayLike<number>;
            scale?: ArrayLike<number>;
        },
    ): this;
    /**
     * Computes the model matrices. All getters and solvers that need them call it, if they are out of date.
     */
    toModel(): this;
    /**
     * Local transforms: rotation x, y, z, w, translation, scale; ten numbers for each joint. A copy: writing to
     * it has no effect, `set` has.
     */
    readonly local: Float32Array;
    /** Model matrices: 16 numbers for each joint. */
    readonly model: Float32Array;
    /** Palette of a skin: 16 numbers for each of its joints. */
    palette(skin: number): Float32Array;
}

/** A character with meshes: what `condyle` offers in addition. */
export interface Model extends PlayerModel {
    /**
     * Unpacks a clip, for the fastest sampling: crowds and poses then play its frames. It stays in `clips` with
     * its bytes, events and root motion. Takes milliseconds to a second, and ten to twenty times the memory of
     * a compressed clip.
     *
     * @throws {CondyleError} "over-budget" if no frames are accurate enough, for example because the clip jumps.
     */
    toFrames(clip: number, options: FramesOptions): Frames;
    /** Frees the frames of a clip, which is then played as it was. */
    dropFrames(clip: number): void;
    /**
     * Movement of the character by a clip with root motion, between two times after the start of the clip.
     * With `loop`, the times may be any number of loops later. The identity for a clip without `hasMotion`.
     */
    motion(
        clip: number,
        from: number,
        to: number,
        options?: { loop?: boolean },
    ): { rotation: [number, number, number, number]; translation: [number, number, number] };
    /** Height in the rest pose, in units of the file. */
    readonly height: number;
    /** Whether the file has spring bones (VRM). */
    readonly hasSprings: boolean;
    /** Changes the metres per unit. */
    setUnit(metres: number): void;
    /** Vertices of a mesh in the bind pose, copied: at most four influences each. Normals may be empty. */
    geometry(mesh: number): Geometry;
    /**
     * Sphere around the character in a clip, or in all clips: centre and radius. It holds the meshes at 65
     * moments of each clip, and is 2 % larger. Between the moments a fast limb may leave it.
     */
    sphere(clip?: number): [number, number, number, number];
    /** Legs for {@link MeshPose.place}. `pelvis` is the common parent. */
    feet(pelvis: number, legs: readonly Leg[]): Feet;
    pose(): MeshPose;
}

export interface Geometry {
    positions: Float32Array;
    normals: Float32Array;
    indices: Uint32Array;
    /** Indices into the palette, four for each vertex. */
    skinIndices: Uint16Array;
    /** Weights of 0 to 255 that sum to 255, four for each vertex. */
    skinWeights: Uint8Array;
}

export interface Leg {
    hip: number;
    knee: number;
    foot: number;
    toe?: number;
}

/** Legs of a character, and the state of its feet between frames. */
export interface Feet extends Disposable {
    /** Forgets the last frame. */
    reset(): void;
}

export interface Hit {
    /** Mesh, triangle, and weights of its three vertices. */
    mesh: number;
    triangle: number;
    weights: [number, number, number];
    distance: number;
    position: [number, number, number];
    normal: [number, number, number];
    /** Joint with the largest weight there; -1 on a mesh that no joint moves. */
    joint: number;
}

export interface PosedMesh {
    /** Positions in model space, three numbers for each vertex. */
    readonly positions: Float32Array;
    /** Unit normals, or an empty array if the mesh has none. */
    readonly normals: Float32Array;
}

export interface Goal {
    joint: number;
    /** Place in model space. A goal with neither `position` nor `orientation` keeps the joint where it is. */
    position?: ArrayLike<number>;
    /** Point that shall be there, in the joint's space. Default: its origin. */
    offset?: ArrayLike<number>;
    /** Orientation in model space, x, y, z, w. Without `position`, the joint may move. */
    orientation?: ArrayLike<number>;
    /** Default: 1. */
    weight?: number;
}

export interface Reached {
    /** Largest distance and angle that remain. */
    distance: number;
    angle: number;
    iterations: number;
    /** Whether all goals are met. */
    met: boolean;
}

/** Result of {@link MeshPose.place}: the largest distance of a planted foot from its place. */
export interface Placed extends Reached {
    /** False if no foot touches the ground in the clip, for example in a jump: all feet follow the clip. */
    hasContacts: boolean;
    /**
     * Velocity in model space of a clip that walks in place, in units of the file per second. Move `world` by
     * it: planted feet stay where they are in the world.
     */
    velocity?: [number, number, number];
}

/**
 * Ground for feet: a plane in the world, or a function of a point in the world that finds the ground
 * straight below it. The world is that of the option `world`. The function may cast rays at other poses.
 */
export type Ground =
    | { point: ArrayLike<number>; normal: ArrayLike<number> }
    | ((x: number, y: number, z: number) => { height: number; normal: ArrayLike<number> } | undefined);

export interface PlaceOptions {
    /** Time since the last call. */
    seconds: number;
    /** From 0 for the pose to 1 for feet on the ground. Default: 1. */
    weight?: number;
    /** The clip that is played, whose steps stay steps. Without a clip all feet stand. */
    clip?: number;
    /** Time of the clip as for `sample`. */
    time?: number;
    /** Whether the clip is played in a loop. Default: true. */
    loop?: boolean;
    /**
     * Matrix from model space to the world, 16 numbers in columns: a rotation, a translation, and one scale,
     * such as `object.matrixWorld.elements` of three.js. Default: the identity.
     */
    world?: ArrayLike<number>;
}

/** One character with meshes. */
export interface MeshPose extends Pose {
    /**
     * Samples and blends 1 to 8 clips with `frames` in one pass, in less time than `sample` and `blend`. The
     * order does not matter, except for morph targets, which get the weights of the first clip. A joint with a
     * total weight of 0 gets its rest transform.
     */
    sampleFrames(layers: readonly FrameLayer[]): this;
    /** Blends by a method of `methods`, for example "slerp6" or "nlerp", without a mask. */
    interpolate(clip: number, seconds: number, t: number, method: string): this;
    /** Names for `interpolate`. */
    readonly methods: readonly string[];
    /** Blending of vertices that follow several joints. Default: "linear". */
    skinning: 'linear' | 'dual';
    /** Posed vertices of a mesh. Its morph targets have the weights of the last `sample`. */
    skin(mesh: number): PosedMesh;
    /** Weights of the morph targets of a mesh at the last `sample`. */
    morphs(mesh: number): Float32Array;
    /** First triangle on a ray of model space, of the meshes that are shown. */
    raycast(origin: ArrayLike<number>, direction: ArrayLike<number>, max?: number): Hit | undefined;
    /** First hitbox on a ray, which is much cheaper; the hitboxes are fitted to the skinned meshes. */
    raycastHitboxes(
        origin: ArrayLike<number>,
        direction: ArrayLike<number>,
        max?: number,
    ): { joint: number; distance: number; position: [number, number, number] } | undefined;
    /** Box and sphere that hold all meshes that are shown. */
    bounds(): {
        min: [number, number, number];
        max: [number, number, number];
        center: [number, number, number];
        radius: number;
    };
    /** Distance of each vertex from the same vertex in another pose. */
    errors(other: MeshPose): Errors;
    /**
     * Whole-body inverse kinematics: the joints above the goals turn, near ones first. `iterations` is the
     * maximum, 100 by default. `shift` names a joint that may also move, for example the pelvis. With an
     * `ease` of 1, the default, it moves by the size of the skeleton as readily as a joint turns by a radian.
     */
    reach(
        goals: readonly Goal[],
        options?: { iterations?: number; shift?: { joint: number; ease: number } },
    ): Reached;
    /**
     * Bends a limb of three joints so that the last one reaches `target` of model space. The middle joint
     * bends towards `pole`, a direction of model space; without it, to the side to which it is bent. `soft`
     * is a part of the reach, from 0 (the default) to 1: with 0.05, the last 5 % before the limb is straight
     * are soft, so that it does not snap. `weight` blends from the pose (0) to the result (1, the default).
     */
    twoBone(
        joints: readonly [number, number, number],
        target: ArrayLike<number>,
        options?: { pole?: ArrayLike<number>; weight?: number; soft?: number },
    ): Reached;
    /** Turns a joint so that `axis` of its space points at `target` of model space. */
    aim(
        joint: number,
        axis: ArrayLike<number>,
        target: ArrayLike<number>,
        options?: { weight?: number },
    ): Reached;
    /**
     * Puts the feet on the ground, and moves the pelvis. In the clip, the ground is at height 0. A standing
     * foot keeps its place, and the function is called again where the foot lands. Call `feet.reset()` after
     * the ground has moved.
     */
    place(feet: Feet, ground: Ground, options: PlaceOptions): Placed;
    /**
     * Swings the spring bones of the file by the time since the last call. `world` is the placement of the
     * character as in {@link PlaceOptions}, so that its movement swings the springs. They are made for a world
     * in metres: for a file in other units, `world` has the scale. `force` is a force of the world on all
     * springs in addition to gravity, for example wind, in metres per second. `weight` blends from the pose (0)
     * to the springs (1).
     */
    swing(
        seconds: number,
        options?: { force?: ArrayLike<number>; weight?: number; world?: ArrayLike<number> },
    ): this;
    /** Lets spring bones come to rest at once, for example after a jump. */
    resetSprings(): void;
}

/** Differences of two poses. Valid until the next call of `errors` of the same pose. */
export interface Errors {
    readonly max: number;
    readonly mesh: number;
    readonly vertex: number;
    /** One distance for each vertex of a mesh. */
    values(mesh: number): Float32Array;
}

/** A model with the encoder: what `condyle/encode` offers in addition. */
export interface EncodeModel extends Model {
    /**
     * Compresses a clip of keys, and adds the result to `clips` as "walk, compressed": play `Encoded.clip`.
     * `save` writes it as "walk" in place of the keys. `pack` writes the keys, reduced.
     */
    encode(clip: number, options: EncodeOptions): Encoded;
    /**
     * Bytes of a .condyle file with all clips, of which uncompressed ones are compressed by `options`. It
     * holds the meshes too, uncompressed, so it can be larger than the .glb.
     */
    save(options: SaveOptions): Uint8Array;
    /**
     * Bytes of a .glb file for other programs: as few keys as the error allows, and optionally smaller
     * meshes.
     */
    pack(options: PackOptions): Uint8Array;
}

/** Bound on the error of all vertices. */
export interface ErrorOptions {
    /**
     * Largest error of a vertex, in units of the file; or `millimetres`, which `unit` converts. Without
     * `unit`, a unit is taken as a metre: see `setUnit`.
     */
    error?: number;
    millimetres?: number;
}

export interface SaveOptions extends ErrorOptions {
    /** Searches four times longer for fewer bytes. Default: false. */
    best?: boolean;
}

export interface PackOptions extends ErrorOptions {
    /** Compresses meshes too, with half of the error. Default: false. */
    meshes?: boolean;
}

export interface EncodeOptions extends SaveOptions {
    /** Index of the clip that the result replaces, for a slider. Default: it is added at the end. */
    replace?: number;
}

export interface Encoded {
    /** Index of the compressed clip. */
    clip: number;
    bytes: number;
    /** Bytes of all keys divided by `bytes`. */
    ratio: number;
    /** Time that it took. */
    seconds: number;
    /** Bound on the error of all vertices at all times, in units of the file, and where it is largest. */
    maxError: number;
    worst: { mesh: number; vertex: number; seconds: number };
    /** The compressed clip, for `addClip`. */
    data: Uint8Array;
}
