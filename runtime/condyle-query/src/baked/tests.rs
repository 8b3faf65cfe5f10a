use std::vec;
use std::vec::Vec;

use super::*;
use condyle_base::simd::Dispatch;
use condyle_testing::reference;
use condyle_testing::{Hash, Random, SIZES, assert_portable};

const FPS: f32 = 30.0;

/// Frames of positions within 2 m of a point, and of normals that rotate by less than 90 degrees between
/// frames.
struct Frames {
    positions: Vec<Vec<[f32; 3]>>,
    normals: Vec<Vec<[f32; 3]>>,
}

impl Frames {
    fn random(seed: u64, vertices: usize, frames: usize) -> Self {
        let mut random = Random(seed);
        let around: [f32; 3] = random.vector(5.0);
        let mut point = || {
            let own: [f32; 3] = random.vector(2.0);
            core::array::from_fn(|axis| around[axis] + own[axis])
        };
        let positions = (0..frames).map(|_| (0..vertices).map(|_| point()).collect()).collect();
        let mut normals: Vec<Vec<[f32; 3]>> = vec![(0..vertices).map(|_| random.unit()).collect()];
        for frame in 1..frames {
            let turned = normals[frame - 1].iter().map(|old| {
                let to = random.unit::<3>();
                let mut new: [f64; 3] = core::array::from_fn(|axis| f64::from(old[axis] + 0.9 * to[axis]));
                condyle_base::math::vectors::normalize(&mut new);
                new.map(|x| x as f32)
            });
            let turned = turned.collect();
            normals.push(turned);
        }
        Self { positions, normals }
    }

    fn grid(&self) -> Grid {
        let all = self.positions.iter().flatten();
        let bound = |pick: fn(f32, f32) -> f32| {
            let reduced =
                all.clone().copied().reduce(|a, b| core::array::from_fn(|axis| pick(a[axis], b[axis])));
            reduced.unwrap_or([0.0; 3])
        };
        Grid::around(bound(f32::min), bound(f32::max)).expect("a box")
    }

    fn bake(&self, grid: Grid) -> BakedClip {
        let frame = |at: usize| VertexSlices {
            positions: &self.positions[at],
            normals: &self.normals[at],
            ..VertexSlices::default()
        };
        let mut clip = BakedClip::new(grid, FPS, frame(0)).expect("within the grid");
        (1..self.positions.len()).for_each(|at| clip.push(frame(at)).expect("the same number of vertices"));
        clip
    }
}

fn sampled(clip: &BakedClip, seconds: f64, looping: Looping) -> [Vec<[f32; 3]>; 2] {
    let count = clip.vertex_count();
    let mut out = [vec![[0.0; 3]; count], vec![[0.0; 3]; if clip.has_normals() { count } else { 0 }]];
    let [positions, normals] = &mut out;
    let to = VertexSlicesMut { positions, normals, ..VertexSlicesMut::default() };
    sample(clip, seconds, looping, to).expect("sizes agree");
    out
}

#[test]
fn every_size_is_within_half_a_step_of_the_formula() {
    for &vertices in SIZES {
        let frames = Frames::random(vertices as u64 + 1, vertices, 4);
        let grid = frames.grid();
        let clip = frames.bake(grid);
        assert_eq!((clip.frame_count(), clip.vertex_count()), (4, vertices));
        let farthest =
            frames.positions.iter().flatten().flatten().fold(0.0, |most: f32, x| most.max(x.abs()));
        for dispatch in Dispatch::all() {
            for seconds in [0.0, 0.4 / 30.0, 1.0 / 30.0, 0.05, 0.0999] {
                let [positions, normals] = dispatch.scope(|| sampled(&clip, seconds, Looping::Clamp));
                let [want, want_normals] = [&frames.positions, &frames.normals]
                    .map(|all| reference::between_frames(all, FPS.into(), seconds));
                for v in 0..vertices {
                    let mut normal = want_normals[v];
                    condyle_base::math::vectors::normalize(&mut normal);
                    for axis in 0..3 {
                        let case = format_args!("{dispatch}, vertex {v} of {vertices}, {seconds} s");
                        let off = (f64::from(positions[v][axis]) - want[v][axis]).abs();
                        let bound = 0.51 * f64::from(grid.step()[axis]) + 1.2e-7 * f64::from(farthest);
                        assert!(off <= bound, "{case}: {off} beyond {bound}");
                        let off = (f64::from(normals[v][axis]) - normal[axis]).abs();
                        assert!(off <= 6e-5, "{case}: normal off by {off}");
                    }
                }
            }
        }
    }
}

