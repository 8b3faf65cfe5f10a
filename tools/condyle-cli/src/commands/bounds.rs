//! `condyle query bounds`: boxes and spheres around a posed clip.

use condyle_gltf::{Asset, PlacedBounds, Poser, PoserOptions};
use condyle_query::bounds::{self, Aabb, Sphere};
use serde_json::{Value, json};

use crate::failure::{Failure, too_large};
use crate::model::playable::Playable;
use crate::options::heading::REPORT;
use crate::options::job::Job;
use crate::options::moments;
use crate::options::numerics::Numerics;
use crate::options::quantity::{fps_up_to, parse_seconds};
use crate::options::source::Character;
use crate::options::work::{Limit, Work};
use crate::output::{print, print_json, progress, warn};
use crate::text::{counted, fixed, grouped, path_text, printable, table};

/// Print boxes and spheres around a posed character
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  condyle query bounds fox.glb --clip Run --unit 1cm      around the whole clip, sampled 30 times per second
  condyle query bounds fox.glb --clip Run --time 0.5      at one moment
  condyle query bounds fox.glb --rest --json              the rest pose, with all corners

The first box and sphere enclose the vertices. The second ones follow from the joints alone, so they
need no vertices: an engine computes them in a fraction of a microsecond per joint, and they are
never too small. The table prints the ratio of the two box diagonals.

Over several moments, a box is the union of the boxes, and a sphere encloses the spheres, so it may
be larger than one around all vertices. Motion between the moments is not included. Figures are in
world space, in metres; with --json, in the units of the model, like the vertices that `condyle
skin` writes.")]
pub(crate) struct Args {
    #[command(flatten)]
    character: Character,
    /// Pose the clip at these times in seconds, separated by commas. Times are on the clock of the keys,
    /// which need not start at 0 [default: the whole clip]
    #[arg(long, value_name = "SECONDS", value_delimiter = ',', value_parser = parse_seconds)]
    #[arg(allow_hyphen_values = true, conflicts_with_all = ["rest", "fps"])]
    time: Vec<f64>,
    /// Sample the clip N times per second, and at its end
    #[arg(long, value_name = "N", default_value = "30", value_parser = fps_up_to(1000.0))]
    #[arg(conflicts_with = "rest")]
    fps: f64,
    /// Print the figures as JSON
    #[arg(long, help_heading = REPORT)]
    json: bool,
    #[command(flatten)]
    limit: Limit,
    #[command(flatten)]
    numerics: Numerics,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let dispatch = args.numerics.apply()?;
    let path = &args.character.model;
    let mut job = Job::reading(path)?;
    let model = job.open(path, || args.character.open(args.json))?;
    let asset = &model.asset;
    let clip = args.character.source.find(&model)?;
    let clip = clip.as_ref();
    let moments = moments(args, clip)?;
    let name = path_text(&args.character.model);
    let work = Work::bounds(asset, moments.len());
    job.afford(args.limit, path, clip, &work)?;
    if let Some(what) = clip.and_then(|clip| clip.clamped(&args.time)) {
        warn(&args.character.model, &what);
    }
    let Found { rows, all } = measure(&name, asset, clip, &moments)?;
    if all.vertices == 0 {
        return Err(Failure::Data(format!("{name} has no vertices, so there is nothing to bound")));
    }
    if args.json {
        let [from, to] = span(&moments);
        let report = json!({
            "file": args.character.model.to_string_lossy(),
            "isa": dispatch.isa().name(),
            "numeric": dispatch.numeric().name(),
            "clip": clip.map(Playable::name),
            "moments": moments.len(),
            "metres_per_unit": model.metres(),
            "from_s": from,
            "to_s": to,
            "primitives": rows.iter().map(Row::to_json).collect::<Vec<_>>(),
            "all": all.to_json(),
        });
        return print_json(&format!("{report:#}"));
    }
    print(&shown(&rows, &all, clip, &moments, model.metres()))
}

/// Returns the moments to evaluate, in seconds: at least one.
fn moments(args: &Args, clip: Option<&Playable<'_>>) -> Result<Vec<f64>, Failure> {
    let Some(clip) = clip else { return Ok(vec![0.0]) };
    if !args.time.is_empty() {
        return Ok(args.time.clone());
    }
    let mut moments = moments::every(clip, args.fps)?;
    if moments.last().is_some_and(|&last| last < clip.end()) {
        moments.push(clip.end());
    }
    Ok(moments)
}

