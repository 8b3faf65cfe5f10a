//! Rays, bounds and hitboxes.

use condyle_query::bounds::Aabb;
use condyle_query::hitbox::{self, Fit, PosedHitboxes};
use condyle_query::hits::{Hit, Ray};
use wasm_bindgen::prelude::*;

use crate::fault::Fault;
use crate::part::Follows;
use crate::pose::Pose;

#[wasm_bindgen]
impl Pose {
    /// Finds the first triangle on a ray of seven numbers: origin, direction, maximum. `out` has a hit, or
    /// nothing.
    pub fn raycast(&mut self, ray: &[f32]) -> bool {
        let result = self.first_hit(ray);
        self.kept.keep(result)
    }

    /// Finds the first hitbox on a ray. `out` has a hit, or nothing.
    pub fn raycast_hitboxes(&mut self, ray: &[f32]) -> bool {
        let result = self.first_hitbox(ray);
        self.kept.keep(result)
    }

    /// Writes the box around all shown meshes to `out`.
    pub fn bounds(&mut self) -> bool {
        let result = self.bounding_box().map(|it| {
            self.body.out.clear();
            if !it.is_empty() {
                self.body.out.extend(it.min.into_iter().chain(it.max).map(f64::from));
            }
        });
        self.kept.keep(result)
    }

    /// Number of numbers of the last result.
    pub fn out_count(&self) -> usize {
        self.body.out.len()
    }
}

fn ray_of(numbers: &[f32]) -> Result<Ray, Fault> {
    match *numbers {
        [x, y, z, dx, dy, dz, max] if numbers[..6].iter().all(|v| v.is_finite()) && !max.is_nan() => {
            Ok(Ray { origin: [x, y, z], direction: [dx, dy, dz], max })
        }
        _ => {
            Err(Fault::new("not-finite", "a ray has an origin and a direction of three finite numbers each"))
        }
    }
}

impl Pose {
    fn first_hit(&mut self, ray: &[f32]) -> Result<(), Fault> {
        let mut ray = ray_of(ray)?;
        self.finish()?;
        self.body.out.clear();
        let mut first: Option<(usize, Hit)> = None;
        for mesh in 0..self.character.meshes.len() {
            if !self.character.meshes[mesh].shown {
                continue;
            }
            if let Some(hit) = self.tree(mesh)?.first_hit(&ray) {
                ray.max = hit.distance;
                first = Some((mesh, hit));
            }
        }
        if let Some((mesh, hit)) = first {
            let joint = self.heaviest(mesh, &hit);
            let head = [mesh as f64, f64::from(hit.triangle), f64::from(hit.distance), joint];
            let vectors = hit.position.into_iter().chain(hit.normal).chain(hit.weights);
            self.body.out.extend(head.into_iter().chain(vectors.map(f64::from)));
        }
        Ok(())
    }

    /// Joint with the largest weight at the corner with the largest weight; -1 without one.
    fn heaviest(&self, mesh: usize, hit: &Hit) -> f64 {
        let part = &self.character.meshes[mesh];
        match part.follows {
            Follows::Joint(joint) => joint.into(),
            Follows::Nothing => -1.0,
            Follows::Skin(skin) => {
                let corners = [0, 1, 2];
                let corner = corners
                    .into_iter()
                    .max_by(|&a, &b| hit.weights[a].total_cmp(&hit.weights[b]))
                    .unwrap_or(0);
                let vertex = part.mesh.mesh.indices().get(3 * hit.triangle as usize + corner);
                let influence =
                    vertex.and_then(|&vertex| part.mesh.mesh.influences().row(vertex as usize).next());
                influence
                    .map_or(-1.0, |(joint, _)| self.character.skins[skin].joints()[usize::from(joint)].into())
            }
        }
    }

    fn first_hitbox(&mut self, ray: &[f32]) -> Result<(), Fault> {
        let ray = ray_of(ray)?;
        self.finish()?;
        let it = &*self.character;
        let (hitboxes, posed) = match &mut self.body.hitboxes {
            Some(found) => found,
            none => {
                let moved = it.meshes.iter().filter(|it| it.shown && !matches!(it.follows, Follows::Nothing));
                let meshes = moved.map(|part| (&*part.mesh.mesh, &part.mesh.skin));
                none.insert((hitbox::fit(meshes, &Fit::default())?, PosedHitboxes::default()))
            }
        };
        hitbox::place(hitboxes, &self.model, posed)?;
        let hit = posed.first_hit(&ray);
        self.body.out.clear();
        if let Some(hit) = hit {
            let head = [f64::from(hit.joint), hit.distance.into()];
            self.body.out.extend(head.into_iter().chain(hit.position.map(f64::from)));
        }
        Ok(())
    }

    /// Box around all shown meshes, or around the joints of a model without meshes.
    pub(crate) fn bounding_box(&mut self) -> Result<Aabb, Fault> {
        self.finish()?;
        let mut all = Aabb::EMPTY;
        for part in self.character.meshes.iter().filter(|part| part.shown) {
            all = all.union(part.posed_box(&self.model)?);
        }
        if self.character.meshes.is_empty() {
            let places: Vec<[f32; 3]> = self.model.iter().map(|it| it.rows.map(|row| row[3])).collect();
            all = condyle_query::bounds::of(&places);
        }
        Ok(all)
    }
}
