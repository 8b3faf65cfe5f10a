//! One step of all springs, and the interpolated output.
//!
//! # Formula
//!
//! A joint at `h` turns so that its tail, at distance `l`, follows the point `x`. A step of `dt = 1/60 s` is
//! Verlet integration without masses, followed by a length constraint and the colliders:
//!
//! ```text
//! x'      = x[n] + c (x[n] - x[n-1]) + dt (k r + g + f)
//! P(x)    = h + l (x - h) / |x - h|
//! x[n+1]  = P(C2(P(C1(P(x')))))
//! ```
//!
//! | symbol | unit | meaning | in the code |
//! |---|---|---|---|
//! | `c` | 1 | inertia: 1 minus the drag | `inertia` |
//! | `k` | m/s | stiffness | `stiffness`, times `dt` |
//! | `r` | 1 | direction from the joint to its tail at rest, in the space of its parent | `straight / length` |
//! | `g`, `f` | m/s | gravity, and the force of the call, such as wind | `gravity`, `force`, times `dt` |
//! | `P` | | length constraint: the nearest point at distance `l` from the joint | `at_length` |
//! | `C1`, `C2` | | a collider that the tail is in moves it out; then `P` again | `stopped` |
//!
//! With hit radius `q`, a plane with point `o` and normal `n` moves the tail to `x - ((x - o) . n - q) n`. A
//! sphere or capsule of radius `R` moves it to `s + (R + q) (x - s) / |x - s|`, where `s` is the centre or
//! the nearest point of the segment.
//!
//! If the spring has a center, `x[n]` and `x[n-1]` first move along with it. The joint's rotation is the
//! shortest arc from its axis to `x[n+1] - h` in the joint's space at rest.
//!
//! # Worked step
//!
//! A bone of 0.5 m along +X at the origin, with drag 0.5, stiffness 0.9 and gravity (0, -6, 0), in a wind of
//! (0, -1.2, 0), above the plane y = -0.125:
//!
//! ```text
//! x[n-1]                                      ( 0.48,  -0.14,  0)
//! x[n]                                        ( 0.4,   -0.3,   0)
//! c (x[n] - x[n-1])  0.5 * (-0.08, -0.16, 0)  (-0.04,  -0.08,  0)
//! dt k r             0.9 / 60 * (1, 0, 0)     ( 0.015,  0,     0)
//! dt (g + f)         -7.2 / 60 along Y        ( 0,     -0.12,  0)
//! x'                 the sum                  ( 0.375, -0.5,   0)
//! P(x')              0.5 / 0.625 = 0.8 of it  ( 0.3,   -0.4,   0)
//! C1                 out of the plane         ( 0.3,   -0.125, 0)
//! x[n+1]             0.5 / 0.325 = 20/13      ( 6/13,  -2.5/13, 0)
//! ```
//!
//! The direction is (12/13, -5/13, 0). The arc from +X to it is (0, 0, -5/13, 25/13), which is
//! (0, 0, -1, 5) / sqrt(26): -22.6 degrees about +Z. The test `the_worked_step` computes it.
//!
//! # Limits
//!
//! The result depends on the duration of a step, as in VRM, so steps have one duration. A collider can push a
//! tail into one before it; the next step pushes it out.
//!
//! Source: VRMC_springBone 1.0, "Spring Bone Algorithm".

use alloc::vec;
use alloc::vec::Vec;

use super::data::{ColliderShape, Mount, Obstacle, Springs, Swinging};
use super::lanes::{Frame, Lanes, Vector, select};

use condyle_base::error::invariant;
use condyle_base::math::real::Real;
use condyle_base::math::vectors::{add, cross, dot, scaled, sub};