/// Returns the first and the last moment; the list may be in any order.
fn span(moments: &[f64]) -> [f64; 2] {
    moments.iter().fold([f64::INFINITY, f64::NEG_INFINITY], |[a, b], &v| [a.min(v), b.max(v)])
}

/// A box and a sphere.
#[derive(Clone, Copy)]
struct Around {
    aabb: Aabb,
    sphere: Sphere,
}

impl Around {
    const NOTHING: Self = Self { aabb: Aabb::EMPTY, sphere: Sphere::EMPTY };

    fn add(&mut self, other: Self) {
        self.aabb = self.aabb.union(other.aabb);
        self.sphere = around_both(self.sphere, other.sphere);
    }

    fn to_json(self) -> Value {
        if self.aabb.is_empty() {
            return Value::Null;
        }
        let Self { aabb, sphere } = self;
        json!({
            "min": aabb.min,
            "max": aabb.max,
            "center": sphere.center,
            "radius": sphere.radius,
        })
    }
}

/// Returns a sphere around two spheres, slightly enlarged against rounding.
fn around_both(a: Sphere, b: Sphere) -> Sphere {
    let [small, large] = if a.radius < b.radius { [a, b] } else { [b, a] };
    let offset = [0, 1, 2].map(|k| f64::from(small.center[k]) - f64::from(large.center[k]));
    let apart = offset.iter().map(|v| v * v).sum::<f64>().sqrt();
    let [less, more] = [small, large].map(|sphere| f64::from(sphere.radius));
    if small.radius < 0.0 || apart + less <= more {
        return large;
    }
    let radius = (apart + less + more) / 2.0;
    let along = (radius - more) / apart;
    let center = [0, 1, 2].map(|k| (f64::from(large.center[k]) + offset[k] * along) as f32);
    let size = center.iter().fold(radius, |size, v| size.max(f64::from(v.abs())));
    Sphere { center, radius: (radius + 2e-7 * size) as f32 }
}

/// Bounds of a primitive, or of all primitives.
struct Row {
    name: String,
    /// The node and the primitive; `None` for all primitives.
    place: Option<[usize; 2]>,
    vertices: usize,
    exact: Around,
    joints: Around,
}

impl Row {
    fn new(name: String, place: Option<[usize; 2]>, vertices: usize) -> Self {
        Self { name, place, vertices, exact: Around::NOTHING, joints: Around::NOTHING }
    }

    /// Returns the diagonal of the box from joints, divided by that of the exact box; `None` if the exact one
    /// has length 0.
    fn ratio(&self) -> Option<f64> {
        let [exact, joints] = [self.exact.aabb, self.joints.aabb].map(diagonal);
        (exact > 0.0).then(|| joints / exact)
    }

    fn to_cells(&self, unit: f64) -> Vec<String> {
        let [node, primitive] = match self.place {
            Some(place) => place.map(|index| index.to_string()),
            None => Default::default(),
        };
        let metres = |v: f32| fixed(f64::from(v) * unit, 3);
        let sides = |it: Aabb| [0, 1, 2].map(|k| metres(it.max[k] - it.min[k])).join(" x ");
        vec![
            printable(&self.name),
            node,
            primitive,
            grouped(self.vertices),
            sides(self.exact.aabb),
            sides(self.joints.aabb),
            self.ratio().map_or(String::new(), |ratio| format!("{ratio:.3}")),
            metres(self.exact.sphere.radius),
            metres(self.joints.sphere.radius),
        ]
    }

    fn to_json(&self) -> Value {
        let mut it = json!({
            "vertices": self.vertices,
            "exact": self.exact.to_json(),
            "joints": self.joints.to_json(),
            "ratio": self.ratio(),
        });
        if let Some([node, primitive]) = self.place {
            it["name"] = json!(self.name);
            it["node"] = json!(node);
            it["primitive"] = json!(primitive);
        }
        it
    }
}

fn diagonal(it: Aabb) -> f64 {
    if it.is_empty() {
        return 0.0;
    }
    (0..3).map(|k| (f64::from(it.max[k]) - f64::from(it.min[k])).powi(2)).sum::<f64>().sqrt()
}

