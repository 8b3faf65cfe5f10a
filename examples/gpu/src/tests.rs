//! Tests across modules, on the software adapter.

use condyle::Influences;

use crate::character::Vertex;
use crate::gpu::{Gpu, Wanted};
use crate::packed::JointFormat;
use crate::palettes::MatrixFormat;
use crate::play;
use crate::scene::{BODY, EMPTY, STICK, Scene, Skinner};

const COLUMNS: MatrixFormat = MatrixFormat::Columns;

fn software() -> Gpu {
    let gpu = Gpu::new(Wanted::Software).expect("an adapter in software");
    assert!(gpu.software, "{}", gpu.name);
    gpu
}

/// Vertices of a scene at a time.
fn drawn(gpu: &Gpu, scene: &mut Scene, seconds: f64) -> Vec<Vertex> {
    let buffers = scene.load(gpu);
    scene.frame(gpu, &buffers, seconds).expect("sizes agree");
    gpu.read(&buffers).expect("readable")
}

/// Largest difference of a component.
fn apart(a: &[Vertex], b: &[Vertex]) -> f32 {
    assert_eq!(a.len(), b.len());
    let numbers = |vertices: &[Vertex]| bytemuck::cast_slice(vertices).to_vec();
    let (a, b): (Vec<f32>, Vec<f32>) = (numbers(a), numbers(b));
    assert!(a.iter().all(|number| number.is_finite()));
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

/// Twice the bound for a model two metres tall, because both sides may differ by it.
const TWICE: f32 = 2.0 * 57e-7 * 2.0;

#[test]
fn who_skins_and_in_what_form_does_not_show() {
    let gpu = software();
    let scene = |skinner, joints, matrices| {
        let objects = [("one", skinner, BODY, 1), ("crowd", skinner, BODY, 5), ("sticks", skinner, STICK, 3)];
        drawn(&gpu, &mut Scene::new(&objects, joints, matrices).expect("valid"), 0.7)
    };
    let want = scene(Skinner::Cpu, JointFormat::U8, COLUMNS);
    for joints in [JointFormat::U8, JointFormat::U16] {
        assert_eq!(want, scene(Skinner::Cpu, joints, COLUMNS), "{joints:?}");
        for matrices in [COLUMNS, MatrixFormat::Rows] {
            let off = apart(&want, &scene(Skinner::Gpu, joints, matrices));
            assert!(off > 0.0 && off <= TWICE, "{joints:?}, {matrices:?}: {off}");
        }
    }
    // The first of the crowd is at the same time as the single object.
    let body = Scene::new(&[("one", Skinner::Cpu, BODY, 1)], JointFormat::U8, COLUMNS).expect("valid");
    let size = body.mesh_of(&body.objects[0]).vertices.len();
    assert_eq!(want[..size], want[size..2 * size]);
    assert!(apart(&want[..size], &want[2 * size..3 * size]) > 0.1);
}

#[test]
fn objects_change_their_skinner_between_frames() {
    let gpu = software();
    let objects = [("a", Skinner::Cpu, BODY, 2), ("b", Skinner::Gpu, BODY, 1)];
    let mut scene = Scene::new(&objects, JointFormat::U8, COLUMNS).expect("valid");
    let buffers = scene.load(&gpu);
    let mut frame = |skinners: [Skinner; 2], seconds| {
        for (object, skinner) in scene.objects.iter_mut().zip(skinners) {
            object.skinner = skinner;
        }
        scene.frame(&gpu, &buffers, seconds).expect("sizes agree");
        gpu.read(&buffers).expect("readable")
    };
    let (cpu, gpu) = (Skinner::Cpu, Skinner::Gpu);
    let before = frame([cpu, gpu], 0.3);
    let after = frame([gpu, cpu], 0.3);
    assert!(apart(&before, &after) <= TWICE);
    assert!(apart(&before, &frame([gpu, gpu], 1.1)) > 0.1, "the next frame is another one");
}

#[test]
fn all_is_within_its_bounds_and_what_is_not_shows() {
    let gpu = software();
    let objects = [("hero", Skinner::Cpu, BODY, 1), ("twin", Skinner::Gpu, BODY, 2)];
    for matrices in [COLUMNS, MatrixFormat::Rows] {
        let mut scene = Scene::new(&objects, JointFormat::U8, matrices).expect("valid");
        let compared = play(&gpu, &mut scene, 2).expect("sizes agree");
        assert!(compared.iter().all(|one| one.holds()), "{compared:?}");
        let [hero, twin] = [&compared[0], &compared[1]];
        assert_eq!((hero.0[0].position.difference, hero.0[0].normal.difference), (0.0, 0.0));
        // Bounds that are 100x too large would hide errors.
        for differences in twin.0 {
            assert!(differences.position.part > 0.05 && differences.normal.part > 0.05, "{differences:?}");
        }
    }
    // Vertices of another time.
    let mut scene = Scene::new(&objects, JointFormat::U8, COLUMNS).expect("valid");
    let buffers = scene.load(&gpu);
    scene.frame(&gpu, &buffers, 0.5).expect("sizes agree");
    let stale = Scene::new(&objects, JointFormat::U8, COLUMNS).expect("valid");
    let mut compared = vec![Default::default(); 2];
    stale.compare(&gpu, &buffers, &mut compared).expect("readable");
    assert!(compared.iter().all(|one| !one.holds()), "{compared:?}");
}

#[test]
fn objects_without_vertices_or_instances_are_no_trouble() {
    let gpu = software();
    for skinner in [Skinner::Cpu, Skinner::Gpu] {
        let nobody = ("nobody", skinner, EMPTY, 3);
        let alone = &mut Scene::new(&[nobody], JointFormat::U8, COLUMNS).expect("valid");
        assert!(drawn(&gpu, alone, 0.0).is_empty());
        let objects = [nobody, ("no crowd", skinner, BODY, 0), ("one", skinner, BODY, 1), nobody];
        let mut scene = Scene::new(&objects, JointFormat::U8, COLUMNS).expect("valid");
        let compared = play(&gpu, &mut scene, 1).expect("sizes agree");
        assert!(compared.iter().all(|one| one.holds()));
        assert_eq!(compared[0], Default::default());
        assert!(compared[2].0[2].position.difference > 0.0);
    }
}

#[test]
fn vertices_without_influences_lie_at_the_origin() {
    let gpu = software();
    let objects = [("one", Skinner::Gpu, BODY, 1)];
    for matrices in [COLUMNS, MatrixFormat::Rows] {
        let mut scene = Scene::new(&objects, JointFormat::U8, matrices).expect("valid");
        let count = scene.mesh_of(&scene.objects[0]).vertices.len();
        let none = Influences::from_rows(vec![[(0, 0.0)]; count]).expect("finite");
        scene.set_body(none).expect("nothing to round");
        let vertices = drawn(&gpu, &mut scene, 0.4);
        assert!(vertices.iter().all(|v| v.position == [0.0; 3] && v.normal == [0.0; 3]), "{:?}", vertices[0]);
        let compared = play(&gpu, &mut scene, 1).expect("sizes agree");
        assert!(compared[0].holds(), "{compared:?}");
    }
}

#[test]
fn of_more_than_four_influences_the_heaviest_are_used() {
    let gpu = software();
    let objects = [("one", Skinner::Gpu, BODY, 1)];
    let mut scene = Scene::new(&objects, JointFormat::U8, COLUMNS).expect("valid");
    let all = &scene.mesh_of(&scene.objects[0]).influences;
    assert_eq!(all.longest_row(), 6);
    let four = (0..all.vertex_count()).map(|vertex| {
        let row: Vec<_> = all.row(vertex).take(4).collect();
        let sum: f32 = row.iter().map(|(_, weight)| weight).sum();
        row.into_iter().map(move |(joint, weight)| (joint, weight / sum))
    });
    let four = Influences::from_rows(four).expect("finite");
    let want = drawn(&gpu, &mut scene, 0.4);
    scene.set_body(four).expect("they sum to 1");
    assert_eq!(want, drawn(&gpu, &mut scene, 0.4));

    // Influences that cannot be packed are refused, not skinned incorrectly.
    let count = scene.mesh_of(&scene.objects[0]).vertices.len();
    let too_wide = Influences::from_rows(vec![[(256, 1.0)]; count]).expect("finite");
    let why = scene.set_body(too_wide).expect_err("eight bits hold 255").to_string();
    assert!(why.contains("joint of vertex") && why.contains("256"), "{why}");
    let half = Influences::from_rows(vec![[(0, 0.5)]; count]).expect("finite");
    let why = scene.set_body(half).expect_err("they sum to a half").to_string();
    assert!(why.contains("weights"), "{why}");
}
