//! Reads `JOINTS_n` and `WEIGHTS_n`, the influences of joints on vertices.

use std::collections::BTreeMap;

use condyle::Influences;

use crate::accessor::Accessors;
use crate::format::{Component, Format, Shape, Usage};
use crate::json::{Json, Path};
use crate::problem::{Problems, Severity};

const JOINTS: Usage = Usage {
    shape: Shape::Vec4,
    formats: &[Format::plain(Component::U8), Format::plain(Component::U16)],
    quantized: &[],
};
const WEIGHTS: Usage = Usage {
    shape: Shape::Vec4,
    formats: &[
        Format::plain(Component::F32),
        Format::normalized(Component::U8),
        Format::normalized(Component::U16),
    ],
    quantized: &[],
};
/// Largest deviation of a vertex's weight sum from 1 that is not rescaled.
const SUM_TOLERANCE: f64 = 1e-3;

/// Four influences on each vertex.
struct Set {
    joints: Vec<u32>,
    weights: Vec<f32>,
}

/// Reads the influences on `vertex_count` vertices. Returns `None` after an error, and `Some(None)` if the
/// primitive has no influences.
pub(crate) fn load(
    attributes: &[(&str, Json<'_>)],
    vertex_count: usize,
    accessors: &Accessors<'_>,
    problems: &mut Problems,
) -> Option<Option<Influences>> {
    let mut numbered: BTreeMap<usize, [Option<&Json<'_>>; 2]> = BTreeMap::new();
    for (name, json) in attributes {
        for (half, prefix) in ["JOINTS_", "WEIGHTS_"].iter().enumerate() {
            if let Some(n) = name.strip_prefix(prefix).and_then(|n| n.parse().ok()) {
                numbered.entry(n).or_default()[half] = Some(json);
            }
        }
    }
    let mut sets = Vec::new();
    for (place, (n, halves)) in numbered.into_iter().enumerate() {
        let (joints, weights) = match halves {
            [Some(joints), Some(weights)] => (joints, weights),
            [Some(json), None] => {
                problems.warning(&json.path, format!("WEIGHTS_{n} is missing"), "ignored");
                continue;
            }
            [None, Some(json)] => {
                problems.warning(&json.path, format!("JOINTS_{n} is missing"), "ignored");
                continue;
            }
            [None, None] => continue,
        };
        if n != place {
            problems.warning(&joints.path, format!("JOINTS_{place} is missing"), "used anyway");
        }
        let load = |json, usage, problems: &mut _| {
            let accessor = accessors.get(json, usage, problems)?;
            check_count(accessor.count, vertex_count, json, problems)?;
            Some(accessor)
        };
        let (joints, weights) = (load(joints, &JOINTS, problems), load(weights, &WEIGHTS, problems));
        sets.push(Set { joints: joints?.integers(problems)?, weights: weights?.floats(problems)? });
    }
    let Some(first) = attributes.iter().find(|a| a.0.starts_with("WEIGHTS_")) else { return Some(None) };
    if sets.is_empty() {
        return Some(None);
    }
    repair(&mut sets, vertex_count, &first.1.path, problems);
    problems.afford(&first.1.path, sets.len().saturating_mul(vertex_count).saturating_mul(4 * 8))?;
    let rows = (0..vertex_count).map(|v| {
        let row = 4 * v..4 * v + 4;
        sets.iter().flat_map(move |set| {
            // The accessor has checked that joint indices have at most 16 bits.
            set.joints[row.clone()].iter().map(|&j| j as u16).zip(set.weights[row.clone()].iter().copied())
        })
    });
    match Influences::from_rows(rows) {
        Ok(influences) => Some(Some(influences)),
        Err(error) => {
            problems.error(&first.1.path, error.to_string());
            None
        }
    }
}

/// Reports an error unless an attribute has one element per vertex.
pub(crate) fn check_count(
    found: usize,
    vertex_count: usize,
    json: &Json<'_>,
    problems: &mut Problems,
) -> Option<()> {
    if found != vertex_count {
        problems.error(&json.path, format!("has {found} elements, {vertex_count} expected, one per vertex"));
        return None;
    }
    Some(())
}

/// Makes the weights of every vertex nonnegative, with a sum of 1.
fn repair(sets: &mut [Set], vertex_count: usize, path: &Path<'_>, problems: &mut Problems) {
    let (mut broken, mut negative, mut empty, mut off) = (0, 0, 0, 0);
    let mut worst = 1.0f64;
    for v in 0..vertex_count {
        let row = 4 * v..4 * v + 4;
        let mut sum = 0.0;
        for w in sets.iter_mut().flat_map(|set| &mut set.weights[row.clone()]) {
            if !w.is_finite() {
                broken += 1;
                *w = 0.0;
            } else if *w < 0.0 {
                negative += 1;
                *w = 0.0;
            }
            sum += f64::from(*w);
        }
        if sum == 0.0 {
            empty += 1;
            sets[0].weights[4 * v] = 1.0;
        } else if (sum - 1.0).abs() > SUM_TOLERANCE {
            off += 1;
            worst = if (sum - 1.0).abs() > (worst - 1.0).abs() { sum } else { worst };
            for w in sets.iter_mut().flat_map(|set| &mut set.weights[row.clone()]) {
                *w = (f64::from(*w) / sum) as f32;
            }
        }
    }
    let mut warn = |count, what: &str, action| problems.counted(Severity::Warning, path, count, what, action);
    warn(broken, "a weight is NaN or infinite", "treated as 0");
    warn(negative, "a weight is negative", "treated as 0");
    warn(empty, "all weights of a vertex are 0", "the vertex follows its first joint");
    warn(off, &format!("the weights of a vertex add up to {worst:.4}, not 1"), "rescaled");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Builder, character};
    use crate::value::json;

    const JOINTS_0: &str = "/meshes/0/primitives/0/attributes/JOINTS_0";
    const WEIGHTS_0: &str = "/meshes/0/primitives/0/attributes/WEIGHTS_0";

    type Row = Vec<(u16, f32)>;

    /// Returns the rows of the character after replacing its weights, and the reported problems.
    fn rows(weights: &[f32]) -> (Vec<Row>, Vec<(Severity, String, usize)>) {
        let mut it = character();
        let accessor = it.floats("VEC4", weights);
        it.json["meshes"][0]["primitives"][0]["attributes"]["WEIGHTS_0"] = json!(accessor);
        (rows_of(&it), it.summary())
    }

    fn rows_of(it: &Builder) -> Vec<Row> {
        let asset = it.import().unwrap();
        let influences = asset.instances[0].primitives[0].mesh.influences().clone();
        (0..3).map(|v| influences.row(v).collect()).collect()
    }

    #[test]
    fn weights_near_one_stay_exactly_as_they_are() {
        let (found, problems) = rows(&[0.4995, 0.5, 0.0, 0.0, 1.0009, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]);
        assert_eq!(found, [vec![(1, 0.5), (0, 0.4995)], vec![(1, 1.0009)], vec![(0, 1.0)]]);
        assert_eq!(problems, []);
    }

    #[test]
    fn others_are_rescaled_and_counted() {
        let (found, problems) = rows(&[0.5, 0.25, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]);
        assert_eq!(found, [vec![(0, 2.0 / 3.0), (1, 1.0 / 3.0)], vec![(1, 1.0)], vec![(0, 1.0)]]);
        assert_eq!(problems, [(Severity::Warning, WEIGHTS_0.into(), 2)]);
    }

    #[test]
    fn nonsense_weights_are_repaired() {
        let (found, problems) =
            rows(&[1.0, -0.5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, f32::NAN, 1.0, f32::INFINITY, 0.0]);
        assert_eq!(found, [vec![(0, 1.0)], vec![(1, 1.0)], vec![(0, 1.0)]]);
        let counts: Vec<_> = problems.iter().map(|p| (p.0, p.2)).collect();
        assert_eq!(counts, [(Severity::Warning, 2), (Severity::Warning, 1), (Severity::Warning, 1)]);
    }

    #[test]
    fn several_sets_make_one_row() {
        let mut it = character();
        let joints = it.accessor("VEC4", 5123, 3, &[1, 0].repeat(12));
        let weights = it.accessor("VEC4", 5121, 3, &[51, 0, 0, 0].repeat(3));
        let scaled = it.floats("VEC4", &[0.8, 0.0, 0.0, 0.0].repeat(3));
        it.json["accessors"][weights]["normalized"] = json!(true);
        let attributes = &mut it.json["meshes"][0]["primitives"][0]["attributes"];
        attributes["WEIGHTS_0"] = json!(scaled);
        attributes["JOINTS_1"] = json!(joints);
        attributes["WEIGHTS_1"] = json!(weights);
        assert_eq!(rows_of(&it)[0], [(0, 0.8), (1, 0.2)]);
        assert_eq!(it.summary(), []);
        // A gap in the set numbers does not lose influences.
        let attributes = it.json["meshes"][0]["primitives"][0]["attributes"].as_object_mut().unwrap();
        for (from, to) in [("JOINTS_1", "JOINTS_12"), ("WEIGHTS_1", "WEIGHTS_12")] {
            let accessor = attributes.remove(from).unwrap();
            attributes.insert(to.into(), accessor);
        }
        assert_eq!(rows_of(&it)[0].len(), 2);
        assert_eq!(
            it.summary(),
            [(Severity::Warning, "/meshes/0/primitives/0/attributes/JOINTS_12".into(), 1)]
        );
    }

    #[test]
    fn halves_without_their_other_half() {
        let without = |name: &str| {
            let mut it = character();
            it.json["meshes"][0]["primitives"][0]["attributes"].as_object_mut().unwrap().remove(name);
            assert_eq!(rows_of(&it), [[(0, 1.0)], [(0, 1.0)], [(0, 1.0)]]);
            it.summary()
        };
        let rigid = (Severity::Warning, "/meshes/0/primitives/0".to_string(), 1);
        assert_eq!(without("WEIGHTS_0"), [(Severity::Warning, JOINTS_0.into(), 1), rigid.clone()]);
        assert_eq!(without("JOINTS_0"), [(Severity::Warning, WEIGHTS_0.into(), 1), rigid]);
    }

    #[test]
    fn joints_past_the_skin_matter_only_with_a_weight() {
        let mut it = character();
        let joints = it.accessor("VEC4", 5121, 3, &[0, 1, 99, 0].repeat(3));
        it.json["meshes"][0]["primitives"][0]["attributes"]["JOINTS_0"] = json!(joints);
        assert_eq!(it.summary(), []);
        let weights = it.floats("VEC4", &[0.5, 0.0, 0.5, 0.0].repeat(3));
        it.json["meshes"][0]["primitives"][0]["attributes"]["WEIGHTS_0"] = json!(weights);
        assert_eq!(it.summary(), [(Severity::Error, JOINTS_0.into(), 3)]);
    }

    #[test]
    fn faulty_accessors() {
        let mut it = character();
        it.json["accessors"][1]["componentType"] = json!(5126);
        it.json["accessors"][1]["count"] = json!(0);
        assert_eq!(it.summary()[0], (Severity::Error, JOINTS_0.into(), 1));
        let mut it = character();
        it.json["accessors"][2]["count"] = json!(2);
        assert_eq!(it.summary(), [(Severity::Error, WEIGHTS_0.into(), 1)]);
    }
}