/// Bounds of each primitive, and of all primitives.
struct Found {
    rows: Vec<Row>,
    all: Row,
}

fn measure(
    name: &str,
    asset: &Asset,
    clip: Option<&Playable<'_>>,
    moments: &[f64],
) -> Result<Found, Failure> {
    let parts = asset.placed_bounds(clip, moments).map_err(|e| too_large(name, &e))?;
    let mut poser = Poser::new(asset, PoserOptions::default()).map_err(|e| too_large(name, &e))?;
    let row = |part: &PlacedBounds| {
        let instance = &asset.instances[part.instance];
        let primitive = &instance.primitives[part.primitive];
        let place = Some([instance.node, primitive.index]);
        Row::new(instance.name.clone(), place, primitive.mesh.vertex_count())
    };
    let mut rows: Vec<Row> = parts.iter().map(row).collect();
    let mut all = Row::new("all".into(), None, rows.iter().map(|row| row.vertices).sum());
    let mut positions = Vec::new();
    let bar = progress(moments.len(), "posing");
    for &seconds in moments {
        let failed = |e: condyle::Error| {
            Failure::Data(format!("{name} at {seconds} s: {e}; check keys and scales at that time"))
        };
        poser.pose(clip, seconds).map_err(failed)?;
        positions.clear();
        for (part, row) in parts.iter().zip(&mut rows) {
            let own = &poser.posed(part.instance)[part.primitive].positions;
            let joints = Around {
                aabb: part.posed(poser.model()).map_err(failed)?,
                sphere: part.posed_sphere(poser.model()).map_err(failed)?,
            };
            row.exact.add(Around { aabb: bounds::of(own), sphere: Sphere::around(own) });
            row.joints.add(joints);
            all.joints.add(joints);
            positions.extend_from_slice(own);
        }
        all.exact.add(Around { aabb: bounds::of(&positions), sphere: Sphere::around(&positions) });
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(Found { rows, all })
}

fn shown(rows: &[Row], all: &Row, clip: Option<&Playable<'_>>, moments: &[f64], unit: f64) -> String {
    let when = match (clip, moments) {
        (None, _) => "the rest pose".into(),
        (Some(clip), [one]) => format!("{} at {one:.3} s", printable(clip.name())),
        (Some(clip), _) => {
            let [least, most] = span(moments);
            let moments = counted(moments.len(), "moment", "moments");
            format!("{}, {moments} from {least:.3} to {most:.3} s", printable(clip.name()))
        }
    };
    let head = [
        "mesh",
        "node",
        "primitive",
        "vertices",
        "box, m",
        "from joints, m",
        "diagonal ratio",
        "radius, m",
        "from joints, m",
    ];
    let rows = rows.iter().chain([all]).map(|row| row.to_cells(unit));
    let table = table("<>>>>>>>>", std::iter::once(head.map(String::from).to_vec()).chain(rows));
    let corner = |v: [f32; 3]| v.map(|v| fixed(f64::from(v) * unit, 3)).join(" ");
    let corners = |what: &str, it: Aabb| format!("{what}: {} to {}\n", corner(it.min), corner(it.max));
    let corners =
        corners("box of all vertices", all.exact.aabb) + &corners("box from joints", all.joints.aabb);
    format!("{when}\n{table}{corners}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sphere_around_two_holds_both() {
        let sphere = |x: f32, y: f32, radius: f32| Sphere { center: [x, y, 0.0], radius };
        let (a, b) = (sphere(0.0, 0.0, 1.0), sphere(3.0, 4.0, 2.0));
        let found = around_both(a, b);
        assert_eq!(found, around_both(b, a));
        assert!((found.radius - 4.0).abs() < 1e-5, "{found:?}");
        for (sphere, far) in [(a, [-0.6, -0.8, 0.0]), (b, [4.2, 5.6, 0.0])] {
            assert!(found.contains(sphere.center) && found.contains(far), "{found:?}");
        }
        assert_eq!(around_both(a, sphere(0.1, 0.0, 0.5)), a);
        assert_eq!(around_both(Sphere::EMPTY, a), a);
        assert_eq!(around_both(a, a), a);
    }
}
