//! Curves of one segment: of joints, root motion and free tracks.

use alloc::vec::Vec;

use crate::curve::fallback::{Failed, FailedJoint, FallbackSelection};
use crate::curve::least_squares::Shape;
use crate::curve::segment_fit::SegmentPart;
use crate::measure::job::ClipJob;
use condyle::clip::spline::Degree;
use condyle::clip::write::Curves;
use condyle_base::error::Error;

/// Curves of a segment.
#[derive(Debug, Clone)]
pub(crate) struct SegmentCurves {
    pub(crate) curves: Curves,
    /// Whether the root motion is within its budget.
    pub(crate) motion_is_held: bool,
}

impl ClipJob<'_> {
    /// Fits a segment: the tracks of joints, the root motion and free tracks.
    pub(crate) fn segment(
        &self,
        kept: &FallbackSelection<'_, '_>,
        part: &SegmentPart<'_>,
    ) -> Result<Result<SegmentCurves, Failed>, Error> {
        let &SegmentPart { at: segment, first, frames, shapes, .. } = part;
        let mut curves = match self.joint_curves(&kept.joints_in(segment), part) {
            Ok(curves) => curves,
            Err(joints) => {
                let joints = joints.into_iter().map(|joint| FailedJoint { joint, segment }).collect();
                return Ok(Err(Failed::Joints(joints)));
            }
        };
        let mut motion_is_held = true;
        if let Some(motion) = &self.motion {
            let (found, is_held) = motion.curves(self, first, frames, shapes)?;
            curves.curves.extend(found);
            motion_is_held = is_held;
        }
        let found = self.free_curves(first, frames, shapes, kept.free(), &mut curves.curves);
        Ok(found.map(|()| SegmentCurves { curves, motion_is_held }).map_err(Failed::FreeTrack))
    }

    /// Kinds of curves to try for a segment, few keys first. Each stride is the number of frames per key of a
    /// spline.
    pub(crate) fn shapes(&self, frames: usize) -> Vec<Shape> {
        if frames == 0 {
            return Vec::new();
        }
        let strides = [32.0, 16.0, 12.0, 8.0, 6.0, 4.0, 3.0, 2.0, 1.5, 1.0, 0.5];
        let moments = frames * self.moments + 1;
        let mut shapes: Vec<Shape> = Vec::new();
        for stride in strides {
            let intervals = ((frames as f64 / stride) + 0.5) as usize;
            let intervals = intervals.clamp(1, moments - 1);
            if shapes.last().is_none_or(|shape| shape.intervals < intervals) {
                shapes.push(Shape::new(Degree::Cubic, intervals, moments));
            }
        }
        let linear = Shape::new(Degree::Linear, frames, moments);
        let at = shapes.partition_point(|shape| shape.intervals <= frames);
        shapes.insert(at, linear);
        shapes
    }
}
