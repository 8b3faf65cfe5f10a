//! Positions only, from base vectors that are multiplied by their weights in advance.
//!
//! The base is the position of a vertex in the space of each of its joints, times the weight. Model matrices
//! then apply without a palette. This takes 18 bytes per influence and 4 per vertex.

use alloc::vec::Vec;
use core::{fmt, mem};

use fearless_simd::{f32x4, prelude::*};

use super::rows::kept_scale;
use crate::mesh::{AtMost, Influences, Skin};
use condyle_base::error::Error;
use condyle_base::math::Affine;
use condyle_base::simd::{Mode, dispatch};

/// The positions of a mesh in the spaces of its joints, times their weights: one base vector per influence.
///
/// Create it once per mesh. [`positions`] then needs neither inverse bind matrices nor a palette, only the
/// model matrices. It takes 18 bytes per influence and 4 per vertex.
///
/// It pays off for few vertices per joint: fewer than about four with two influences each, or two with four
/// influences each. Beyond that, reading the base vectors costs more than [`palette`](crate::palette()), and
/// [`skin`](crate::skin()) is faster. A mesh whose bind pose is morphed needs `skin` in any case.
///
/// ```
/// use condyle::skinning::{self, WeightedBases};
/// use condyle::{Affine, Influences, Skin};
///
/// let influences = Influences::from_rows([[(0, 1.0)], [(1, 1.0)]])?;
/// let bound = Skin::new(vec![3, 5], vec![Affine::IDENTITY; 2])?;
/// let bases = WeightedBases::new(&influences, &bound, &[[0.0; 3]; 2])?;
/// // The bound counts joints of the skeleton, not of the skin.
/// assert_eq!((bases.vertex_count(), bases.joint_bound()), (2, 6));
/// let mut posed = [[1.0; 3]; 2];
/// skinning::positions(&bases, &[Affine::IDENTITY; 6], &mut posed)?;
/// assert_eq!(posed, [[0.0; 3]; 2]);
/// # Ok::<(), condyle::Error>(())
/// ```
#[derive(Clone, PartialEq)]
pub struct WeightedBases {
    /// Row `v` is `joints[starts[v]..starts[v + 1]]`, the same range of `vectors`.
    starts: Vec<u32>,
    /// Joint indices in the skeleton.
    joints: Vec<u16>,
    /// The position in the joint's space, then 1, all multiplied by the weight.
    vectors: Vec<[f32; 4]>,
    /// Largest joint index plus one.
    joint_bound: usize,
}

/// Prints a one-line summary with the numbers of vertices and influences.
impl fmt::Debug for WeightedBases {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WeightedBases")
            .field("vertices", &self.starts.len().saturating_sub(1))
            .field("influences", &self.joints.len())
            .finish_non_exhaustive()
    }
}

impl WeightedBases {
    /// Returns the bases of a mesh with these positions in the bind pose.
    ///
    /// # Errors
    /// [`Error::Length`] if `positions` does not hold one element per vertex. [`Error::TooShort`] if the skin
    /// lacks a joint that the influences refer to.
    pub fn new(influences: &Influences, skin: &Skin, positions: &[[f32; 3]]) -> Result<Self, Error> {
        Error::check_len("positions", positions.len(), influences.vertex_count())?;
        influences.check_joints("joints of the skin", skin.joints().len())?;
        let (starts, names, _) = influences.as_slices();
        let mut bases = Self {
            starts: starts.to_vec(),
            joints: Vec::with_capacity(names.len()),
            vectors: Vec::with_capacity(names.len()),
            joint_bound: 0,
        };
        for (vertex, position) in positions.iter().enumerate() {
            let [x, y, z] = position.map(f64::from);
            for (name, weight) in influences.row(vertex) {
                let joint = skin.joints()[usize::from(name)];
                let bind = &skin.inverse_bind()[usize::from(name)];
                let weighted = |row: [f32; 4]| {
                    let [a, b, c, d] = row.map(f64::from);
                    ((a * x + b * y + c * z + d) * f64::from(weight)) as f32
                };
                let [x, y, z] = bind.rows.map(weighted);
                bases.joints.push(joint);
                bases.vectors.push([x, y, z, weight]);
                bases.joint_bound = bases.joint_bound.max(usize::from(joint) + 1);
            }
        }
        Ok(bases)
    }

    /// Number of vertices.
    #[must_use]
    pub fn vertex_count(&self) -> usize {
        self.starts.len() - 1
    }

    /// Largest index of a joint of the skeleton in use, plus one.
    #[must_use]
    pub fn joint_bound(&self) -> usize {
        self.joint_bound
    }

