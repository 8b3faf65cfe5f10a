//! Silhouettes and shadow volumes are closed, and normals have unit length.

use std::collections::HashMap;

use arbitrary::{Result, Unstructured};
use condyle_fuzz::any::{bits, is_finite, is_moderate, number, points, vector};
use condyle_query::surface::{
    self, ShadowVolume, Silhouette, Surface, Viewpoint, normals, shadow_volume, silhouette,
};

use crate::case::Case;

pub(crate) fn exercise(case: &Case, input: &mut Unstructured<'_>) -> Result<()> {
    let surface = Surface::new(&case.mesh);
    assert_eq!(surface.vertex_count(), case.mesh.vertex_count());
    assert_eq!(surface.triangles().count(), surface.triangle_count());
    assert_eq!(surface.is_closed(), surface.open_edges().next().is_none());
    let skinned = input.arbitrary()?;
    let posed = if skinned {
        let model = case.model(input)?;
        case.posed(case.mesh.vertices(), &model, u32::MAX).positions
    } else {
        points(input, case.mesh.vertex_count())?
    };
    let light = outline(&surface, &posed, input)?;
    // Vertices at one position in the bind pose stay together when skinned.
    if let Some((light, lit)) = light.filter(|_| skinned || case.mesh.vertices().normals.is_empty()) {
        facing(&surface, &posed, light, &lit);
    }
    sizes(&surface, &posed);

    let mut found = vec![[0.0; 3]; posed.len()];
    normals(&surface, &posed, &mut found).expect("the sizes agree");
    for normal in &found {
        let square: f32 = normal.iter().map(|v| v * v).sum();
        assert!(*normal == [0.0; 3] || (square - 1.0).abs() < 1e-5, "{normal:?}");
    }
    if !posed.is_empty() {
        let before = bits(found.as_flattened());
        assert!(normals(&surface, &posed[1..], &mut found).is_err());
        assert_eq!(bits(found.as_flattened()), before);
    }
    Ok(())
}

/// Count of each directed edge minus its reverse.
#[derive(Default)]
struct Balance(HashMap<(u32, u32), i32>);

impl Balance {
    fn add(&mut self, from: u32, to: u32) {
        let (key, by) = if from < to { ((from, to), 1) } else { ((to, from), -1) };
        *self.0.entry(key).or_default() += by;
    }

    fn is_even(&self) -> bool {
        self.0.values().all(|&count| count == 0)
    }
}

/// Checks a silhouette and its shadow volume. Returns the light and the silhouette, if there is a light.
fn outline(
    surface: &Surface,
    posed: &[[f32; 3]],
    input: &mut Unstructured<'_>,
) -> Result<Option<(Viewpoint, Silhouette)>> {
    let direction = vector(input)?;
    let light =
        if input.arbitrary()? { Viewpoint::Place(direction) } else { Viewpoint::Direction(direction) };
    let mut lit = Silhouette::default();
    let done = silhouette(surface, posed, light, &mut lit);
    let sound = is_finite(&direction) && (matches!(light, Viewpoint::Place(_)) || direction != [0.0; 3]);
    assert_eq!(done.is_ok(), sound, "{done:?}, {light:?}");
    let mut shade = ShadowVolume::default();
    let far = if input.arbitrary()? { None } else { Some(number(input)?) };
    if !sound {
        assert!(
            lit.edges().is_empty() && shadow_volume(surface, posed, light, &lit, far, &mut shade).is_err()
        );
        return Ok(None);
    }
    // Only an upper bound: triangles with a NaN are not counted. A triangle may use any of several coincident
    // vertices, and these may be posed apart here.
    assert!(lit.facing_count() <= surface.triangles().count());
    if surface.is_closed() {
        let mut ends = HashMap::<u32, i32>::new();
        for [from, to] in lit.edges() {
            *ends.entry(*from).or_default() += 1;
            *ends.entry(*to).or_default() -= 1;
        }
        assert!(ends.values().all(|&count| count == 0), "{:?}", lit.edges());
    }

    let done = shadow_volume(surface, posed, light, &lit, far, &mut shade);
    let sound = far.is_none_or(|far| far > 0.0 && far.is_finite());
    assert_eq!(done.is_ok(), sound, "{done:?}");
    if !sound {
        assert!(shade.positions.is_empty() && shade.indices.is_empty());
        return Ok(Some((light, lit)));
    }
    assert_eq!(shade.positions.len(), 2 * posed.len());
    assert_eq!(shade.indices.len(), 6 * lit.facing_count() + 6 * lit.edges().len());
    let mut balance = Balance::default();
    for [a, b, c] in shade.indices.as_chunks::<3>().0 {
        [(a, b), (b, c), (c, a)].into_iter().for_each(|(from, to)| balance.add(*from, *to));
    }
    assert!(balance.is_even(), "the shadow volume is open");
    assert!(shade.indices.iter().all(|&index| (index as usize) < shade.positions.len()));
    Ok(Some((light, lit)))
}

/// Checks the number of triangles that face the light against f64, except for triangles seen edge-on.
fn facing(surface: &Surface, posed: &[[f32; 3]], light: Viewpoint, lit: &Silhouette) {
    let (Viewpoint::Place(view) | Viewpoint::Direction(view)) = light;
    if !is_moderate(posed.as_flattened()) || !is_moderate(&view) {
        return;
    }
    let (mut surely, mut maybe) = (0, 0);
    for corners in surface.triangles() {
        let [a, b, c] = corners.map(|vertex| posed[vertex as usize].map(f64::from));
        let minus = |p: [f64; 3], q: [f64; 3]| [p[0] - q[0], p[1] - q[1], p[2] - q[2]];
        let (u, v) = (minus(b, a), minus(c, a));
        let normal = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]];
        let to = view.map(f64::from);
        let to = if matches!(light, Viewpoint::Place(_)) { minus(to, a) } else { to };
        let size = |v: [f64; 3]| v.iter().map(|v| v.abs()).sum::<f64>();
        let along: f64 = normal.iter().zip(to).map(|(n, t)| n * t).sum();
        let farthest = size(a) + size(b) + size(c);
        // Allows for the rounding of coordinate differences and their products.
        let slack = 1e-6 * (size(u) * size(v) * (size(to) + farthest))
            + 1e-6 * farthest * size(to) * (size(u) + size(v));
        surely += usize::from(along > slack);
        maybe += usize::from(along > -slack);
    }
    assert!((surely..=maybe).contains(&lit.facing_count()), "{surely} to {maybe}: {}", lit.facing_count());
}

fn sizes(surface: &Surface, posed: &[[f32; 3]]) {
    let area = surface::area(surface, posed).expect("the sizes agree");
    let volume = surface::volume(surface, posed).expect("the sizes agree");
    assert!(!is_finite(posed.as_flattened()) || (area >= 0.0 && area.is_finite() && volume.is_finite()));
    let triangles: Vec<_> = surface.triangles().map(|t| t.map(|v| posed[v as usize])).collect();
    for pair in triangles.windows(2) {
        let [most, least] = surface::stretch(&pair[0], &pair[1]);
        let sound = is_finite(pair.as_flattened().as_flattened());
        assert!(!sound || most >= least && least >= 0.0, "{most}, {least} of {pair:?}");
    }
}