/// Work memory of a step, in world space relative to the model's position, so that no digits are lost far
/// from the origin.
#[derive(Debug, Clone, Default)]
pub(super) struct Work<T> {
    /// Frames of `Springs::sources`: in the last call, in this call, and at the time of a step.
    pub(super) before: Vec<[T; 12]>,
    pub(super) now: Vec<[T; 12]>,
    then: Vec<[T; 12]>,
    /// Frames of `Springs::centers` at the last step, and their movement since then.
    pub(super) centers: Vec<[T; 12]>,
    moved: Vec<[T; 12]>,
    /// Frames of `Springs::carries`.
    pub(super) carries: Vec<[T; 12]>,
    pub(super) joints: Vec<Bone<T>>,
    pub(super) tails: Vec<Tails<T>>,
    /// Frames of the spaces that swinging joints rotate.
    frames: Vec<[T; 12]>,
    /// Points and directions of the obstacles.
    shapes: Vec<[T; 6]>,
    /// Output rotations.
    pub(super) turned: Vec<[T; 4]>,
}

/// Data of a swinging joint. The pivot is in the space of its parent. The axis is in the joint's space at
/// rest.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Bone<T> {
    pub(super) pivot: [T; 3],
    pub(super) axis: [T; 3],
    pub(super) length: T,
    pub(super) scale: [T; 3],
}

/// Positions of a tail now and one step before.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Tails<T> {
    pub(super) now: [T; 3],
    pub(super) before: [T; 3],
    /// Direction from the joint to the tail, in the joint's space at rest.
    pub(super) direction: [T; 3],
    pub(super) direction_before: [T; 3],
}

impl<T: Copy + Default> Work<T> {
    /// Allocates memory for these springs, and discards all state.
    pub(super) fn resize(&mut self, springs: &Springs) {
        let frames = |count| vec![[T::default(); 12]; count];
        let (sources, joints) = (springs.sources.len(), springs.swinging.len());
        *self = Self {
            before: frames(sources),
            now: frames(sources),
            then: frames(sources),
            centers: frames(springs.centers.len()),
            moved: frames(springs.centers.len()),
            carries: frames(springs.carries.len()),
            joints: vec![Bone::default(); joints],
            tails: vec![Tails::default(); joints],
            frames: frames(joints),
            shapes: vec![[T::default(); 6]; springs.obstacles.len()],
            turned: vec![[T::default(); 4]; joints],
        };
    }

    /// Whether the memory has the size for these springs.
    pub(super) fn fits(&self, springs: &Springs) -> bool {
        self.joints.len() == springs.swinging.len()
            && self.now.len() == springs.sources.len()
            && self.centers.len() == springs.centers.len()
            && self.carries.len() == springs.carries.len()
            && self.shapes.len() == springs.obstacles.len()
    }
}

/// Time of a step, and the lanes that it applies to.
#[derive(Clone, Copy)]
pub(super) struct When<R: Real> {
    /// Time between the last call (0) and this one (1).
    pub(super) factor: R,
    /// Lanes that make the step; the others stay unchanged.
    pub(super) takes: R::Mask,
    /// Lanes among these that are reset to rest instead.
    pub(super) rests: R::Mask,
    /// Displacement of each tail per step, in addition to gravity.
    pub(super) force: Vector<R>,
}

