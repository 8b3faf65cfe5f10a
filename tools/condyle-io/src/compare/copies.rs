//! Distances between two copies of a mesh that different matrices pose.
//!
//! A vertex `p` with weights `w` is at `sum(w A p)` in one model and at `sum(w B p)` in the other. Its
//! displacement is `sum((A - B) w p)`: one sum instead of two, and more exact. The matrices of sixteen
//! moments are in lanes, so that the numbers of a vertex are read once for sixteen moments.

use condyle::{Palette, SkinnedMesh};
use condyle_base::simd::dispatch;

/// Number of moments in lanes.
pub(crate) const LANES: usize = 16;

/// Two copies of a mesh: equal positions and weights, and no morph targets.
pub(crate) struct Copies {
    /// Joints of both models that an influence refers to.
    pairs: Vec<[u16; 2]>,
    /// End of the terms of each vertex.
    ends: Vec<u32>,
    terms: Vec<Term>,
}

/// Influence of a joint on a vertex.
struct Term {
    pair: u32,
    /// Weight times position, and the weight.
    weighted: [f32; 4],
}

/// Differences between the matrices of two joints: element `3 * column + row`, at each moment.
type Delta = [[f32; LANES]; 12];

impl Copies {
    /// `None` if the meshes are not equal.
    pub(crate) fn new([a, b]: [&SkinnedMesh; 2]) -> Option<Self> {
        let are_still = a.morph_targets().is_empty() && b.morph_targets().is_empty();
        let positions = &a.vertices().positions;
        if !are_still || *positions != b.vertices().positions {
            return None;
        }
        let mut it = Self { pairs: Vec::new(), ends: Vec::with_capacity(positions.len()), terms: Vec::new() };
        for (vertex, &[x, y, z]) in positions.iter().enumerate() {
            let (these, those) = (a.influences().row(vertex), b.influences().row(vertex));
            if these.len() != those.len() {
                return None;
            }
            for ((this, weight), (that, other)) in these.zip(those) {
                if weight != other {
                    return None;
                }
                let pair = it.pairs.iter().position(|&pair| pair == [this, that]).unwrap_or_else(|| {
                    it.pairs.push([this, that]);
                    it.pairs.len() - 1
                });
                let weighted = [weight * x, weight * y, weight * z, weight];
                it.terms.push(Term { pair: pair as u32, weighted });
            }
            it.ends.push(it.terms.len() as u32);
        }
        Some(it)
    }

    /// Computes the squared distances of all vertices at up to [`LANES`] moments, whose matrices `palettes`
    /// holds. Returns the largest of each moment, or a number that is not finite.
    pub(crate) fn measure(&self, palettes: &[[&Palette; 2]], squares: &mut [[f64; LANES]]) -> [f64; LANES] {
        let mut deltas: Vec<Delta> = vec![[[0.0; LANES]; 12]; self.pairs.len()];
        for (lane, palettes) in palettes.iter().enumerate() {
            for (delta, pair) in deltas.iter_mut().zip(&self.pairs) {
                let [a, b] = [0, 1].map(|side| &palettes[side].matrices()[usize::from(pair[side])].columns);
                for (at, row) in delta.iter_mut().enumerate() {
                    let element = 4 * (at / 3) + at % 3;
                    row[lane] = a[element] - b[element];
                }
            }
        }
        dispatch!(|_s| self.kernel(&deltas, squares))
    }

    /// Compiled for each instruction set, without explicit vectors: the lanes are independent.
    #[inline(always)]
    fn kernel(&self, deltas: &[Delta], squares: &mut [[f64; LANES]]) -> [f64; LANES] {
        // Squares have the order of their bits, with infinity and NaN at the top.
        let (mut first, mut most) = (0, [0_u64; LANES]);
        for (&end, square) in self.ends.iter().zip(squares) {
            let [x, y, z] = displacement(deltas, &self.terms[first..end as usize]);
            first = end as usize;
            // Lanes of a local array become one vector operation each.
            let mut sum = [0.0; LANES];
            for axis in [x, y, z] {
                for (sum, by) in sum.iter_mut().zip(axis) {
                    *sum += f64::from(by) * f64::from(by);
                }
            }
            *square = sum;
            for (most, sum) in most.iter_mut().zip(sum) {
                *most = (*most).max(sum.to_bits() & (u64::MAX >> 1));
            }
        }
        most.map(f64::from_bits)
    }
}

