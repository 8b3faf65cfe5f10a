//! Clips of files with other axes or units: rotates the roots, scales lengths.

use alloc::string::ToString;
use alloc::vec::Vec;

use super::raw::{RawClip, Target, Track};
use crate::pose::Pose;
use crate::skeleton::Skeleton;
use condyle_base::error::Error;
use condyle_base::math::Quat;
use condyle_base::math::quats::product;
use condyle_base::math::vectors::normalize;

/// Rotation that converts files with +Z up to +Y up: -90 degrees about X. The Y axis of the file becomes -Z.
pub const Y_UP_FROM_Z_UP: Quat =
    [-core::f32::consts::FRAC_1_SQRT_2, 0.0, 0.0, core::f32::consts::FRAC_1_SQRT_2];

/// A rotation in f64, as a quaternion and as a matrix.
struct Turn {
    quat: [f64; 4],
    rows: [[f64; 3]; 3],
}

impl Turn {
    fn new(rotation: Quat) -> Result<Self, Error> {
        if !rotation.iter().all(|v| v.is_finite()) {
            return Err(Error::NotFinite { what: "rotation", at: 0 });
        }
        if rotation == [0.0; 4] {
            return Err(Error::OutOfRange { what: "rotation", at: 0, needed: "non-zero" });
        }
        let mut quat = rotation.map(f64::from);
        normalize(&mut quat);
        let [x, y, z, w] = quat;
        let rows = [
            [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)],
            [2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)],
            [2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)],
        ];
        // Remove rounding noise, so that a rotation by 90 degrees only permutes axes.
        let clean = |v: f64| if v.abs() < 1e-12 { 0.0 } else { v };
        Ok(Self { quat, rows: rows.map(|row| row.map(clean)) })
    }

    fn point(&self, v: [f32; 3]) -> [f32; 3] {
        let v = v.map(f64::from);
        self.rows.map(|row| (row[0] * v[0] + row[1] * v[1] + row[2] * v[2]) as f32)
    }

    fn rotation(&self, q: Quat) -> Quat {
        product(self.quat, q.map(f64::from)).map(|v| v as f32)
    }
}

impl Skeleton {
    /// Rotates the rest pose about the origin. Only the transforms of roots change.
    ///
    /// # Errors
    /// [`Error::NotFinite`] or [`Error::OutOfRange`] for a quaternion that is not finite or is zero.
    ///
    /// ```
    /// use condyle::clip::Y_UP_FROM_Z_UP;
    /// use condyle::{Joint, Skeleton, Transform};
    ///
    /// let up = Transform { translation: [0.0, 0.0, 0.9], ..Transform::IDENTITY };
    /// let skeleton = Skeleton::new([Joint::new("hips", None, up)])?.turned(Y_UP_FROM_Z_UP)?;
    /// assert_eq!(skeleton.rest().get(0).translation, [0.0, 0.9, 0.0]);
    /// # Ok::<(), condyle::Error>(())
    /// ```
    pub fn turned(&self, rotation: Quat) -> Result<Self, Error> {
        let turn = Turn::new(rotation)?;
        let mut rest: Vec<_> = self.rest().transforms().collect();
        for (joint, t) in rest.iter_mut().enumerate() {
            if self.parent(joint as u16).is_none() {
                (t.translation, t.rotation) = (turn.point(t.translation), turn.rotation(t.rotation));
            }
        }
        self.with_rest(&Pose::from_transforms(&rest))
    }
}

impl RawClip {
    /// Rotates the clip about the origin: the translations and rotations of roots, at every key.
    ///
    /// A root without a track stays in its rest pose, which [`Skeleton::turned`] rotates.
    ///
    /// # Errors
    /// The errors of [`Skeleton::turned`]; [`Error::Skeleton`] if the clip is bound to another skeleton.
    ///
    /// ```
    /// use condyle::clip::Y_UP_FROM_Z_UP;
    /// use condyle::{Interpolation, Joint, RawClip, Skeleton, Target, Track, Transform};
    ///
    /// let skeleton = Skeleton::new([Joint::new("hips", None, Transform::IDENTITY)])?;
    /// let (target, interpolation) = (Target::Translation(0), Interpolation::Linear);
    /// let track = Track { target, interpolation, timeline: 0, values: vec![1.0, 2.0, 3.0] };
    /// let clip = RawClip::new("step".into(), vec![vec![0.0]], vec![track])?;
    /// let clip = clip.turned(&skeleton, Y_UP_FROM_Z_UP)?;
    /// assert_eq!(clip.tracks()[0].values, [1.0, 3.0, -2.0]);
    /// # Ok::<(), condyle::Error>(())
    /// ```
    pub fn turned(&self, skeleton: &Skeleton, rotation: Quat) -> Result<Self, Error> {
        self.check_skeleton(skeleton)?;
        let turn = Turn::new(rotation)?;
        self.with_values(|track| {
            let is_root = track.target.joint().is_some_and(|joint| skeleton.parent(joint).is_none());
            match track.target {
                // Tangents rotate like values.
                Target::Translation(_) if is_root => {
                    track.values.as_chunks_mut().0.iter_mut().for_each(|v| *v = turn.point(*v));
                }
                Target::Rotation(_) if is_root => {
                    track.values.as_chunks_mut().0.iter_mut().for_each(|q| *q = turn.rotation(*q));
                }
                _ => {}
            }
        })
    }

