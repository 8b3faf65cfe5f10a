//! `condyle query ray`: the hits of a ray on a posed character.

use std::ops::ControlFlow;

use condyle_gltf::{Asset, Poser, PoserOptions};
use condyle_query::hitbox::{self, PosedHitboxes};
use condyle_query::hits::{Ray, Shape, TriangleTree};
use serde_json::{Value, json};

use crate::commands::reach::asked::joint_name;
use crate::failure::{Failure, too_large};
use crate::model::playable::Playable;
use crate::options::heading::REPORT;
use crate::options::job::Job;
use crate::options::numerics::Numerics;
use crate::options::quantity::{parse_point, parse_seconds};
use crate::options::source::Character;
use crate::options::work::{Limit, Work};
use crate::output::{print, print_json, warn};
use crate::text::{fixed, path_text, printable, table};

/// Cast a ray at a posed character: distance, triangle, joint
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  condyle query ray fox.glb --unit 1cm --clip Run --time 0.5 --from 0,0.5,3 --to 0,0.5,-3
  condyle query ray fox.glb --unit 1cm --rest --from 0,2m,0 --to 0,0,0 --all     all hits, nearest first
  condyle query ray fox.glb --unit 1cm --clip Run --from 0,0.5,3 --to 0,0.5,-3 --hitboxes

Figures are in world space, in metres, for the meshes of the default scene. A triangle is hit from
either side; its number is its index in the primitive. The joint is the one with the largest weight
at the corner that has the largest barycentric coordinate at the hit; this corner need not be the
nearest. --hitboxes uses the shapes that `condyle query hitboxes` fits. A ray without hits is not an
error.")]
pub(crate) struct Args {
    #[command(flatten)]
    character: Character,
    /// Pose the clip at this time in seconds. Times are on the clock of the keys, which need not start at 0
    /// [default: 0]
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds)]
    #[arg(allow_hyphen_values = true, conflicts_with = "rest")]
    time: Option<f64>,
    /// Start of the ray, in metres or with units
    #[arg(long, value_name = "X,Y,Z", value_parser = parse_point, allow_hyphen_values = true)]
    from: [f64; 3],
    /// End of the ray
    #[arg(long, value_name = "X,Y,Z", value_parser = parse_point, allow_hyphen_values = true)]
    to: [f64; 3],
    /// Print all hits, nearest first
    #[arg(long)]
    all: bool,
    /// Test the hitboxes of the joints instead of the triangles
    #[arg(long)]
    hitboxes: bool,
    /// Print the hits as JSON
    #[arg(long, help_heading = REPORT)]
    json: bool,
    #[command(flatten)]
    limit: Limit,
    #[command(flatten)]
    numerics: Numerics,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let dispatch = args.numerics.apply()?;
    if args.from.map(|v| v as f32) == args.to.map(|v| v as f32) {
        return Err(Failure::Usage(
            "--from and --to are the same place; a ray needs two different places".into(),
        ));
    }
    let path = &args.character.model;
    let mut job = Job::reading(path)?;
    let model = job.open(path, || args.character.open(args.json))?;
    let asset = &model.asset;
    let metres = model.metres();
    let [from, to] = [args.from, args.to].map(|point| point.map(|v| (v / metres) as f32));
    let ray = Ray::between(from, to);
    let clip = args.character.source.find(&model)?;
    let clip = clip.as_ref();
    let name = path_text(&args.character.model);
    let work = Work::draw(asset, 1);
    job.afford(args.limit, path, clip, &work)?;
    if let Some(what) = clip.and_then(|clip| clip.clamped(args.time.as_slice())) {
        warn(&args.character.model, &what);
    }
    let seconds = args.time.unwrap_or(0.0);
    let mut poser = Poser::new(asset, PoserOptions::default()).map_err(|e| too_large(&name, &e))?;
    poser.pose(clip, seconds).map_err(|e| {
        Failure::Data(format!("{name} at {seconds} s: {e}; check keys and scales at that time"))
    })?;
    let met = if args.hitboxes { of_hitboxes } else { of_triangles };
    let mut hits = met(asset, &poser, &ray).map_err(|e| too_large(&name, &e))?;
    hits.sort_by(|a, b| a.along.total_cmp(&b.along));
    if !args.all {
        hits.truncate(1);
    }
    let long = ray.direction.iter().map(|v| f64::from(*v).powi(2)).sum::<f64>().sqrt() * metres;
    hits.iter_mut().for_each(|hit| hit.point = hit.point.map(|v| (f64::from(v) * metres) as f32));
    if args.json {
        let mut report = json!({
            "file": args.character.model.to_string_lossy(),
            "isa": dispatch.isa().name(),
            "numeric": dispatch.numeric().name(),
            "clip": clip.map(Playable::name),
            "time_s": clip.map(|_| seconds),
            "from": args.from,
            "to": args.to,
        });
        let mut hits = hits.iter().map(|hit| hit.to_json(asset, long));
        match args.all {
            true => report["hits"] = hits.collect(),
            false => report["hit"] = json!(hits.next()),
        }
        return print_json(&format!("{report:#}"));
    }
    if hits.is_empty() {
        return print("no hits\n");
    }
    let head = ["distance, m", "point", "normal", "joint"].into_iter();
    let own = if args.hitboxes { &["shape"][..] } else { &["side", "mesh", "node", "primitive", "triangle"] };
    let head = head.chain(own.iter().copied()).map(String::from).collect();
    let rows = hits.iter().map(|hit| hit.to_cells(asset, long));
    print(&table("><<<<<>>>", std::iter::once(head).chain(rows)))
}

