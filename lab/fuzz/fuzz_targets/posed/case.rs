//! Mesh, skin and poses of a case.

use arbitrary::{Result, Unstructured};
use condyle::mesh::MorphDeltas;
use condyle::{
    Affine, Influences, MorphTarget, NormalRule, Palette, Skin, SkinnedMesh, Vertices, morph, palette, skin,
};
use condyle_fuzz::any::{bits, is_finite, matrix, number, points, vector};

pub(crate) struct Case {
    pub(crate) mesh: SkinnedMesh,
    pub(crate) skin: Skin,
    /// Number of joints of the skeleton.
    pub(crate) joints: usize,
}

impl Case {
    /// Returns `None` if the library refuses a part, which it must do exactly for invalid parts.
    pub(crate) fn new(input: &mut Unstructured<'_>) -> Result<Option<Self>> {
        let joints = input.int_in_range(1..=6)?;
        let names = input.int_in_range(1..=10)?;
        let of_skin = (0..names).map(|_| input.int_in_range(0..=joints as u16 - 1)).collect::<Result<_>>()?;
        let inverse_bind: Vec<Affine> = (0..names).map(|_| matrix(input)).collect::<Result<_>>()?;
        let sound = inverse_bind.iter().all(|m| is_finite(m.rows.as_flattened()));
        let skin = Skin::new(of_skin, inverse_bind);
        assert_eq!(skin.is_ok(), sound);
        let Ok(skin) = skin else { return Ok(None) };

        let count = input.int_in_range(0..=40)?;
        let vertices = vertices(input, count)?;
        let Some(influences) = influences(input, count, names as u16)? else { return Ok(None) };
        let mut targets = Vec::new();
        while targets.len() < 3 && input.ratio(1, 3)? {
            match target(input, count)? {
                Some(target) => targets.push(target),
                None => return Ok(None),
            }
        }
        let mut indices = Vec::new();
        if count > 0 && input.ratio(7, 8)? {
            for _ in 0..3 * input.int_in_range(0..=80)? {
                indices.push(input.int_in_range(0..=count as u32 - 1)?);
            }
        }
        let sound = [&vertices.positions, &vertices.normals].iter().all(|v| is_finite(v.as_flattened()));
        let mesh = SkinnedMesh::new(vertices, influences, indices, targets);
        assert_eq!(mesh.is_ok(), sound);
        Ok(mesh.ok().map(|mesh| Self { mesh, skin, joints }))
    }

    /// One matrix per joint.
    pub(crate) fn model(&self, input: &mut Unstructured<'_>) -> Result<Vec<Affine>> {
        (0..self.joints).map(|_| matrix(input)).collect()
    }

    /// Vertices with the morph targets applied.
    pub(crate) fn morphed(&self, weights: &[f32]) -> Vertices {
        let mut out = Vertices::zeroed_like(self.mesh.vertices());
        morph(&self.mesh, weights, out.as_slices_mut()).expect("finite weights, as many as targets");
        out
    }

    /// Vertices posed by linear blending.
    pub(crate) fn posed(&self, bind: &Vertices, model: &[Affine], most: u32) -> Vertices {
        let mut matrices = Palette::default();
        palette(&self.skin, model, NormalRule::default(), &mut matrices).expect("all joints are there");
        let mut out = Vertices::zeroed_like(bind);
        let influences = self.mesh.influences().at_most(most);
        skin(influences, &matrices, bind.as_slices(), out.as_slices_mut()).expect("the sizes agree");
        out
    }
}

fn vertices(input: &mut Unstructured<'_>, count: usize) -> Result<Vertices> {
    let mut vertices = Vertices { positions: points(input, count)?, ..Vertices::default() };
    if input.arbitrary()? {
        vertices.normals = points(input, count)?;
    }
    Ok(vertices)
}

/// Influences whose weights sum to 1, or in a quarter of the cases arbitrary weights. A third also gets dual
/// shares.
fn influences(input: &mut Unstructured<'_>, count: usize, names: u16) -> Result<Option<Influences>> {
    let any = input.ratio(1, 4)?;
    let mut rows = Vec::new();
    for _ in 0..count {
        let mut row = Vec::new();
        let parts = input.int_in_range(if any { 0 } else { 1 }..=5)?;
        for part in 0..parts {
            let name = input.int_in_range(0..=names - 1)?;
            let rest = 1.0 - row.iter().map(|&(_, weight)| weight).sum::<f32>();
            let weight = match any {
                true => number(input)?,
                false if part + 1 == parts => rest,
                false => rest * f32::from(input.arbitrary::<u8>()?) / 256.0,
            };
            row.push((name, weight));
        }
        rows.push(row);
    }
    let sound = rows.iter().flatten().all(|&(_, weight)| weight.is_finite());
    let influences = Influences::from_rows(rows);
    assert_eq!(influences.is_ok(), sound);
    let Ok(influences) = influences else { return Ok(None) };
    if !input.ratio(1, 3)? {
        return Ok(Some(influences));
    }
    let shares: Vec<f32> = (0..count)
        .map(|_| {
            let part = input.int_in_range(0..=5_u8)?;
            if part == 5 { number(input) } else { Ok(f32::from(part) / 4.0) }
        })
        .collect::<Result<_>>()?;
    let sound = shares.iter().all(|share| (0.0..=1.0).contains(share));
    let shared = influences.with_dual_shares(shares);
    assert_eq!(shared.is_ok(), sound);
    Ok(shared.ok())
}

/// Morph target from sparse deltas. It must equal the target from dense deltas.
fn target(input: &mut Unstructured<'_>, count: usize) -> Result<Option<MorphTarget>> {
    let mut sparse = [const { Vec::new() }; 3];
    for deltas in &mut sparse {
        for _ in 0..input.int_in_range(0..=8)? {
            deltas.push((input.int_in_range(0..=count as u32)?, vector(input)?));
        }
    }
    let [positions, normals, tangents] = sparse.each_ref().map(|deltas| &deltas[..]);
    let made = MorphTarget::from_sparse(count, MorphDeltas { positions, normals, tangents });
    let sound = sparse.iter().flatten().all(|(vertex, v)| (*vertex as usize) < count && is_finite(v));
    assert_eq!(made.is_ok(), sound);
    let Ok(made) = made else { return Ok(None) };

    let dense = sparse.each_ref().map(|deltas| {
        let mut all = vec![[0.0; 3]; if deltas.is_empty() { 0 } else { count }];
        deltas.iter().for_each(|&(vertex, delta)| all[vertex as usize] = delta);
        all
    });
    let [positions, normals, tangents] = dense.each_ref().map(|deltas| &deltas[..]);
    let all = MorphTarget::from_dense(count, MorphDeltas { positions, normals, tangents });
    let all = all.expect("finite deltas of all vertices");
    for vertex in 0..count {
        let [a, b] = [&made, &all].map(|target| target.delta(vertex));
        let own = |deltas: &[[f32; 3]]| deltas.get(vertex).copied().unwrap_or_default();
        assert_eq!((a.position, a.normal, a.tangent), (own(positions), own(normals), own(tangents)));
        assert_eq!(a, b);
    }
    assert!(made.deltas().eq(all.deltas()));
    assert!(made.deltas().map(|(vertex, _)| vertex).is_sorted_by(|a, b| a < b));
    assert_eq!(
        [made.has_positions(), made.has_normals(), made.has_tangents()],
        [all.has_positions(), all.has_normals(), all.has_tangents()]
    );
    assert!(bits(&made.delta(count).position).iter().all(|bits| *bits == 0));
    Ok(Some(made))
}