    /// Converts the clip to another unit: multiplies the translations of all joints by `factor`.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] if `factor` is not finite and above 0, [`Error::NotFinite`] if a key becomes too
    /// large for f32.
    ///
    /// ```
    /// use condyle::{Interpolation, RawClip, Target, Track};
    ///
    /// let (target, interpolation) = (Target::Translation(0), Interpolation::Linear);
    /// let track = Track { target, interpolation, timeline: 0, values: vec![0.0, 50.0, 0.0] };
    /// let clip = RawClip::new("step".into(), vec![vec![0.0]], vec![track])?;
    /// assert_eq!(clip.scaled(0.01)?.tracks()[0].values, [0.0, 0.5, 0.0]);
    /// # Ok::<(), condyle::Error>(())
    /// ```
    pub fn scaled(&self, factor: f64) -> Result<Self, Error> {
        if !(factor > 0.0 && factor.is_finite()) {
            return Err(Error::OutOfRange { what: "factor", at: 0, needed: "finite and above 0" });
        }
        self.with_values(|track| {
            if let Target::Translation(_) = track.target {
                track.values.iter_mut().for_each(|v| *v = (f64::from(*v) * factor) as f32);
            }
        })
    }

    fn with_values(&self, mut change: impl FnMut(&mut Track)) -> Result<Self, Error> {
        let mut tracks = self.tracks().to_vec();
        tracks.iter_mut().for_each(&mut change);
        Ok(Self::new(self.name().to_string(), self.timelines().to_vec(), tracks)?.for_skeleton_of(self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Affine;
    use crate::clip::Interpolation;
    use crate::model::local_to_model;
    use crate::sampling::PoseSource;
    use crate::skeleton::Joint;
    use alloc::vec;
    use condyle_base::math::Transform;

    /// Every axis and origin of every joint is rotated, at the keys and between them, for splines too.
    #[test]
    fn turned_motion_is_the_motion_turned() {
        let at = |translation: [f32; 3]| Transform { translation, ..Transform::IDENTITY };
        let joints = [
            Joint::new("hips", None, at([0.1, 0.2, 0.9])),
            Joint::new("head", Some(0), at([0.0, 0.1, 0.6])),
            Joint::new("prop", None, at([1.0, 2.0, 3.0])),
        ];
        let skeleton = Skeleton::new(joints).expect("three joints");
        let (linear, cubic) = (Interpolation::Linear, Interpolation::CubicSpline);
        let quats = vec![0.0, 0.0, 0.0, 1.0, 0.6, 0.0, 0.0, 0.8, 0.0, 0.0, 0.6, 0.8];
        let spline: Vec<f32> = (0..27).map(|at| condyle_base::math::sin_cos(at as f32 * 0.7).0).collect();
        let track = |target, interpolation, values| Track { target, interpolation, timeline: 0, values };
        let tracks = vec![
            track(Target::Rotation(0), linear, quats.clone()),
            track(Target::Rotation(1), linear, quats),
            track(Target::Translation(0), cubic, spline),
        ];
        let clip = RawClip::new("c".into(), vec![vec![0.0, 1.0, 2.0]], tracks).expect("a clip");
        let (turned_skeleton, turned) = (
            skeleton.turned(Y_UP_FROM_Z_UP).expect("turns"),
            clip.turned(&skeleton, Y_UP_FROM_Z_UP).expect("turns"),
        );
        let model = |skeleton: &Skeleton, clip: &RawClip, seconds: f64| {
            let mut pose = Pose::rest(skeleton);
            clip.pose(skeleton, seconds, &mut pose).expect("a pose");
            let mut model = vec![Affine::IDENTITY; 3];
            local_to_model(skeleton, &pose, &mut model).expect("three joints");
            model
        };
        for seconds in [0.0, 0.3, 1.0, 1.6, 2.0] {
            let (was, is) = (model(&skeleton, &clip, seconds), model(&turned_skeleton, &turned, seconds));
            for (was, is) in was.iter().zip(&is) {
                let [x, y, z] = was.rows;
                for (found, want) in is.rows.iter().flatten().zip([x, z, y.map(|v| -v)].iter().flatten()) {
                    assert!((found - want).abs() < 2e-6, "{seconds}: {is:?} instead of {was:?}");
                }
            }
        }
        assert_eq!(turned.fingerprint(), clip.fingerprint());
    }

    #[test]
    fn what_is_no_rotation_or_factor_is_refused() {
        let skeleton = Skeleton::new([Joint::new("hips", None, Transform::IDENTITY)]).expect("a joint");
        let clip = RawClip::new("c".into(), vec![], vec![]).expect("a clip");
        for rotation in [[0.0; 4], [f32::NAN, 0.0, 0.0, 1.0]] {
            assert!(skeleton.turned(rotation).is_err() && clip.turned(&skeleton, rotation).is_err());
        }
        for factor in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(clip.scaled(factor).is_err(), "{factor}");
        }
    }
}
