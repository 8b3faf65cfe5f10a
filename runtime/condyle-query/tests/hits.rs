//! Queries on posed triangles and `refit` allocate nothing.

use std::ops::ControlFlow;

use condyle_query::hits::{Attachment, Ray, Shape, TriangleTree};

#[test]
fn nothing_is_allocated_but_by_building() {
    // Four triangles form a roof over each square of a field.
    let (mut points, mut triangles) = (vec![], vec![]);
    for (x, z) in (0..400).map(|k| ((k % 20) as f32, (k / 20) as f32)) {
        let first = points.len() as u32;
        points.extend([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]].map(|[u, w]| [x + u, 0.0, z + w]));
        points.push([x + 0.5, 0.5, z + 0.5]);
        triangles.extend((0..4).map(|k| [first + k, first + 4, first + (k + 1) % 4]));
    }
    let mut tree = TriangleTree::new(&points, &triangles).expect("a valid mesh");
    let posed: Vec<_> = points.iter().map(|&[x, y, z]| [x, y + 0.1 * x, z]).collect();
    let mut touched = 0;
    let mut count = || {
        touched += 1;
        ControlFlow::Continue(())
    };
    let allocated = allocation_counter::measure(|| {
        tree.refit(&posed).expect("one position per vertex");
        let ray = Ray { origin: [3.0, 9.0, 7.3], direction: [0.1, -1.0, 0.2], max: f32::INFINITY };
        let hit = tree.first_hit(&ray).expect("the triangle is below");
        let arrow = Attachment { vertices: triangles[hit.triangle as usize], weights: hit.weights };
        assert!(arrow.place(&posed).is_ok() && tree.any_hit(&ray));
        tree.all_hits(&ray, |_| count());
        assert!(tree.closest_point([5.0, 3.0, 5.0], f32::INFINITY).is_some());
        assert!(!tree.contains([5.0, 3.0, 5.0]));
        let shape = Shape::Sphere { center: [10.0, 1.0, 10.0], radius: 5.0 };
        assert!(tree.overlaps(&shape));
        tree.overlapping(&shape, |_| count());
    });
    assert_eq!(allocated.count_total, 0);
    assert!(touched > 100);
}