    /// Returns the bases with only the `count` heaviest influences of each vertex, for a lower level of
    /// detail. See [`Influences::at_most`].
    #[must_use]
    pub fn at_most(&self, count: u32) -> AtMost<'_, Self> {
        AtMost::new(self, count)
    }
}

/// Deforms positions by the model matrices of their joints.
///
/// `model` holds one matrix per joint of the skeleton, as [`local_to_model`](crate::local_to_model) computes
/// them. `positions` receives the sum of `model * base` over the influences of each vertex, in model space.
/// Except for rounding, this is the result of [`skin`](crate::skin()), with the same error bound. J.M.P. van
/// Waveren, *Fast Skinning*, section 3.
///
/// # Errors
/// [`Error::Length`] if `positions` does not hold one element per vertex. [`Error::TooShort`] if `model`
/// lacks a joint that the bases refer to.
///
/// ```
/// use condyle::skinning::{self, WeightedBases};
/// use condyle::{Affine, example, local_to_model};
///
/// let (skeleton, mesh) = (example::skeleton(), example::mesh());
/// let mut model = vec![Affine::IDENTITY; skeleton.joint_count()];
/// local_to_model(&skeleton, skeleton.rest(), &mut model)?;
/// // Once, when the mesh is loaded.
/// let bases = WeightedBases::new(mesh.influences(), &example::skin(), &mesh.vertices().positions)?;
/// // Each frame. The lower arm moves up by 1 m. Its weight at vertex 4, at the elbow, is a quarter.
/// model[usize::from(example::ARM_L[1])].rows[1][3] += 1.0;
/// let mut posed = vec![[0.0; 3]; bases.vertex_count()];
/// skinning::positions(&bases, &model, &mut posed)?;
/// assert_eq!(mesh.vertices().positions[4], [0.5, 1.5625, 0.0625]);
/// assert_eq!(posed[4], [0.5, 1.8125, 0.0625]);
/// # Ok::<(), condyle::Error>(())
/// ```
pub fn positions<'a>(
    bases: impl Into<AtMost<'a, WeightedBases>>,
    model: &[Affine],
    positions: &mut [[f32; 3]],
) -> Result<(), Error> {
    move_bases(bases.into(), model, positions)
}

/// Not generic, so that the kernel is compiled only once.
fn move_bases(
    bases: AtMost<'_, WeightedBases>,
    model: &[Affine],
    positions: &mut [[f32; 3]],
) -> Result<(), Error> {
    let (bases, max_influences) = bases.parts();
    Error::check_len("positions", positions.len(), bases.vertex_count())?;
    Error::check_room("model", model.len(), bases.joint_bound)?;
    let done = dispatch!(|s, mode| move_vertices(s, mode, bases, max_influences as usize, model, positions));
    done.ok_or(Error::Internal { what: "the bases have one length and name joints of the model" })
}

/// Never returns `None`: all lengths were checked. The checks here cost less than paths to a panic.
#[inline(always)]
fn move_vertices<S: Simd, M: Mode>(
    s: S,
    mode: M,
    bases: &WeightedBases,
    max_influences: usize,
    model: &[Affine],
    positions: &mut [[f32; 3]],
) -> Option<()> {
    let mut begin = 0;
    let (mut joints, mut vectors) = (&bases.joints[..], &bases.vectors[..]);
    let mut packed = positions.as_flattened_mut();
    for &end in bases.starts.get(1..)? {
        let count = (end - begin) as usize;
        begin = end;
        let (row, other_joints) = joints.split_at_checked(count)?;
        let (bases, other_vectors) = vectors.split_at_checked(count)?;
        (joints, vectors) = (other_joints, other_vectors);
        let kept = count.min(max_influences);
        let mut point = sum(s, mode, row.get(..kept)?, bases.get(..kept)?, model)?;
        if count > max_influences {
            point *= f32x4::splat(s, kept_scale(bases.iter().map(|base| base[3]), max_influences));
        }
        // The next vertex overwrites the fourth lane.
        if let Some(four) = packed.first_chunk_mut::<4>() {
            point.store_slice(four);
        } else if let Some(three) = packed.first_chunk_mut::<3>() {
            let [x, y, z, _] = point.to_array();
            *three = [x, y, z];
        }
        packed = mem::take(&mut packed).get_mut(3..)?;
    }
    Some(())
}

