//! parry3d: its BVH over the boxes of triangles, rebuilt or refitted, and its queries on triangles.

use condyle_query::hits::Ray;
use parry3d::bounding_volume::Aabb;
use parry3d::math::Vector;
use parry3d::partitioning::{Bvh, BvhBuildStrategy, BvhWorkspace};
use parry3d::query::{PointQuery, Ray as ParryRay, RayCast};
use parry3d::shape::Triangle;

/// The parts of `TriMesh`, which itself can only be rebuilt, not refitted.
pub(crate) struct Tree {
    bvh: Bvh,
    workspace: BvhWorkspace,
    triangles: Vec<Triangle>,
}

fn corners(positions: &[[f32; 3]], triangle: &[u32; 3]) -> Triangle {
    let [a, b, c] = triangle.map(|v| Vector::from(positions[v as usize]));
    Triangle::new(a, b, c)
}

impl Tree {
    pub(crate) fn new(positions: &[[f32; 3]], triangles: &[[u32; 3]]) -> Self {
        let triangles: Vec<_> = triangles.iter().map(|t| corners(positions, t)).collect();
        let boxes: Vec<Aabb> = triangles.iter().map(Triangle::local_aabb).collect();
        let bvh = Bvh::from_leaves(BvhBuildStrategy::Binned, &boxes);
        Self { bvh, workspace: BvhWorkspace::default(), triangles }
    }

    pub(crate) fn refit(&mut self, positions: &[[f32; 3]], triangles: &[[u32; 3]]) {
        for (at, (own, triangle)) in self.triangles.iter_mut().zip(triangles).enumerate() {
            *own = corners(positions, triangle);
            self.bvh.insert_or_update_partially(own.local_aabb(), at as u32, 0.0);
        }
        self.bvh.refit(&mut self.workspace);
    }

    pub(crate) fn bounds(&self) -> [[f32; 3]; 2] {
        let Aabb { mins, maxs } = self.bvh.root_aabb();
        [mins.into(), maxs.into()]
    }

    pub(crate) fn cast(&self, ray: &Ray) -> Option<f32> {
        let cast = ParryRay::new(ray.origin.into(), ray.direction.into());
        let met = |at: u32, best: f32| self.triangles[at as usize].cast_local_ray(&cast, best, true);
        self.bvh.cast_ray(&cast, f32::MAX, met).map(|(_, distance)| distance)
    }

    pub(crate) fn distance(&self, point: [f32; 3]) -> f32 {
        let point = Vector::from(point);
        let near = |at: u32, _| Some(self.triangles[at as usize].project_local_point(point, true));
        self.bvh.project_point(point, f32::MAX, near).map_or(f32::NAN, |(_, (distance, _))| distance)
    }
}
