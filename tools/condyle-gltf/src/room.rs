//! The shell around an asset's joints in which errors of compressed clips are measured, and the resulting
//! options.

use condyle::sampling::PoseSource;
use condyle::{Affine, Error, Pose, RawClip, Skin, Target, local_to_model};
use condyle_base::math::vectors::{columns, stretch_bound};
use condyle_base::order;
use condyle_encode::{EncodeOptions, Encoded, Measured, Shell};

use crate::asset::{Asset, Instance, Placement};

impl Asset {
    /// Returns the shell in which the errors of this asset's clips are measured.
    ///
    /// It is [`Shell::of_morphed_meshes`] of all meshes that move with joints, with the document's morph
    /// weights. Joints without vertices get a ball of `radius`, in the document's units; if these are metres,
    /// use [`Shell::RADIUS`].
    ///
    /// # Errors
    /// The same as for [`Shell::of_morphed_meshes`].
    pub fn shell(&self, radius: f32) -> Result<Shell, Error> {
        let ranges: Vec<_> =
            self.instances.iter().map(|it| it.morph_weights.iter().map(|&w| [w, w]).collect()).collect();
        self.shell_within(radius, &ranges)
    }

    fn shell_within(&self, radius: f32, ranges: &[Vec<[f32; 2]>]) -> Result<Shell, Error> {
        // The vertices of a mesh on one joint are in that joint's space, so its inverse bind matrix is the
        // identity.
        let rigid = self.instances.iter().map(|instance| match instance.placement {
            Placement::Joint(joint) => Skin::new(vec![joint], vec![Affine::IDENTITY]).map(Some),
            Placement::Skin(_) | Placement::Fixed(_) => Ok(None),
        });
        let rigid = rigid.collect::<Result<Vec<_>, _>>()?;
        let meshes =
            self.instances.iter().zip(&rigid).zip(ranges).filter_map(|((instance, rigid), ranges)| {
                let skin = match instance.placement {
                    Placement::Skin(skin) => self.skins.get(skin),
                    Placement::Joint(_) | Placement::Fixed(_) => rigid.as_ref(),
                }?;
                Some(instance.primitives.iter().map(move |primitive| (&*primitive.mesh, skin, &ranges[..])))
            });
        Shell::of_morphed_meshes(&self.skeleton, meshes.flatten(), radius)
    }