/// One step of all springs.
#[inline(always)]
pub(super) fn step<L: Lanes>(l: L, springs: &Springs, work: &mut Work<L::Stored>, when: &When<L::Number>) {
    for ((before, now), then) in work.before.iter().zip(&work.now).zip(&mut work.then) {
        for ((before, now), then) in before.iter().zip(now).zip(then) {
            let before = l.load(before);
            *then = l.store(before + (l.load(now) - before) * when.factor);
        }
    }
    for ((&source, last), moved) in springs.centers.iter().zip(&mut work.centers).zip(&mut work.moved) {
        let Some(then) = work.then.get(source) else { continue };
        let (then, before) = (Frame::load(l, then), Frame::load(l, last));
        let (back, ok) = before.inverse(l);
        let by = then.after(&back);
        let still = Frame { axes: identity(l), origin: l.splat3([0.0; 3]) };
        pick(ok, &by, &still).store(l, moved);
        pick(when.takes, &then, &before).store(l, last);
    }
    let Work { then, moved, carries, joints, tails, frames, shapes, .. } = work;
    let fixed = springs.fixed.clone();
    place_shapes(l, springs.obstacles.get(fixed.clone()), then, carries, frames, shapes.get_mut(fixed));
    let all = springs.swinging.iter().zip(&*joints).zip(tails).enumerate();
    for (at, ((swinging, bone), tails)) in all {
        let parent = mounted(l, swinging.mount, then, carries, frames);
        let moved = swinging.center.and_then(|center| moved.get(center));
        let stops = springs.stops.get(swinging.stops.clone()).unwrap_or_default();
        let stops = Stops { stops, obstacles: &springs.obstacles, shapes };
        let bone = load_bone(l, bone);
        let hanging = Hanging { swinging, bone: &bone, parent: &parent, moved };
        let frame = swing(l, &hanging, &stops, when, tails);
        if swinging.carries {
            if let Some(to) = frames.get_mut(at) {
                carried(l, &bone, &frame, tails).store(l, to);
            }
            let carried = swinging.carried.clone();
            if !carried.is_empty() {
                let obstacles = springs.obstacles.get(carried.clone());
                place_shapes(l, obstacles, then, carries, frames, shapes.get_mut(carried));
            }
        }
    }
}

#[inline(always)]
fn identity<L: Lanes>(l: L) -> [Vector<L::Number>; 3] {
    [l.splat3([1.0, 0.0, 0.0]), l.splat3([0.0, 1.0, 0.0]), l.splat3([0.0, 0.0, 1.0])]
}

#[inline(always)]
fn pick<R: Real>(mask: R::Mask, yes: &Frame<R>, no: &Frame<R>) -> Frame<R> {
    let ([a, b, c], [x, y, z]) = (yes.axes, no.axes);
    Frame {
        axes: [select(mask, a, x), select(mask, b, y), select(mask, c, z)],
        origin: select(mask, yes.origin, no.origin),
    }
}

#[inline(always)]
fn load_bone<L: Lanes>(l: L, from: &Bone<L::Stored>) -> Bone<L::Number> {
    Bone {
        pivot: l.load_all(&from.pivot),
        axis: l.load_all(&from.axis),
        length: l.load(&from.length),
        scale: l.load_all(&from.scale),
    }
}

/// Frame of the parent.
#[inline(always)]
fn mounted<L: Lanes>(
    l: L,
    mount: Mount,
    then: &[[L::Stored; 12]],
    carries: &[[L::Stored; 12]],
    frames: &[[L::Stored; 12]],
) -> Frame<L::Number> {
    let (from, carry) = match mount {
        Mount::Source(source) => (then.get(source), None),
        Mount::Swinging(at, carry) => (frames.get(at), carry.and_then(|carry| carries.get(carry))),
    };
    let Some(from) = from else {
        invariant!(false, "every swinging joint has a frame");
        return Frame { axes: identity(l), origin: l.splat3([0.0; 3]) };
    };
    let frame = Frame::load(l, from);
    match carry {
        Some(carry) => frame.after(&Frame::load(l, carry)),
        None => frame,
    }
}

