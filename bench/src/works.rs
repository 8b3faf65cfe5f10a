//! The works: condyle on every instruction set in both modes, and the same done with glam.

use std::cell::RefCell;
use std::rc::Rc;

use condyle::{
    Affine, Dispatch, NormalRule, Palette, Pose, RawClip, RawCursor, SkinnedMesh, Target, VertexSlices,
    Vertices, local_to_model, morph, palette, reference, sample_raw, skin,
};
use glam::{Affine3A, Mat4, Quat, Vec3, Vec4};

use crate::data::Random;
use crate::harness::{Subject, Work};

const JOINTS: usize = 67;

/// All works, in the order of the stages.
pub(crate) fn all() -> Vec<Work> {
    let mut works = vec![sample_raw_67(), local_to_model_67(), palette_67(), morph_1024()];
    for (name, vertices, per_vertex, frames) in [
        ("skin_p2", 1024, 2, false),
        ("skin_p4", 1024, 4, false),
        ("skin_pnt2", 1024, 2, true),
        ("skin_pnt4", 1024, 4, true),
        ("skin_p4_1m", 1_000_000, 4, false),
        ("skin_pnt4_1m", 1_000_000, 4, true),
    ] {
        works.push(skinning(name, vertices, per_vertex, frames));
    }
    works
}

/// What a subject left behind, and how to look at it.
fn subject<T: 'static>(
    who: Option<Dispatch>,
    out: T,
    mut call: impl FnMut(&mut T) + 'static,
    mut error: impl FnMut(&T) -> f64 + 'static,
) -> Subject {
    let out = Rc::new(RefCell::new(out));
    let looked_at = Rc::clone(&out);
    Subject {
        implementation: if who.is_some() { "condyle" } else { "glam" },
        isa: who.map_or(String::new(), |d| d.isa().to_string()),
        mode: who.map_or(String::new(), |d| d.numeric().to_string()),
        call: Box::new(move || match who {
            Some(dispatch) => dispatch.scope(|| call(&mut out.borrow_mut())),
            None => call(&mut out.borrow_mut()),
        }),
        error: Box::new(move || error(&looked_at.borrow())),
    }
}

fn worst<'a>(pairs: impl IntoIterator<Item = (&'a f32, f64)>) -> f64 {
    pairs.into_iter().map(|(got, want)| (f64::from(*got) - want).abs()).fold(0.0, f64::max)
}

fn worst_local(got: (&[f32], &[f32], &[f32]), want: &reference::Local) -> f64 {
    let rotation = worst(got.0.iter().zip(want.rotation));
    rotation.max(worst(got.1.iter().zip(want.translation))).max(worst(got.2.iter().zip(want.scale)))
}

/// One moment of an authored clip, another one each call.
fn sample_raw_67() -> Work {
    let mut random = Random(1);
    let skeleton = Rc::new(random.skeleton(JOINTS));
    let clip = Rc::new(random.clip(JOINTS));
    let times: Vec<f32> = (7..307).map(|k| k as f32 / 300.0).collect();
    let want = Rc::new(reference::sample_raw(&clip, &skeleton, times[0].into()));
    let mut subjects = Vec::new();
    for dispatch in Dispatch::all() {
        let (skeleton, clip, want, times) = (skeleton.clone(), clip.clone(), want.clone(), times.clone());
        let mut next = 0;
        subjects.push(subject(
            Some(dispatch),
            (Pose::identity(JOINTS), RawCursor::default()),
            move |(pose, cursor)| {
                sample_raw(&clip, &skeleton, times[next % times.len()], cursor, pose).expect("sizes agree");
                next += 1;
            },
            move |(pose, _)| {
                let rows = pose.transforms().zip(want.iter());
                rows.map(|(got, want)| worst_local((&got.rotation, &got.translation, &got.scale), want))
                    .fold(0.0, f64::max)
            },
        ));
    }
    let (want, mut next) = (want.clone(), 0);
    let rest = glam_pose(skeleton.rest());
    subjects.push(subject(
        None,
        rest.clone(),
        move |pose| {
            sample_glam(&clip, &rest, times[next % times.len()], pose);
            next += 1;
        },
        move |pose| {
            let rows = pose.iter().zip(want.iter());
            rows.map(|(got, want)| {
                worst_local((&got.0.to_array(), &got.1.to_array(), &got.2.to_array()), want)
            })
            .fold(0.0, f64::max)
        },
    ));
    Work { name: "sample_raw_67", n: JOINTS, layout: "blocks", bound: 1e-6, subjects }
}