#[test]
fn frames_are_what_their_numbers_mean() {
    let frames = Frames::random(3, 19, 3);
    let clip = frames.bake(frames.grid());
    for frame in 0..3 {
        let [positions, _] = sampled(&clip, frame as f64 / 30.0, Looping::Clamp);
        assert_eq!(clip.positions(frame).count(), 19);
        for ((numbers, got), authored) in clip.positions(frame).zip(positions).zip(&frames.positions[frame]) {
            assert_eq!(numbers, clip.grid().pack(*authored));
            assert_eq!(got, clip.grid().unpack(numbers), "frame {frame}");
        }
        assert!(
            clip.normals(frame).zip(&frames.normals[frame]).all(|(got, want)| got == Grid::UNIT.pack(*want))
        );
    }
    assert_eq!((clip.positions(3).count(), clip.normals(usize::MAX).count()), (0, 0));
    // Two groups of eight and one of three, padded; each number takes two bytes.
    assert_eq!(clip.byte_count(), 2 * 3 * 24 * 3 * 2);
}

#[test]
fn the_clock_loops_or_stands_at_the_ends() {
    let frames = Frames::random(5, 9, 4);
    let clip = frames.bake(frames.grid());
    let duration = clip.duration();
    let at = |seconds, looping| sampled(&clip, seconds, looping);
    let (first, last) = (at(0.0, Looping::Clamp), at(duration, Looping::Clamp));
    assert_ne!(first, last);
    assert_eq!((at(-7.0, Looping::Clamp), at(1e300, Looping::Clamp)), (first.clone(), last));
    assert_eq!(at(duration, Looping::Wrap), first);
    let near = |a: &[Vec<[f32; 3]>; 2], b: &[Vec<[f32; 3]>; 2]| {
        let numbers = |all: &[Vec<[f32; 3]>; 2]| all.iter().flatten().flatten().copied().collect::<Vec<_>>();
        numbers(a).iter().zip(numbers(b)).all(|(a, b)| (a - b).abs() < 1e-5)
    };
    assert!(near(&at(0.03 - 5.0 * duration, Looping::Wrap), &at(0.03, Looping::Clamp)));
    // The exact end is the last frame, regardless of the rounding of its time.
    for fps in [7.0, 29.97, 30.0, 59.94] {
        let mut long = BakedClip::new(Grid::UNIT, fps, slices(&[[-1.0; 3]])).expect("a frame");
        (0..100).for_each(|_| long.push(slices(&[[1.0; 3]])).expect("a frame"));
        assert_eq!(sampled(&long, long.duration(), Looping::Clamp)[0], [[1.0; 3]], "{fps}");
    }
    // A single frame has no duration.
    let still = BakedClip::new(Grid::UNIT, FPS, slices(&[[0.5; 3]])).expect("a frame");
    for seconds in [-3.0, 0.0, 1e9] {
        for looping in [Looping::Clamp, Looping::Wrap] {
            assert!((sampled(&still, seconds, looping)[0][0][0] - 0.5).abs() < 2e-5);
        }
    }
}

fn slices(positions: &[[f32; 3]]) -> VertexSlices<'_> {
    VertexSlices { positions, ..VertexSlices::default() }
}

#[test]
fn opposite_normals_have_no_direction_between_them() {
    let frame = |normals| VertexSlices { positions: &[[0.0; 3]], normals, ..VertexSlices::default() };
    let mut clip = BakedClip::new(Grid::UNIT, 1.0, frame(&[[0.0, 0.0, 1.0]])).expect("a frame");
    clip.push(frame(&[[0.0, 0.0, -1.0]])).expect("a frame");
    for dispatch in Dispatch::all() {
        let normal = |seconds| dispatch.scope(|| sampled(&clip, seconds, Looping::Clamp))[1][0];
        let all = [0.0, 0.25, 0.5, 0.75, 1.0].map(normal);
        let (up, down) = ([0.0, 0.0, 1.0], [0.0, 0.0, -1.0]);
        assert_eq!(all, [up, up, [0.0; 3], down, down], "{dispatch}");
    }
}