/// Places the obstacles.
#[inline(always)]
fn place_shapes<L: Lanes>(
    l: L,
    obstacles: Option<&[Obstacle]>,
    then: &[[L::Stored; 12]],
    carries: &[[L::Stored; 12]],
    frames: &[[L::Stored; 12]],
    shapes: Option<&mut [[L::Stored; 6]]>,
) {
    let (Some(obstacles), Some(shapes)) = (obstacles, shapes) else { return };
    for (obstacle, to) in obstacles.iter().zip(shapes) {
        let frame = mounted(l, obstacle.mount, then, carries, frames);
        let (point, along) = match obstacle.shape {
            ColliderShape::Sphere { offset, .. } => (frame.point(splat_f32(l, offset)), l.splat3([0.0; 3])),
            ColliderShape::Capsule { offset, tail, .. } => {
                let offset = splat_f32(l, offset);
                (frame.point(offset), frame.vector(sub(splat_f32(l, tail), offset)))
            }
            ColliderShape::Plane { offset, normal } => {
                (frame.point(splat_f32(l, offset)), plane_normal(l, &frame, splat_f32(l, normal)))
            }
        };
        l.store_all(to, [point[0], point[1], point[2], along[0], along[1], along[2]]);
    }
}

/// A vector for all lanes. Not a closure, because the compiler may leave closures as calls, which are
/// compiled without the instruction set.
#[inline(always)]
fn splat_f32<L: Lanes>(l: L, [x, y, z]: [f32; 3]) -> Vector<L::Number> {
    l.splat3([x.into(), y.into(), z.into()])
}

/// Transforms the normal of a plane by the inverse transpose of the axes. Zero if the frame is singular.
#[inline(always)]
fn plane_normal<L: Lanes>(l: L, frame: &Frame<L::Number>, normal: Vector<L::Number>) -> Vector<L::Number> {
    let ([a, b, c], determinant, ok) = frame.adjugate(l);
    let zero = l.splat(0.0);
    let n = add(add(scaled(a, normal[0]), scaled(b, normal[1])), scaled(c, normal[2]));
    let by = l.splat(1.0) / dot(n, n).sqrt();
    let by = L::Number::select(determinant.is_below(zero), -by, by);
    select(ok, scaled(n, by), [zero; 3])
}

/// A swinging joint and its environment.
struct Hanging<'a, L: Lanes> {
    swinging: &'a Swinging,
    bone: &'a Bone<L::Number>,
    /// Frame of the parent.
    parent: &'a Frame<L::Number>,
    /// Movement of its center since the last step, if it has a center.
    moved: Option<&'a [L::Stored; 12]>,
}

/// The obstacles that stop a tail.
struct Stops<'a, T> {
    /// Indices among all obstacles.
    stops: &'a [u32],
    obstacles: &'a [Obstacle],
    /// Position and direction of each obstacle.
    shapes: &'a [[T; 6]],
}

/// Moves one tail. Returns the frame that its joint would have at rest, without its scale.
#[inline(always)]
fn swing<L: Lanes>(
    l: L,
    hanging: &Hanging<'_, L>,
    stops: &Stops<'_, L::Stored>,
    when: &When<L::Number>,
    tails: &mut Tails<L::Stored>,
) -> Frame<L::Number> {
    let &Hanging { swinging, bone, parent, moved } = hanging;
    let [x, y, z] = swinging.rest_axes;
    let axes = [parent.vector(l.splat3(x)), parent.vector(l.splat3(y)), parent.vector(l.splat3(z))];
    let rest = Frame { axes, origin: parent.point(bone.pivot) };
    // Vector from the joint to its tail at rest.
    let straight = rest.vector(scaled(bone.axis, bone.length));
    let length = dot(straight, straight).sqrt();
    let head = rest.origin;

    let (kept_now, kept_before) = (l.load_all(&tails.now), l.load_all(&tails.before));
    let (mut now, mut before) = (kept_now, kept_before);
    if let Some(moved) = moved {
        let moved = Frame::load(l, moved);
        (now, before) = (moved.point(now), moved.point(before));
    }
    let drift = scaled(sub(now, before), l.splat(swinging.inertia));
    let pull = scaled(straight, l.splat(swinging.stiffness) / length);
    let next = add(add(add(now, drift), pull), add(l.splat3(swinging.gravity), when.force));
    let next = at_length(head, next, length);
    let next = stopped(l, swinging, head, length, stops, next);

    let ([a, b, c], determinant, ok) = rest.adjugate(l);
    let v = sub(next, head);
    let local = [dot(a, v), dot(b, v), dot(c, v)];
    let size2 = dot(local, local);
    let zero = l.splat(0.0);
    let by = l.splat(1.0) / size2.sqrt();
    let by = L::Number::select(determinant.is_below(zero), -by, by);
    // Bones of zero length, singular parents and overflows give no direction. The rest direction replaces it.
    let ok = ok & zero.is_below(size2) & size2.is_below(l.splat(f64::INFINITY));
    let direction = select(ok, scaled(local, by), bone.axis);
    let direction = select(when.rests, bone.axis, direction);
    // Position of the tail after its joint turns. A non-uniform scale changes the distance of the tail from
    // the joint.
    let next = add(head, rest.vector(scaled(direction, bone.length)));
    let before = select(when.rests, next, now);

    let old = l.load_all(&tails.direction);
    let old_before = l.load_all(&tails.direction_before);
    l.store_all(&mut tails.now, select(when.takes, next, kept_now));
    l.store_all(&mut tails.before, select(when.takes, before, kept_before));
    l.store_all(&mut tails.direction, select(when.takes, direction, old));
    let direction_before = select(when.rests, bone.axis, old);
    l.store_all(&mut tails.direction_before, select(when.takes, direction_before, old_before));
    rest
}