/// What one writes with glam: the rest pose, then a binary search and a slerp per track.
fn sample_glam(clip: &RawClip, rest: &[(Quat, Vec3, Vec3)], seconds: f32, pose: &mut [(Quat, Vec3, Vec3)]) {
    pose.copy_from_slice(rest);
    for track in clip.tracks() {
        let times = &clip.timelines()[track.timeline];
        let key = times.partition_point(|&t| t <= seconds).clamp(1, times.len() - 1) - 1;
        let t = ((seconds - times[key]) / (times[key + 1] - times[key])).clamp(0.0, 1.0);
        let vector = |key: usize| Vec3::from_slice(&track.values[3 * key..]);
        match track.target {
            Target::Rotation(joint) => {
                let at = |key: usize| Quat::from_slice(&track.values[4 * key..]);
                pose[usize::from(joint)].0 = at(key).slerp(at(key + 1), t);
            }
            Target::Translation(joint) => pose[usize::from(joint)].1 = vector(key).lerp(vector(key + 1), t),
            Target::Scale(joint) => pose[usize::from(joint)].2 = vector(key).lerp(vector(key + 1), t),
            Target::Weights(_) => {}
        }
    }
}

fn glam_pose(pose: &Pose) -> Vec<(Quat, Vec3, Vec3)> {
    let wide = |t: condyle::Transform| (Quat::from_array(t.rotation), t.translation.into(), t.scale.into());
    pose.transforms().map(wide).collect()
}

fn local_to_model_67() -> Work {
    let mut random = Random(2);
    let skeleton = Rc::new(random.skeleton(JOINTS));
    let pose = Rc::new(random.pose(JOINTS));
    let want = Rc::new(reference::local_to_model(&skeleton, &reference::locals(&pose)));
    let mut subjects = Vec::new();
    for dispatch in Dispatch::all() {
        let (skeleton, pose, want) = (skeleton.clone(), pose.clone(), want.clone());
        subjects.push(subject(
            Some(dispatch),
            vec![Affine::IDENTITY; JOINTS],
            move |model| local_to_model(&skeleton, &pose, model).expect("sizes agree"),
            move |model| {
                let rows = model.iter().zip(want.iter());
                rows.map(|(got, want)| {
                    worst(got.rows.as_flattened().iter().zip(want.as_flattened().iter().copied()))
                })
                .fold(0.0, f64::max)
            },
        ));
    }
    let locals = glam_pose(&pose);
    subjects.push(subject(
        None,
        vec![Affine3A::IDENTITY; JOINTS],
        move |model| {
            for (joint, (r, t, s)) in (0_u16..).zip(&locals) {
                let local = Affine3A::from_scale_rotation_translation(*s, *r, *t);
                model[usize::from(joint)] =
                    skeleton.parent(joint).map_or(local, |parent| model[usize::from(parent)] * local);
            }
        },
        move |model| {
            let rows = model.iter().zip(want.iter());
            rows.map(|(got, want)| {
                let columns = got.to_cols_array();
                let want = (0..12).map(|i| want[i % 3][i / 3]);
                worst(columns.iter().zip(want))
            })
            .fold(0.0, f64::max)
        },
    ));
    Work { name: "local_to_model_67", n: JOINTS, layout: "blocks", bound: 1e-5, subjects }
}