    /// Compresses a clip, with an error of at most `budget` at every vertex, including morph targets.
    ///
    /// For joints without vertices, as in motion without meshes, the bound holds within 3 cm of the joint.
    /// `budget` is in the document's units, which are metres in glTF; the 3 cm are [`Shell::radius`] of its
    /// [`unit`](Self::unit), if it has another one. For other options, call
    /// [`encode_options`](Self::encode_options). The error at empty nodes, such as the socket of a sword, has
    /// no bound: it grows with the distance from the joint.
    ///
    /// [`Measured::morph_error`] is the error of the vertices that morph weights move.
    ///
    /// # Errors
    /// The errors of [`encode_options`](Self::encode_options) and
    /// [`condyle_encode::encode`](condyle_encode::encode()).
    ///
    /// ```
    /// use condyle_gltf::{Asset, example};
    ///
    /// let asset = Asset::from_document(example::document())?;
    /// let encoded = asset.encode(&asset.clips[0], 5e-4)?;
    /// assert!(encoded.measured.error_max.max(encoded.measured.morph_error) <= 5e-4);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn encode(&self, clip: &RawClip, budget: f32) -> Result<Encoded, Error> {
        let options = self.encode_options(clip, budget, Shell::radius(self.unit().unwrap_or(1.0)))?;
        let mut encoded = condyle_encode::encode(clip, &self.skeleton, &options, &mut |_| ())?;
        encoded.measured.morph_error = self.morph_error(clip, &encoded.measured)?;
        Ok(encoded)
    }

    /// Returns options that keep the error at every vertex within `budget`, including morph targets.
    ///
    /// If `clip` animates morph weights, a quarter of the budget is reserved for them and the rest is for the
    /// joints. The shell then encloses all vertex positions that the weights produce.
    ///
    /// Joints without vertices get a ball of `radius`, as in [`shell`](Self::shell).
    /// [`morph_error`](Self::morph_error) returns the error of morphed vertices.
    ///
    /// # Errors
    /// The errors of [`shell`](Self::shell), and those of the clip's [`PoseSource`].
    ///
    /// ```no_run
    /// use condyle_gltf::Asset;
    ///
    /// let asset = Asset::open("face.glb")?;
    /// for clip in &asset.clips {
    ///     let mut options = asset.encode_options(clip, 5e-4, 0.03)?;
    ///     options.best = true; // slower, smaller
    ///     let encoded = condyle_encode::encode(clip, &asset.skeleton, &options, &mut |_| ())?;
    ///     let morphed = asset.morph_error(clip, &encoded.measured)?;
    ///     assert!(encoded.measured.error_max.max(morphed) <= 5e-4);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn encode_options<S: PoseSource + ?Sized>(
        &self,
        clip: &S,
        budget: f32,
        radius: f32,
    ) -> Result<EncodeOptions, Error> {
        let (mut track_budgets, mut joint_budgets) = (Vec::new(), Vec::new());
        let mut ranges = Vec::new();
        let reaches = self.reaches(clip)?;
        for (at, instance) in self.instances.iter().enumerate() {
            let own = weight_ranges(clip, instance, self.places())?;
            if own.iter().any(|[low, high]| low != high) {
                let most = farthest(instance, |_| 1.0) * reaches[at];
                if most > 0.0 {
                    let share = (f64::from(budget) * MORPH_PART / most) as f32;
                    track_budgets.push((Target::Weights(instance.node as u32), share));
                    let rest = budget * (1.0 - MORPH_PART as f32);
                    joint_budgets.extend(self.joints_of(instance).map(|joint| (joint, rest)));
                }
            }
            ranges.push(own);
        }
        order::sort_by(&mut joint_budgets, |(joint, _)| (*joint).into());
        joint_budgets.dedup();
        let mut options = EncodeOptions::new(budget, self.shell_within(radius, &ranges)?);
        (options.track_budgets, options.joint_budgets) = (track_budgets, joint_budgets);
        Ok(options)
    }

    /// Returns the maximum error of a vertex in the meshes whose morph weights a clip animates, in the
    /// document's units.
    ///
    /// It is computed from the measured errors of the weights and of the joints. The result is 0 if the clip
    /// animates no weights.
    ///
    /// # Errors
    /// The errors of the clip's [`PoseSource`].
    pub fn morph_error<S: PoseSource + ?Sized>(&self, clip: &S, measured: &Measured) -> Result<f32, Error> {
        if measured.tracks.is_empty() {
            return Ok(0.0);
        }
        let reaches = self.reaches(clip)?;
        let mut worst = 0.0_f64;
        for (instance, reach) in self.instances.iter().zip(reaches) {
            let target = Target::Weights(instance.node as u32);
            let Some((_, errors)) = measured.tracks.iter().find(|(known, _)| *known == target) else {
                continue;
            };
            let morphed = farthest(instance, |at| errors.get(at).copied().unwrap_or_default().into()) * reach;
            let moved = self.joints_of(instance).filter_map(|joint| measured.joints.get(usize::from(joint)));
            let moved = moved.map(|joint| f64::from(joint.error)).fold(0.0, f64::max);
            worst = worst.max(morphed + moved);
        }
        Ok(worst as f32)
    }

    /// Returns the number of joints and morph weights that are evaluated at each sample time.
    fn places(&self) -> usize {
        let of = |instance: &Instance| self.joints_of(instance).count() + instance.morph_weights.len();
        self.skeleton.joint_count() + self.instances.iter().map(of).sum::<usize>()
    }

    /// Returns the joints that move an instance.
    fn joints_of(&self, instance: &Instance) -> impl Iterator<Item = u16> + use<'_> {
        let (skin, joint) = match instance.placement {
            Placement::Skin(skin) => (self.skins.get(skin), None),
            Placement::Joint(joint) => (None, Some(joint)),
            Placement::Fixed(_) => (None, None),
        };
        skin.into_iter().flat_map(|skin| skin.joints().iter().copied()).chain(joint)
    }

    /// Returns, for each instance, the maximum factor by which skinning lengthens a displacement in the bind
    /// pose.
    fn reaches<S: PoseSource + ?Sized>(&self, clip: &S) -> Result<Vec<f64>, Error> {
        let mut reaches = vec![0.0_f64; self.instances.len()];
        if self.instances.iter().all(|instance| instance.morph_weights.is_empty()) {
            return Ok(reaches);
        }
        let (mut pose, joints) = (Pose::rest(&self.skeleton), self.skeleton.joint_count());
        let mut model = vec![Affine::IDENTITY; joints];
        for seconds in moments(clip, self.places()) {
            clip.pose(&self.skeleton, seconds, &mut pose)?;
            local_to_model(&self.skeleton, &pose, &mut model)?;
            for (instance, most) in self.instances.iter().zip(&mut reaches) {
                match &instance.placement {
                    Placement::Skin(skin) => {
                        let skin = &self.skins[*skin];
                        for (&joint, bind) in skin.joints().iter().zip(skin.inverse_bind()) {
                            *most = most.max(stretch(&(model[usize::from(joint)] * *bind)));
                        }
                    }
                    Placement::Joint(joint) => *most = most.max(stretch(&model[usize::from(*joint)])),
                    Placement::Fixed(world) => *most = stretch(world),
                }
            }
        }
        Ok(reaches)
    }
}