/// Moves `tail` to the given distance from `head` in the same direction. NaN if both are equal; then the
/// joint rests.
#[inline(always)]
fn at_length<R: Real>(head: Vector<R>, tail: Vector<R>, length: R) -> Vector<R> {
    let v = sub(tail, head);
    add(head, scaled(v, length / dot(v, v).sqrt()))
}

/// Returns the tail, moved out of the obstacles that stop it.
#[inline(always)]
fn stopped<L: Lanes>(
    l: L,
    swinging: &Swinging,
    head: Vector<L::Number>,
    length: L::Number,
    stops: &Stops<'_, L::Stored>,
    mut tail: Vector<L::Number>,
) -> Vector<L::Number> {
    let zero = l.splat(0.0);
    let &Stops { stops, obstacles, shapes } = stops;
    for &stop in stops {
        let stop = stop as usize;
        let (Some(obstacle), Some(shape)) = (obstacles.get(stop), shapes.get(stop)) else { continue };
        let [x, y, z, u, v, w] = l.load_all(shape);
        let (along, mut from) = ([u, v, w], sub(tail, [x, y, z]));
        let (hit, pushed) = match obstacle.shape {
            ColliderShape::Plane { .. } => {
                let deep = dot(from, along) - l.splat(swinging.hit_radius);
                (deep.is_below(zero), sub(tail, scaled(along, deep)))
            }
            ColliderShape::Sphere { radius, inside, .. } | ColliderShape::Capsule { radius, inside, .. } => {
                if let ColliderShape::Capsule { .. } = obstacle.shape {
                    let (far, most) = (dot(along, from), dot(along, along));
                    let part = L::Number::select(far.is_below(most), far / most, l.splat(1.0));
                    let part = L::Number::select(zero.is_below(far), part, zero);
                    from = sub(from, scaled(along, part));
                }
                let far2 = dot(from, from);
                let reach = f64::from(radius);
                let reach =
                    if inside { (reach - swinging.hit_radius).max(0.0) } else { reach + swinging.hit_radius };
                let (reach, reach2) = (l.splat(reach), l.splat(reach * reach));
                let hit = if inside { reach2.is_below(far2) } else { far2.is_below(reach2) };
                if !L::Number::any(hit) {
                    continue;
                }
                // A tail exactly in the centre has no direction to move in, so it stays there.
                let hit = hit & zero.is_below(far2);
                let pushed = scaled(from, reach / far2.sqrt() - l.splat(1.0));
                (hit, add(tail, pushed))
            }
        };
        if L::Number::any(hit) {
            tail = select(hit, at_length(head, pushed, length), tail);
        }
    }
    tail
}