fn palette_67() -> Work {
    let mut random = Random(4);
    let bound = Rc::new(random.skin(JOINTS));
    let skeleton = random.skeleton(JOINTS);
    let mut model = vec![Affine::IDENTITY; JOINTS];
    local_to_model(&skeleton, &random.pose(JOINTS), &mut model).expect("sizes agree");
    let wide: Vec<_> = model.iter().map(reference::matrix).collect();
    let want = Rc::new(reference::palette(&bound, &wide));
    let model = Rc::new(model);
    let error = |got: [f32; 16], want: &reference::Matrix| {
        worst(got.iter().enumerate().filter(|(i, _)| i % 4 < 3).map(|(i, v)| (v, want[i % 4][i / 4])))
    };
    let mut subjects = Vec::new();
    for dispatch in Dispatch::all() {
        let (bound, model, want) = (bound.clone(), model.clone(), want.clone());
        subjects.push(subject(
            Some(dispatch),
            Palette::default(),
            move |out| palette(&bound, &model, NormalRule::default(), out).expect("sizes agree"),
            move |out| {
                out.matrices()
                    .iter()
                    .zip(want.iter())
                    .map(|(m, want)| error(m.columns, want))
                    .fold(0.0, f64::max)
            },
        ));
    }
    let columns = |m: &Affine| Mat4::from_cols_array(&m.to_columns());
    let (model, binds): (Vec<Mat4>, Vec<Mat4>) =
        model.iter().zip(bound.inverse_bind()).map(|(m, b)| (columns(m), columns(b))).unzip();
    subjects.push(subject(
        None,
        vec![Mat4::IDENTITY; JOINTS],
        move |out| {
            for ((out, model), bind) in out.iter_mut().zip(&model).zip(&binds) {
                *out = *model * *bind;
            }
        },
        move |out| {
            out.iter().zip(want.iter()).map(|(m, want)| error(m.to_cols_array(), want)).fold(0.0, f64::max)
        },
    ));
    Work { name: "palette_67", n: JOINTS, layout: "structs", bound: 1e-5, subjects }
}

fn morph_1024() -> Work {
    let mut random = Random(5);
    let mesh = Rc::new(random.morphing_mesh(1024, 3));
    let weights = [0.25, 0.5, 0.75];
    let [positions, normals, _] = reference::morph(&mesh, &weights);
    let want = Rc::new((positions, normals));
    let error = |out: &Vertices, want: &(Vec<[f64; 3]>, Vec<[f64; 3]>)| {
        let pairs = [(&out.positions, &want.0), (&out.normals, &want.1)];
        pairs
            .map(|(got, want)| worst(got.as_flattened().iter().zip(want.as_flattened().iter().copied())))
            .into_iter()
            .fold(0.0, f64::max)
    };
    let room = Vertices { tangents: vec![], ..Vertices::zeroed_like(mesh.vertices()) };
    let mut subjects = Vec::new();
    for dispatch in Dispatch::all() {
        let (mesh, want) = (mesh.clone(), want.clone());
        subjects.push(subject(
            Some(dispatch),
            room.clone(),
            move |out| morph(&mesh, &weights, out.as_slices_mut()).expect("sizes agree"),
            move |out| error(out, &want),
        ));
    }
    subjects.push(subject(
        None,
        room,
        move |out| {
            for v in 0..mesh.vertex_count() {
                let mut position = Vec3::from(mesh.vertices().positions[v]);
                let mut normal = Vec3::from(mesh.vertices().normals[v]);
                for (target, weight) in mesh.morph_targets().iter().zip(weights) {
                    position += Vec3::from(target.positions[v]) * weight;
                    normal += Vec3::from(target.normals[v]) * weight;
                }
                (out.positions[v], out.normals[v]) = (position.into(), normal.into());
            }
        },
        move |out| error(out, &want),
    ));
    Work { name: "morph_1024", n: 1024, layout: "structs", bound: 1e-5, subjects }
}