/// Fraction of a vertex's budget for the errors of morph weights. Not tuned.
const MORPH_PART: f64 = 0.25;

/// Returns the times at which a clip's scales and weights are sampled: evenly spaced, with both ends, and
/// dense enough to catch a blink. Long clips with many `places` get fewer samples, to limit the work.
fn moments<S: PoseSource + ?Sized>(clip: &S, places: usize) -> impl Iterator<Item = f64> + use<S> {
    const A_SECOND: f64 = 120.0;
    const LEAST: usize = 512;
    const MOST: usize = 1 << 21;
    let (start, end) = (clip.start(), clip.end());
    let wanted = ((end - start) * A_SECOND).min(MOST as f64) as usize;
    let all = wanted.min(MOST / places.max(1)).max(LEAST);
    let count = if end > start { all } else { 0 };
    (0..=count).map(move |at| start + (end - start) * at as f64 / all as f64)
}

/// Returns the minimum and maximum weight of each morph target of an instance in a clip.
fn weight_ranges<S: PoseSource + ?Sized>(
    clip: &S,
    instance: &Instance,
    places: usize,
) -> Result<Vec<[f32; 2]>, Error> {
    let mut ranges: Vec<[f32; 2]> = instance.morph_weights.iter().map(|&weight| [weight, weight]).collect();
    if ranges.is_empty() {
        return Ok(ranges);
    }
    let mut weights = instance.morph_weights.clone();
    for (at, seconds) in moments(clip, places).enumerate() {
        weights.clone_from(&instance.morph_weights);
        clip.weights(instance.node as u32, seconds, &mut weights)?;
        for ([low, high], &weight) in ranges.iter_mut().zip(&weights) {
            (*low, *high) = if at == 0 { (weight, weight) } else { (low.min(weight), high.max(weight)) };
        }
    }
    // A margin for peaks between the samples.
    for [low, high] in &mut ranges {
        let more = 0.02 * (*high - *low);
        (*low, *high) = (*low - more, *high + more);
    }
    Ok(ranges)
}

/// Returns the maximum displacement of a vertex of an instance. `of` returns the weight of each morph target.
fn farthest(instance: &Instance, of: impl Fn(usize) -> f64) -> f64 {
    let mut worst = 0.0_f64;
    for primitive in &instance.primitives {
        let mut distances = vec![0.0_f64; primitive.mesh.vertex_count()];
        for (at, target) in primitive.mesh.morph_targets().iter().enumerate() {
            let weight = of(at);
            for (vertex, delta) in target.deltas() {
                let square = delta.position.iter().map(|&v| f64::from(v) * f64::from(v)).sum::<f64>();
                distances[vertex as usize] += weight * square.sqrt();
            }
        }
        worst = distances.into_iter().fold(worst, f64::max);
    }
    worst
}

/// Returns an upper bound on the factor by which a matrix lengthens vectors.
fn stretch(m: &Affine) -> f64 {
    stretch_bound(columns(&m.to_f64()))
}

#[cfg(test)]
mod tests {
    use condyle::{Interpolation, RawClip, Target, Track};

    use crate::asset::Asset;

    /// Tests that the morph weights get an error budget for a blink between two of five hundred samples in a
    /// five-minute clip.
    #[test]
    fn a_blink_in_a_long_clip_has_a_budget() {
        let asset = Asset::open(concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/morph.glb"))
            .expect("a model of this repository");
        let instance = asset.instances.iter().find(|it| !it.morph_weights.is_empty()).expect("a face");
        let rest = &instance.morph_weights;
        let closed: Vec<f32> = rest.iter().map(|weight| weight + 1.0).collect();
        let times = vec![0.0, 100.1, 100.2, 100.3, 300.0];
        let values = [rest, rest, &closed, rest, rest].into_iter().flatten().copied().collect();
        let target = Target::Weights(instance.node as u32);
        let track = Track { target, interpolation: Interpolation::Linear, timeline: 0, values };
        let clip = RawClip::new("blink".into(), vec![times], vec![track]).expect("a clip");
        let options = asset.encode_options(&clip, 1e-3, 0.03).expect("a shell");
        assert!(options.track_budgets.iter().any(|(known, _)| *known == target), "{options:?}");
    }
}