/// A hit of the ray.
struct Hit {
    /// Distance as a fraction of the length of the ray.
    along: f32,
    point: [f32; 3],
    normal: [f32; 3],
    joint: Option<u16>,
    what: What,
}

enum What {
    Triangle {
        instance: usize,
        /// Index in the instance.
        primitive: usize,
        triangle: u32,
        front: bool,
    },
    Hitbox(&'static str),
}

/// Returns all hits on triangles, one primitive after another.
fn of_triangles(asset: &Asset, poser: &Poser<'_>, ray: &Ray) -> Result<Vec<Hit>, condyle::Error> {
    let mut hits = Vec::new();
    for (at, instance) in asset.shown() {
        let is_mirrored = instance.is_mirrored(poser.model());
        for (primitive, source) in instance.primitives.iter().enumerate() {
            let corners: Vec<[u32; 3]> = source.triangles().collect();
            let tree = TriangleTree::new(&poser.posed(at)[primitive].positions, &corners)?;
            let mut own = Vec::new();
            tree.all_hits(ray, |hit| {
                let heaviest = (0..3).fold(0, |a, b| if hit.weights[b] > hit.weights[a] { b } else { a });
                let vertex = corners[hit.triangle as usize][heaviest];
                own.push(Hit {
                    along: hit.distance,
                    point: hit.position,
                    normal: if is_mirrored { hit.normal.map(|v| 0.0 - v) } else { hit.normal },
                    joint: asset.heaviest_joint(instance, primitive, vertex),
                    what: What::Triangle {
                        instance: at,
                        primitive,
                        triangle: hit.triangle,
                        front: hit.front != is_mirrored,
                    },
                });
                ControlFlow::Continue(())
            });
            // Hits at the same distance are in file order.
            own.sort_by_key(Hit::triangle);
            hits.append(&mut own);
        }
    }
    Ok(hits)
}

/// Returns all hits on hitboxes, in the order of joints.
fn of_hitboxes(asset: &Asset, poser: &Poser<'_>, ray: &Ray) -> Result<Vec<Hit>, condyle::Error> {
    let hitboxes = asset.hitboxes(1.0)?;
    let mut posed = PosedHitboxes::default();
    hitbox::place(&hitboxes, poser.model(), &mut posed)?;
    let mut hits = Vec::new();
    posed.all_hits(ray, |hit| {
        hits.push(Hit {
            along: hit.distance,
            point: hit.position,
            normal: hit.normal,
            joint: Some(hit.joint),
            what: What::Hitbox(shape_name(&hitboxes.as_slice()[hit.hitbox].shape)),
        });
        ControlFlow::Continue(())
    });
    Ok(hits)
}

pub(crate) fn shape_name(shape: &Shape) -> &'static str {
    match shape {
        Shape::Sphere { .. } => "sphere",
        Shape::Capsule { .. } => "capsule",
        Shape::Box { .. } => "box",
        _ => "other",
    }
}

impl Hit {
    fn triangle(&self) -> u32 {
        match self.what {
            What::Triangle { triangle, .. } => triangle,
            What::Hitbox(_) => 0,
        }
    }

    fn joint_name(&self, asset: &Asset) -> Option<String> {
        self.joint.map(|joint| joint_name(&asset.skeleton, joint))
    }

    fn to_cells(&self, asset: &Asset, long: f64) -> Vec<String> {
        let vector = |v: [f32; 3]| v.map(|v| fixed(v, 4)).join(" ");
        let mut cells = vec![
            fixed(f64::from(self.along) * long, 4),
            vector(self.point),
            vector(self.normal),
            self.joint_name(asset).unwrap_or_else(|| "none".into()),
        ];
        match self.what {
            What::Hitbox(shape) => cells.push(shape.into()),
            What::Triangle { instance, primitive, triangle, front } => {
                let instance = &asset.instances[instance];
                cells.extend([
                    if front { "front" } else { "back" }.into(),
                    printable(&instance.name),
                    instance.node.to_string(),
                    instance.primitives[primitive].index.to_string(),
                    triangle.to_string(),
                ]);
            }
        }
        cells
    }

    fn to_json(&self, asset: &Asset, long: f64) -> Value {
        let mut it = json!({
            "distance_m": f64::from(self.along) * long,
            "point": self.point,
            "normal": self.normal,
            "joint": self.joint.map(|joint| &asset.skeleton.names()[usize::from(joint)]),
            "joint_index": self.joint,
        });
        match self.what {
            What::Hitbox(shape) => it["shape"] = json!(shape),
            What::Triangle { instance, primitive, triangle, front } => {
                let instance = &asset.instances[instance];
                it["front"] = json!(front);
                it["name"] = json!(instance.name);
                it["node"] = json!(instance.node);
                it["primitive"] = json!(instance.primitives[primitive].index);
                it["triangle"] = json!(triangle);
            }
        }
        it
    }
}