fn skinning(name: &'static str, vertices: usize, per_vertex: usize, frames: bool) -> Work {
    const PALETTE: usize = 128;
    let mut random = Random(3);
    let mesh = Rc::new(random.mesh(vertices, PALETTE, per_vertex));
    let bound = random.skin(PALETTE);
    let skeleton = random.skeleton(PALETTE);
    let mut model = vec![Affine::IDENTITY; PALETTE];
    local_to_model(&skeleton, &random.pose(PALETTE), &mut model).expect("sizes agree");
    let mut matrices = Palette::default();
    palette(&bound, &model, NormalRule::default(), &mut matrices).expect("sizes agree");
    let wide = reference::palette_matrices(&matrices);
    let unit = |v: [f64; 3]| {
        let length = v.iter().map(|v| v * v).sum::<f64>().sqrt();
        v.map(|v| v / length)
    };
    let bind = mesh.vertices();
    let want: Rc<Vec<[[f64; 3]; 3]>> = Rc::new(
        (0..vertices)
            .map(|v| {
                let m = reference::blend_matrices(&wide, mesh.influences().row(v));
                let [x, y, z, _] = bind.tangents[v];
                let turned = |v: [f32; 3]| unit(reference::transform_vector(&m, v.map(f64::from)));
                let position = reference::transform_point(&m, bind.positions[v].map(f64::from));
                [position, turned(bind.normals[v]), turned([x, y, z])]
            })
            .collect(),
    );
    let error = move |got: &Vertices, want: &[[[f64; 3]; 3]]| {
        let one = |v: usize| {
            let position = worst(got.positions[v].iter().zip(want[v][0]));
            let normal = got.normals.get(v).map_or(0.0, |n| worst(n.iter().zip(want[v][1])));
            let tangent = got.tangents.get(v).map_or(0.0, |t| worst(t[..3].iter().zip(want[v][2])));
            position.max(normal).max(tangent)
        };
        (0..want.len()).map(one).fold(0.0, f64::max)
    };
    let room = if frames {
        Vertices::zeroed_like(mesh.vertices())
    } else {
        Vertices { positions: vec![[0.0; 3]; vertices], ..Vertices::default() }
    };
    let matrices = Rc::new(matrices);
    let mut subjects = Vec::new();
    for dispatch in Dispatch::all() {
        let (mesh, matrices, want) = (mesh.clone(), matrices.clone(), want.clone());
        subjects.push(subject(
            Some(dispatch),
            room.clone(),
            move |out| {
                skin(mesh.influences(), &matrices, mesh.vertices().as_slices(), out.as_slices_mut())
                    .expect("sizes agree");
            },
            move |out| error(out, &want),
        ));
    }
    let columns: Vec<Mat4> = matrices.matrices().iter().map(|m| Mat4::from_cols_array(&m.columns)).collect();
    subjects.push(subject(
        None,
        room,
        move |out| skin_glam(&mesh, &columns, mesh.vertices().as_slices(), out),
        move |out| error(out, &want),
    ));
    Work { name, n: vertices, layout: "structs", bound: 1e-5, subjects }
}

/// What one writes with glam: blend the matrices, transform.
fn skin_glam(mesh: &SkinnedMesh, palette: &[Mat4], bind: VertexSlices<'_>, out: &mut Vertices) {
    let (starts, joints, weights) = mesh.influences().as_slices();
    for (v, ends) in starts.windows(2).enumerate() {
        let mut m = Mat4::ZERO;
        for k in ends[0] as usize..ends[1] as usize {
            m += palette[usize::from(joints[k])] * weights[k];
        }
        out.positions[v] = m.transform_point3(bind.positions[v].into()).into();
        if !out.normals.is_empty() {
            out.normals[v] = m.transform_vector3(bind.normals[v].into()).normalize().into();
            let tangent = Vec4::from_array(bind.tangents[v]);
            out.tangents[v] =
                m.transform_vector3(tangent.truncate()).normalize().extend(tangent.w).to_array();
        }
    }
}