/// Shortest rotation between two directions, as a quaternion of any length except 0, and its squared length.
#[inline(always)]
fn arc<L: Lanes>(l: L, from: Vector<L::Number>, to: Vector<L::Number>) -> ([L::Number; 4], L::Number) {
    let [x, y, z] = cross(from, to);
    let w = l.splat(1.0) + dot(from, to);
    let size2 = dot([x, y, z], [x, y, z]) + w * w;
    let half_turn = size2.is_below(l.splat(1e-20));
    let turn = [x, y, z, w];
    if !L::Number::any(half_turn) {
        return (turn, size2);
    }
    // A half turn about a perpendicular axis, derived from the coordinate axis along which `from` is
    // smallest.
    let [a, b, c] = [from[0] * from[0], from[1] * from[1], from[2] * from[2]];
    let zero = l.splat(0.0);
    let (about_x, about_y) = ([zero, from[2], -from[1]], [-from[2], zero, from[0]]);
    let about_z = [from[1], -from[0], zero];
    let first = select(a.is_below(b), about_x, about_y);
    let [x, y, z] = select(c.is_below(L::Number::select(a.is_below(b), a, b)), about_z, first);
    let turn = select(half_turn, [x, y, z, zero], turn);
    (turn, L::Number::select(half_turn, dot([x, y, z], [x, y, z]), size2))
}

/// Frame of the space that a joint rotates and scales.
#[inline(always)]
fn carried<L: Lanes>(
    l: L,
    bone: &Bone<L::Number>,
    rest: &Frame<L::Number>,
    tails: &Tails<L::Stored>,
) -> Frame<L::Number> {
    let ([x, y, z, w], size2) = arc(l, bone.axis, l.load_all(&tails.direction));
    let one = l.splat(1.0);
    let twice = l.splat(2.0) / size2;
    let [i, j, k] = bone.scale;
    let columns = [
        scaled([one - twice * (y * y + z * z), twice * (x * y + z * w), twice * (x * z - y * w)], i),
        scaled([twice * (x * y - z * w), one - twice * (x * x + z * z), twice * (y * z + x * w)], j),
        scaled([twice * (x * z + y * w), twice * (y * z - x * w), one - twice * (x * x + y * y)], k),
    ];
    Frame { axes: [rest.vector(columns[0]), rest.vector(columns[1]), rest.vector(columns[2])], ..*rest }
}

/// Computes the output rotations, interpolated by `factor` from the step before the last one to the last one.
#[inline(always)]
pub(super) fn show<L: Lanes>(l: L, springs: &Springs, work: &mut Work<L::Stored>, factor: L::Number) {
    let all = springs.swinging.iter().zip(&work.joints).zip(&work.tails).zip(&mut work.turned);
    for (((swinging, bone), tails), turned) in all {
        let axis = l.load_all(&bone.axis);
        let (now, before) = (l.load_all(&tails.direction), l.load_all(&tails.direction_before));
        let v = add(before, scaled(sub(now, before), factor));
        let size2 = dot(v, v);
        // Halfway between opposite directions no direction exists.
        let ok = l.splat(1e-20).is_below(size2);
        let v = select(ok, scaled(v, l.splat(1.0) / size2.sqrt()), now);
        let ([x, y, z, w], size2) = arc(l, axis, v);
        let by = l.splat(1.0) / size2.sqrt();
        let [a, b, c, d] = swinging.rest;
        let [a, b, c, d] = [l.splat(a), l.splat(b), l.splat(c), l.splat(d)];
        let product = [
            d * x + a * w + b * z - c * y,
            d * y - a * z + b * w + c * x,
            d * z + a * y - b * x + c * w,
            d * w - a * x - b * y - c * z,
        ];
        l.store_all(turned, [product[0] * by, product[1] * by, product[2] * by, product[3] * by]);
    }
}
