//! Ten thousand vertices between two baked frames.

use std::rc::Rc;

use condyle::mesh::VertexSlices;
use condyle::{Looping, Vertices};
use condyle_query::baked::{self, BakedClip, Grid};
use condyle_testing::reference;

use super::{case, largest, worst};
use crate::data::Random;
use crate::harness::{Case, Subjects};

const VERTICES: usize = 10_000;
const FRAMES: usize = 4;
const FPS: f32 = 30.0;
/// Time in seconds: 0.3 of the interval from the second frame to the third.
const MOMENT: f64 = 1.3 / 30.0;
/// Error limit of a component: half a grid step, or the rounding of a normal.
const BOUND: f64 = 1e-4;

/// Positions and normals of two frames are read, those of one are written.
pub(super) fn cases() -> Vec<Case> {
    vec![case("baked_10k", "structs", VERTICES, 2 * 12 + 24, build)]
}

struct Input {
    clip: BakedClip,
    /// Values of the two frames: positions, then normals.
    #[cfg(feature = "peers")]
    numbers: [Vec<[[u16; 3]; 2]>; 2],
}

fn build(subjects: &mut Subjects) {
    let mut random = Random(41);
    let mut of_unit = |size: f32| -> Vec<[f32; 3]> {
        (0..VERTICES).map(|_| std::array::from_fn(|_| random.range(-size, size))).collect()
    };
    let base = of_unit(1.0);
    let unit = |v: [f32; 3]| v.map(|c| c / (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]).sqrt());
    let (mut positions, mut normals) = (vec![], vec![]);
    for _ in 0..FRAMES {
        positions.push(of_unit(1.0));
        // Normals turn by at most a right angle between frames.
        let turned = base.iter().zip(of_unit(0.2)).map(|(base, by)| {
            let [base, by] = [unit(*base), by];
            unit(std::array::from_fn(|c| base[c] + by[c]))
        });
        normals.push(turned.collect::<Vec<_>>());
    }
    let grid = Grid::around([-1.0; 3], [1.0; 3]).expect("a box");
    let frame = |at: usize| VertexSlices {
        positions: &positions[at],
        normals: &normals[at],
        ..VertexSlices::default()
    };
    let mut clip = BakedClip::new(grid, FPS, frame(0)).expect("within the box");
    (1..FRAMES).for_each(|at| clip.push(frame(at)).expect("within the box"));

    let between = |frames: &[Vec<[f32; 3]>]| reference::between_frames(frames, FPS.into(), MOMENT);
    let unit = |v: &[f64; 3]| v.map(|c| c / v.iter().map(|c| c * c).sum::<f64>().sqrt());
    let want: [Vec<[f64; 3]>; 2] = [between(&positions), between(&normals).iter().map(unit).collect()];
    let wrong = move |out: &Vertices| {
        let pairs = [&out.positions, &out.normals].into_iter().zip(&want);
        largest(
            pairs
                .map(|(got, want)| worst(got.as_flattened().iter().zip(want.as_flattened().iter().copied()))),
        )
    };
    let room = Vertices {
        positions: vec![[0.0; 3]; VERTICES],
        normals: vec![[0.0; 3]; VERTICES],
        ..Vertices::default()
    };
    let input = Rc::new(Input {
        #[cfg(feature = "peers")]
        numbers: [
            clip.positions(1).zip(clip.positions(2)).map(|(from, to)| [from, to]).collect(),
            clip.normals(1).zip(clip.normals(2)).map(|(from, to)| [from, to]).collect(),
        ],
        clip,
    });
    subjects.kernel(
        "condyle",
        BOUND,
        &input,
        room.clone(),
        |input, out| {
            baked::sample(&input.clip, MOMENT, Looping::Clamp, out.as_slices_mut()).expect("sizes agree");
        },
        wrong.clone(),
    );
    #[cfg(feature = "peers")]
    subjects.peer(
        "glam",
        (input, (MOMENT * f64::from(FPS)).fract() as f32),
        room,
        |(input, factor), out| {
            let grids = [input.clip.grid(), Grid::UNIT];
            by_glam(&grids[0], &input.numbers[0], *factor, |v| v, &mut out.positions);
            by_glam(&grids[1], &input.numbers[1], *factor, glam::Vec3::normalize_or_zero, &mut out.normals);
        },
        wrong,
    );
}

/// Computes one vertex after another, like a shader.
#[cfg(feature = "peers")]
fn by_glam(
    grid: &Grid,
    numbers: &[[[u16; 3]; 2]],
    factor: f32,
    done: impl Fn(glam::Vec3) -> glam::Vec3,
    out: &mut [[f32; 3]],
) {
    use glam::Vec3;
    let (origin, step) = (Vec3::from(grid.origin()), Vec3::from(grid.step()));
    for (out, pair) in out.iter_mut().zip(numbers) {
        let [from, to] = pair.map(|numbers| Vec3::from(numbers.map(f32::from)));
        *out = done(from.lerp(to, factor) * step + origin).into();
    }
}