/// Displacement of a vertex at each moment.
#[inline(always)]
fn displacement(deltas: &[Delta], terms: &[Term]) -> [[f32; LANES]; 3] {
    let [mut x, mut y, mut z] = [[0.0; LANES]; 3];
    for term in terms {
        let delta = &deltas[term.pair as usize];
        for (column, &factor) in delta.as_chunks::<3>().0.iter().zip(&term.weighted) {
            for lane in 0..LANES {
                x[lane] += column[0][lane] * factor;
                y[lane] += column[1][lane] * factor;
                z[lane] += column[2][lane] * factor;
            }
        }
    }
    [x, y, z]
}

#[cfg(test)]
mod tests {
    use super::*;
    use condyle::mesh::VertexSlicesMut;
    use condyle::{Affine, Influences, NormalRule, Skin, Vertices, palette, skin};

    fn mesh(positions: Vec<[f32; 3]>, rows: Vec<Vec<(u16, f32)>>) -> SkinnedMesh {
        let influences = Influences::from_rows(rows).expect("few");
        let vertices = Vertices { positions, ..Vertices::default() };
        SkinnedMesh::new(vertices, influences, vec![], vec![]).expect("a mesh")
    }

    fn posed(matrices: &[Affine]) -> Palette {
        let joints = (0..matrices.len() as u16).collect();
        let of_joints = Skin::new(joints, vec![Affine::IDENTITY; matrices.len()]).expect("a skin");
        let mut it = Palette::default();
        palette(&of_joints, matrices, NormalRule::Plain, &mut it).expect("matrices");
        it
    }

    /// Matrices of three joints at a moment of a model.
    fn matrices(moment: usize, by: f32) -> Vec<Affine> {
        let of_joint = |joint: usize| {
            let mut it = Affine::IDENTITY;
            for (at, v) in it.rows.as_flattened_mut().iter_mut().enumerate() {
                *v += by * ((7 * moment + 5 * joint + 3 * at) as f32).sin();
            }
            it
        };
        (0..3).map(of_joint).collect()
    }

    #[test]
    fn distances_are_those_of_posed_vertices() {
        let positions: Vec<_> = (0..37).map(|at| [at as f32 * 0.1, (at as f32).cos(), 1.0]).collect();
        let row = |at: u16| vec![(at % 3, 0.75), ((at + 1) % 3, 0.25)];
        let mesh = mesh(positions.clone(), (0..37).map(row).collect());
        let copies = Copies::new([&mesh, &mesh]).expect("equal meshes");
        // One more than half of the lanes.
        let sides: Vec<[Palette; 2]> =
            (0..9).map(|moment| [0.1, 0.2].map(|by| posed(&matrices(moment, by)))).collect();
        let mut squares = vec![[f64::NAN; LANES]; positions.len()];
        copies.measure(&sides.iter().map(|sides| sides.each_ref()).collect::<Vec<_>>(), &mut squares);
        for (lane, sides) in sides.iter().enumerate() {
            let posed = sides.each_ref().map(|palette| {
                let mut positions = positions.clone();
                let target = VertexSlicesMut { positions: &mut positions, ..VertexSlicesMut::default() };
                skin(mesh.influences(), palette, mesh.vertices().as_slices(), target).expect("a pose");
                positions
            });
            for (vertex, (p, q)) in posed[0].iter().zip(&posed[1]).enumerate() {
                let (want, found) = (crate::compare::tree::square(p, q), squares[vertex][lane]);
                assert!((want.sqrt() - found.sqrt()).abs() < 2e-6, "{vertex} at {lane}: {want} {found}");
            }
        }
    }

    /// A displacement of a micron, a kilometre from the origin: f32 positions cannot hold it.
    #[test]
    fn distances_are_finer_than_positions() {
        let mesh = mesh(vec![[1000.0, 1000.0, 0.0]], vec![vec![(0, 1.0)]]);
        let mut turned = Affine::IDENTITY;
        turned.rows[0][1] = 1e-9;
        let sides = [Affine::IDENTITY, turned].map(|matrix| posed(&[matrix]));
        let mut squares = [[0.0; LANES]];
        Copies::new([&mesh, &mesh]).expect("copies").measure(&[sides.each_ref()], &mut squares);
        assert!((squares[0][0].sqrt() - 1e-6).abs() < 1e-12, "{}", squares[0][0]);
    }

    #[test]
    fn meshes_that_differ_are_no_copies() {
        let of = |x: f32, weight: f32| mesh(vec![[x, 0.0, 0.0]], vec![vec![(0, weight), (1, 1.0 - weight)]]);
        let serves = |a: &SkinnedMesh, b: &SkinnedMesh| Copies::new([a, b]).is_some();
        assert!(serves(&of(1.0, 0.7), &of(1.0, 0.7)));
        assert!(!serves(&of(1.0, 0.7), &of(1.5, 0.7)) && !serves(&of(1.0, 0.7), &of(1.0, 0.6)));
    }
}
