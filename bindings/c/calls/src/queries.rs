//! Bounds, rays and hitboxes.

use capi::*;

use crate::World;
use crate::output::Output;
use crate::pool::Handle;

impl World<'_> {
    pub(crate) fn query(&mut self) {
        match self.input.below(4) {
            0 => self.bounds(),
            1 => self.tree(),
            2 => self.new_hitboxes(),
            _ => self.posed_hitboxes(),
        }
    }

    fn bounds(&mut self) {
        if self.pools.bounds.is_empty() || self.input.one_in(6) {
            let mesh = any!(self, meshes);
            make!(self, bounds, condyle_bounds_new(self.at(mesh); out));
            return;
        }
        let bounds = any!(self, bounds);
        let right = self.input.below(12);
        let count = self.count(right);
        let (model, mut posed) = (self.model(count), Output::new(1));
        let (bounds, model) = (self.at(bounds), self.array(&model, count));
        let ok = call!(self, condyle_bounds_box(bounds, model, count, self.at_mut(posed.pointer())));
        posed.check(ok, "condyle_bounds_box");
    }

    fn ray(&mut self) -> condyle_ray {
        let max = if self.input.one_in(4) { self.input.number() } else { f32::INFINITY };
        condyle_ray { origin: self.input.numbers(), direction: self.input.numbers(), max }
    }

    fn tree(&mut self) {
        let mesh = any!(self, meshes);
        if self.pools.trees.is_empty() || self.input.one_in(6) {
            make!(self, trees, condyle_tree_new(self.at(mesh); out));
            return;
        }
        let tree = any!(self, trees);
        let mut hit = Output::new(1);
        match self.input.below(3) {
            0 => {
                let right = self.mesh_info(mesh).vertex_count;
                let count = self.count(right);
                let positions = self.input.list(if count > 1 << 20 { 3 } else { 3 * count });
                let tree = self.at_mut(tree);
                call!(self, condyle_tree_refit(tree, self.array(&positions, count), count));
            }
            1 => {
                let ray = self.ray();
                let (tree, ray) = (self.at(tree), self.at(&raw const ray));
                let ok = call!(self, condyle_tree_first_hit(tree, ray, self.at_mut(hit.pointer())));
                hit.check(ok, "condyle_tree_first_hit");
            }
            _ => {
                let (point, max) = (self.input.numbers::<3>(), self.input.number());
                let (tree, point) = (self.at(tree), self.at(point.as_ptr()));
                let ok =
                    call!(self, condyle_tree_closest_point(tree, point, max, self.at_mut(hit.pointer())));
                hit.check(ok, "condyle_tree_closest_point");
            }
        }
    }

    fn new_hitboxes(&mut self) {
        if self.input.one_in(2) {
            let right = self.input.below(3);
            let count = self.count(right);
            let meshes = self.mesh_list(count);
            let coverage = self.input.number();
            make!(self, hitboxes, condyle_hitboxes_fit(self.array(&meshes, count), count, coverage; out));
            return;
        }
        let right = self.input.below(4);
        let count = self.count(right);
        let list: Vec<_> = (0..if count > 1 << 20 { 1 } else { count })
            .map(|_| condyle_hitbox {
                joint: self.input.below(12) as u16,
                kind: self.input.constant(3),
                center: self.input.numbers(),
                end: self.input.numbers(),
                radius: self.input.number().abs(),
                rotation: self.input.rotation(),
                half_extents: self.input.numbers::<3>().map(f32::abs),
            })
            .collect();
        make!(self, hitboxes, condyle_hitboxes_new(self.array(&list, count), count; out));
    }

    fn posed_hitboxes(&mut self) {
        let hitboxes = any!(self, hitboxes);
        if self.pools.posed_hitboxes.is_empty() || self.input.one_in(6) {
            make!(self, posed_hitboxes, condyle_posed_hitboxes_new(self.at(hitboxes); out));
            return;
        }
        let posed = any!(self, posed_hitboxes);
        match self.input.below(4) {
            0 => {
                let (mut list, mut count) = (Output::new(1), Output::new(1));
                let (hitboxes, list_at) = (self.at(hitboxes), self.at_mut(list.pointer()));
                let ok = call!(self, condyle_hitboxes_get(hitboxes, list_at, self.at_mut(count.pointer())));
                list.check(ok, "condyle_hitboxes_get");
                count.check(ok, "condyle_hitboxes_get");
            }
            1 => {
                let right = self.input.below(14);
                let count = self.count(right);
                let model = self.model(count);
                let (hitboxes, model) = (self.at(hitboxes), self.array(&model, count));
                call!(self, condyle_hitboxes_place(hitboxes, model, count, self.at_mut(posed)));
            }
            2 => {
                let mut bounds = Output::new(1);
                let ok = call!(self, condyle_hitboxes_box(self.at(posed), self.at_mut(bounds.pointer())));
                bounds.check(ok, "condyle_hitboxes_box");
            }
            _ => {
                let (ray, mut hit) = (self.ray(), Output::new(1));
                let (posed, ray) = (self.at(posed), self.at(&raw const ray));
                let ok = call!(self, condyle_hitboxes_first_hit(posed, ray, self.at_mut(hit.pointer())));
                hit.check(ok, "condyle_hitboxes_first_hit");
            }
        }
    }
}