/// Sums the products with each row of the matrices lane by lane, and the lanes at the end.
#[inline(always)]
fn sum<S: Simd, M: Mode>(
    s: S,
    mode: M,
    row: &[u16],
    bases: &[[f32; 4]],
    model: &[Affine],
) -> Option<f32x4<S>> {
    let zero = f32x4::splat(s, 0.0);
    let (mut x, mut y, mut z) = (zero, zero, zero);
    for (&joint, base) in row.iter().zip(bases) {
        let matrix = model.get(usize::from(joint))?;
        let base = f32x4::load_array_ref(s, base);
        x = mode.madd(f32x4::load_array_ref(s, &matrix.rows[0]), base, x);
        y = mode.madd(f32x4::load_array_ref(s, &matrix.rows[1]), base, y);
        z = mode.madd(f32x4::load_array_ref(s, &matrix.rows[2]), base, z);
    }
    // Add each pair of lanes, then each pair of sums.
    let (xy, z) = (x.unzip_low(y) + x.unzip_high(y), z.unzip_low(z) + z.unzip_high(z));
    Some(xy.unzip_low(z) + xy.unzip_high(z))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::reference;
    use crate::testing::{Random, SIZES, assert_close, assert_portable};
    use condyle_base::simd::Dispatch;
    use std::vec;

    const JOINTS: usize = 20;

    fn model(random: &mut Random) -> Vec<Affine> {
        (0..JOINTS).map(|_| Affine::from(random.transform())).collect()
    }

    #[test]
    fn every_size_and_cap_is_the_formula() {
        for (&vertices, count) in SIZES.iter().flat_map(|n| [u32::MAX, 0, 1, 3].map(|count| (n, count))) {
            let mut random = Random(vertices as u64);
            let (mesh, skin) = (random.mesh(vertices, JOINTS), random.skin(JOINTS));
            let model = model(&mut random);
            let wide: Vec<_> = model.iter().map(reference::matrix).collect();
            let palette = reference::palette(&skin, &wide);
            let positions = &mesh.vertices().positions;
            let bases = WeightedBases::new(mesh.influences(), &skin, positions).expect("sizes agree");
            for dispatch in Dispatch::all() {
                let mut got = vec![[0.0; 3]; vertices];
                dispatch
                    .scope(|| crate::skinning::positions(bases.at_most(count), &model, &mut got))
                    .expect("sizes agree");
                for (v, got) in got.iter().enumerate() {
                    let row: Vec<_> = mesh.influences().row(v).collect();
                    let row = reference::at_most(&row, count.max(1) as usize);
                    let m = reference::blend_matrices(&palette, row);
                    let want = reference::transform_point(&m, positions[v].map(f64::from));
                    let case = format_args!("{dispatch}, vertex {v} of {vertices}, at most {count}");
                    assert_close(got, &want, 1e-6, case);
                }
            }
        }
    }

    #[test]
    fn the_bits_are_the_same_everywhere() {
        assert_portable(0xf930_87c7_cf69_cec1, |hash| {
            let mut random = Random(24);
            let (mesh, skin, model) = (random.mesh(200, JOINTS), random.skin(JOINTS), model(&mut random));
            let positions = &mesh.vertices().positions;
            let bases = WeightedBases::new(mesh.influences(), &skin, positions).expect("sizes agree");
            let mut out = vec![[0.0; 3]; 200];
            for count in [u32::MAX, 2] {
                crate::skinning::positions(bases.at_most(count), &model, &mut out).expect("sizes agree");
                hash.add(out.as_flattened());
            }
        });
    }

    #[test]
    fn wrong_sizes_are_refused() {
        let mut random = Random(2);
        let (mesh, skin) = (random.mesh(9, 3), random.skin(3));
        let positions = &mesh.vertices().positions;
        let refused = WeightedBases::new(mesh.influences(), &skin, &positions[1..]);
        assert_eq!(refused, Err(Error::Length { what: "positions", found: 8, needed: 9 }));
        let few = random.skin(mesh.influences().joint_bound() - 1);
        let refused = WeightedBases::new(mesh.influences(), &few, positions);
        assert!(matches!(refused, Err(Error::TooShort { what: "joints of the skin", .. })), "{refused:?}");
        let bases = WeightedBases::new(mesh.influences(), &skin, positions).expect("sizes agree");
        let model = vec![Affine::IDENTITY; bases.joint_bound()];
        let mut out = vec![[0.0; 3]; 9];
        let refused = crate::skinning::positions(&bases, &model[1..], &mut out);
        assert!(matches!(refused, Err(Error::TooShort { what: "model", .. })), "{refused:?}");
        let refused = crate::skinning::positions(&bases, &model, &mut out[1..]);
        assert_eq!(refused, Err(Error::Length { what: "positions", found: 8, needed: 9 }));
    }
}
