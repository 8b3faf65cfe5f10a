//! Mirrored clips: maps keys and tangents as `pose.rs` maps poses.

use alloc::string::ToString;
use alloc::vec::Vec;

use super::pose::Mirror;
use crate::clip::{RawClip, Target, Track};
use condyle_base::error::Error;
use condyle_base::simd::BLOCK;

/// Mirrors a clip: sampling the result gives the [`mirror`](super::mirror) image of the sampled input.
///
/// Each track of a joint moves to the partner, with the same timeline and interpolation. Spline tangents are
/// mirrored without the offset of the rest pose, because they are differences. Morph weights, the name and
/// the timelines do not change. The result has the same bits on every platform.
///
/// # Errors
/// [`Error::Index`] if a track drives a joint that the skeleton does not have; [`Error::NotFinite`] if a
/// value becomes too large for f32, as reported by [`RawClip::new`].
///
/// ```
/// use condyle::mirroring::Mirror;
/// use condyle::{Target, example, mirroring};
///
/// // The names give the pairs: `hand.L` and `hand.R` are partners.
/// let skeleton = example::skeleton();
/// let sides = Mirror::new(&skeleton, &mirroring::pairs(&skeleton), [1.0, 0.0, 0.0])?;
/// // The wave of the right hand becomes a wave of the left hand.
/// let right = example::wave();
/// let left = mirroring::clip(&sides, &right)?;
/// assert_eq!(right.tracks()[0].target, Target::Rotation(example::ARM_R[0]));
/// assert_eq!(left.tracks()[0].target, Target::Rotation(example::ARM_L[0]));
/// // The arm is raised by 60 degrees: about -Z on the right, about +Z on the left.
/// assert_eq!(right.tracks()[0].values[..3], [0.0, 0.0, -0.5]);
/// assert_eq!(left.tracks()[0].values[..3], [0.0, 0.0, 0.5]);
/// # Ok::<(), condyle::Error>(())
/// ```
pub fn clip(sides: &Mirror, clip: &RawClip) -> Result<RawClip, Error> {
    let mut tracks = Vec::with_capacity(clip.tracks().len());
    for (at, track) in clip.tracks().iter().enumerate() {
        tracks.push(mirrored(sides, at, track)?);
    }
    Ok(RawClip::new(clip.name().to_string(), clip.timelines().to_vec(), tracks)?.for_skeleton_of(clip))
}

fn mirrored(sides: &Mirror, at: usize, track: &Track) -> Result<Track, Error> {
    let mut track = track.clone();
    // A spline stores each value between its in-tangent and out-tangent.
    let parts = track.values_per_key();
    let (target, joint) = match track.target {
        Target::Rotation(j) => (Target::Rotation as fn(u16) -> Target, j),
        Target::Translation(j) => (Target::Translation as fn(u16) -> Target, j),
        Target::Scale(j) => (Target::Scale as fn(u16) -> Target, j),
        // Tracks without a joint.
        _ => return Ok(track),
    };
    let (found, count) = (usize::from(joint), sides.joint_count());
    let partner = *sides.partners.get(found).ok_or(Error::Index { what: "tracks", at, found, count })?;
    let to = usize::from(partner);
    let (maps, lane) = (&sides.blocks[to / BLOCK], to % BLOCK);
    match track.target {
        Target::Rotation(_) => {
            for q in track.values.as_chunks_mut::<4>().0 {
                *q = maps.rotation.each_ref().map(|row| sum(row.each_ref().map(|m| m[lane]), *q, 0.0));
            }
        }
        Target::Translation(_) => {
            for (n, v) in track.values.as_chunks_mut::<3>().0.iter_mut().enumerate() {
                let is_value = n % parts == parts / 2;
                let from = *v;
                for (c, v) in v.iter_mut().enumerate() {
                    let rest = if is_value { maps.rest[c][lane] } else { 0.0 };
                    *v = sum(maps.translation[c].each_ref().map(|m| m[lane]), from, rest);
                }
            }
        }
        Target::Scale(_) => {
            for v in track.values.as_chunks_mut::<3>().0 {
                let from = *v;
                for (c, v) in v.iter_mut().enumerate() {
                    *v = from[usize::from(sides.axes[to][c])] * maps.scale[c][lane];
                }
            }
        }
        _ => {}
    }
    track.target = target(partner);
    Ok(track)
}

fn sum<const N: usize>(row: [f32; N], v: [f32; N], last: f32) -> f32 {
    let products = row.iter().zip(v).map(|(m, v)| f64::from(*m) * f64::from(v));
    products.fold(last.into(), |sum: f64, product| sum + product) as f32
}