#[test]
fn what_does_not_fit_is_refused_and_changes_nothing() {
    let frames = Frames::random(1, 5, 2);
    let grid = frames.grid();
    let mut clip = frames.bake(grid);
    let before = clip.clone();
    let good = VertexSlices {
        positions: &frames.positions[0],
        normals: &frames.normals[0],
        ..VertexSlices::default()
    };
    let (mut far, mut broken, mut long) =
        (frames.positions[0].clone(), frames.positions[0].clone(), frames.normals[0].clone());
    far[3][1] += 100.0;
    broken[2][0] = f32::NAN;
    long[4] = [0.0, 1.01, 0.0];
    let push = |clip: &mut BakedClip, positions, normals| {
        clip.push(VertexSlices { positions, normals, ..VertexSlices::default() })
    };
    let outside = |what, at| Err(Error::OutOfRange { what, at, needed: "within the box of the grid" });
    assert_eq!(push(&mut clip, &far, good.normals), outside("positions", 3));
    assert_eq!(push(&mut clip, good.positions, &long), outside("normals", 4));
    let nan = Err(Error::NotFinite { what: "positions", at: 2 });
    assert_eq!(push(&mut clip, &broken, good.normals), nan);
    let length = |what, found, needed| Err(Error::Length { what, found, needed });
    assert_eq!(push(&mut clip, &good.positions[1..], good.normals), length("positions", 4, 5));
    assert_eq!(push(&mut clip, good.positions, &[]), length("normals", 0, 5));
    assert!(clip == before);
    for fps in [0.0, -1.0, f32::NAN, f32::INFINITY, 1e-30] {
        assert!(BakedClip::new(grid, fps, good).is_err(), "{fps}");
    }

    let into = |seconds, positions: &mut [[f32; 3]], normals: &mut [[f32; 3]]| {
        let out = VertexSlicesMut { positions, normals, ..VertexSlicesMut::default() };
        sample(&clip, seconds, Looping::Wrap, out)
    };
    let mut positions = [[7.0; 3]; 5];
    assert_eq!(into(0.0, &mut positions, &mut [[7.0; 3]; 4]), length("normals", 4, 5));
    assert_eq!(into(0.0, &mut positions[1..], &mut []), length("positions", 4, 5));
    let nan = Err(Error::NotFinite { what: "seconds", at: 0 });
    assert_eq!(into(f64::NAN, &mut positions, &mut []), nan);
    assert_eq!(positions, [[7.0; 3]; 5]);
    assert_eq!(into(0.0, &mut positions, &mut []), Ok(()));
    assert!(positions.iter().all(|position| *position != [7.0; 3]));
}

#[test]
fn grids_hold_their_corners_and_have_no_extent_where_there_is_none() {
    for (low, high) in [([-1.0, 2.0, 0.0], [1.0, 2.0, 1e-3]), ([-3e38, 0.0, 1e30], [-1e38, 1e-40, 1e30])] {
        let grid = Grid::around(low, high).expect("a box");
        assert_eq!((grid.pack(low), grid.unpack(grid.pack(low))), ([0; 3], low));
        for (got, want) in grid.unpack(grid.pack(high)).iter().zip(high) {
            assert!((got - want).abs() <= 1e-5 * (want.abs() + got.abs()) + 1e-44, "{got}, not {want}");
        }
        assert_eq!(grid.check("corners", &[low, high]), Ok(()));
    }
    let mut random = Random(9);
    let grid = Grid::around([-2.0, -1.0, 0.0], [3.0, 1.0, 0.5]).expect("a box");
    for _ in 0..condyle_testing::tries(5000) {
        let point = [random.range(-2.0, 3.0), random.range(-1.0, 1.0), random.range(0.0, 0.5)];
        for (axis, (got, want)) in grid.unpack(grid.pack(point)).iter().zip(point).enumerate() {
            let off = (f64::from(*got) - f64::from(want)).abs();
            assert!(off <= 0.5 * f64::from(grid.step()[axis]) + 6e-8 * 8.0, "{point:?}: {off}");
        }
    }
    assert_eq!(Grid::UNIT.unpack(Grid::UNIT.pack([0.0, 1.0, -1.0])), [0.0, 1.0, -1.0]);
    let refused = Grid::around([0.0; 3], [1.0, -1.0, 1.0]);
    assert_eq!(refused, Err(Error::OutOfRange { what: "high", at: 1, needed: "at least `low`" }));
    assert!(Grid::around([f32::NAN; 3], [1.0; 3]).is_err());
    // A side that overflows f32 would unpack to infinities far from 0.
    for (low, high) in [([f32::MIN; 3], [f32::MAX; 3]), ([0.0, -2e38, 0.0], [0.0, 2e38, 0.0])] {
        assert!(matches!(Grid::around(low, high), Err(Error::NotFinite { what: "step", .. })));
    }
    for end in [3e38, 3.3e38, f32::MAX] {
        let grid = Grid::around([0.0; 3], [end; 3]);
        assert!(end == f32::MAX || grid.is_ok());
        assert!(grid.is_err() || grid.is_ok_and(|grid| grid.unpack([u16::MAX; 3])[0].is_finite()));
    }
}

#[test]
fn portable_bits() {
    assert_portable(0x09d3_12f6_81d8_008d, |hash: &mut Hash| {
        for &vertices in SIZES {
            let frames = Frames::random(7, vertices, 3);
            let clip = frames.bake(frames.grid());
            for seconds in [0.0, 0.017, 0.05, 0.06] {
                let [positions, normals] = sampled(&clip, seconds, Looping::Wrap);
                hash.add(positions.as_flattened());
                hash.add(normals.as_flattened());
            }
        }
    });
}
