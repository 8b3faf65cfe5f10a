//! Extent of an asset along the three axes, and which axis is its height.

use condyle::sampling::PoseSource;
use condyle::{Affine, Error, NormalRule, Pose, RawClip, local_to_model};

use crate::asset::Asset;
use crate::poser::Poser;

/// Common length units of files, in metres.
const USUAL_UNITS: [f64; 5] = [1.0, 0.01, 0.001, 0.0254, 0.3048];

/// Extent of an asset along X, Y and Z, in the document's units.
///
/// ```
/// use condyle_gltf::Extent;
///
/// // Motion capture in centimetres with Z up.
/// let person = Extent::of_joints([160.0, 25.0, 170.0]);
/// assert_eq!((person.up(), person.height()), (2, 170.0));
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Extent {
    /// Extents along X, Y and Z; zeros if the asset is empty.
    pub sizes: [f64; 3],
    /// Whether the extent was measured on vertices; otherwise it was measured on joints.
    pub of_vertices: bool,
}

impl Extent {
    /// Returns an extent that was measured on joints.
    #[must_use]
    pub fn of_joints(sizes: [f64; 3]) -> Self {
        Self { sizes, of_vertices: false }
    }

    /// Returns the index of the height axis.
    ///
    /// This is Y, the up axis of glTF, except for motion without vertices, which can come from programs with
    /// other axes. If its Y extent is less than half of the longest extent, the height axis is Z or X: Z if
    /// its extent is at least half of the longest, else X.
    #[must_use]
    pub fn up(&self) -> usize {
        let half = self.sizes[self.longest()] / 2.0;
        match self.sizes {
            _ if self.of_vertices => 1,
            [_, y, _] if y >= half => 1,
            [_, _, z] if z >= half => 2,
            _ => 0,
        }
    }

    /// Returns the index of the longest axis. On a tie, Y is preferred to Z, and Z to X.
    #[must_use]
    pub fn longest(&self) -> usize {
        [2, 0]
            .into_iter()
            .fold(1, |longest, axis| if self.sizes[axis] > self.sizes[longest] { axis } else { longest })
    }

    /// Returns the length of one document unit in metres. `units` is the height in document units and
    /// `height` the height in metres.
    ///
    /// Joints span less than the whole character, because the top of the head and the soles are outside. For
    /// an extent of joints, the result is therefore a common unit (metre, centimetre, millimetre, inch or
    /// foot) if possible. With that unit, `units` must be 85 to 100 % of `height`. Otherwise the result is
    /// `height / units`.
    ///
    /// ```
    /// use condyle_gltf::Extent;
    ///
    /// let joints = Extent::of_joints([170.0, 158.0, 30.0]);
    /// assert_eq!(joints.unit(158.0, 1.7), 0.01);
    /// let vertices = Extent { of_vertices: true, ..joints };
    /// assert_eq!(vertices.unit(158.0, 1.7), 1.7 / 158.0);
    /// ```
    #[must_use]
    pub fn unit(&self, units: f64, height: f64) -> f64 {
        let is_usual = |&unit: &f64| (0.85..=1.000_001).contains(&(unit * units / height));
        let usual = USUAL_UNITS.into_iter().find(is_usual).filter(|_| !self.of_vertices);
        usual.unwrap_or(height / units)
    }

    /// Returns the extent along [`up`](Self::up).
    #[must_use]
    pub fn height(&self) -> f64 {
        self.sizes[self.up()]
    }
}

impl Asset {
    /// Returns the height of the asset in the document's units: [`Extent::height`] of
    /// [`extent`](Self::extent). Zero if the asset is flat or empty.
    ///
    /// # Errors
    /// The same as for [`extent_in`](Self::extent_in).
    pub fn rest_height(&self) -> Result<f64, Error> {
        Ok(self.extent()?.height())
    }

    /// Returns [`extent_in`](Self::extent_in) for the first clip that moves joints.
    ///
    /// # Errors
    /// The same as for [`extent_in`](Self::extent_in).
    pub fn extent(&self) -> Result<Extent, Error> {
        let moves = |clip: &&RawClip| clip.tracks().iter().any(|track| track.target.joint().is_some());
        self.extent_in(self.clips.iter().find(moves))
    }

    /// Returns the extent of all vertices of the default scene in the rest pose, with the document's morph
    /// weights.
    ///
    /// Vertices count whether they are skinned or not. Without vertices, this is the extent of the joints in
    /// the first frame of `clip`, or in the rest pose if `clip` is `None`. The rest pose of motion capture
    /// can have any shape, so it is not a reliable measure.
    ///
    /// # Errors
    /// The errors of [`Poser::new`] and [`Poser::rest`], and those of the clip.
    pub fn extent_in<S: PoseSource + ?Sized>(&self, clip: Option<&S>) -> Result<Extent, Error> {
        let mut poser = Poser::new(self, NormalRule::Plain.into())?;
        poser.rest()?;
        let mut bounds = Bounds::default();
        for (at, _) in self.shown() {
            poser.posed(at).iter().flat_map(|it| &it.positions).for_each(|&p| bounds.add(p));
        }
        if bounds.any {
            return Ok(Extent { sizes: bounds.sizes(), of_vertices: true });
        }
        let mut pose = Pose::rest(&self.skeleton);
        if let Some(clip) = clip {
            clip.pose(&self.skeleton, clip.start(), &mut pose)?;
        }
        let mut model = vec![Affine::IDENTITY; self.skeleton.joint_count()];
        local_to_model(&self.skeleton, &pose, &mut model)?;
        model.iter().for_each(|joint| bounds.add(joint.rows.map(|row| row[3])));
        Ok(Extent::of_joints(bounds.sizes()))
    }
}

struct Bounds {
    low: [f64; 3],
    high: [f64; 3],
    any: bool,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { low: [f64::MAX; 3], high: [f64::MIN; 3], any: false }
    }
}

impl Bounds {
    fn add(&mut self, point: [f32; 3]) {
        self.any = true;
        for (axis, v) in point.into_iter().enumerate() {
            self.low[axis] = self.low[axis].min(v.into());
            self.high[axis] = self.high[axis].max(v.into());
        }
    }

    fn sizes(&self) -> [f64; 3] {
        if self.any { [0, 1, 2].map(|axis| self.high[axis] - self.low[axis]) } else { [0.0; 3] }
    }
}

#[cfg(test)]
mod tests {
    use crate::value::json;
    use condyle::{Interpolation, Joint, Skeleton, Target, Track, Transform};

    use super::*;
    use crate::testing::Builder;

    /// Returns two cubes of side 1 on nodes, from y = -0.5 to 1.5, with a morph target that makes one 3 units
    /// high.
    fn cubes(weight: f64) -> Asset {
        let mut it = Builder::new(json!({
            "scene": 0, "scenes": [{"nodes": [0]}],
            "nodes": [{"name": "base", "mesh": 0, "children": [1]}, {"name": "head", "mesh": 0, "translation": [0, 1, 0]}],
        }));
        let corners: Vec<f32> = (0..8)
            .flat_map(|at| [0, 1, 2].map(|axis| if at >> axis & 1 == 1 { 0.5 } else { -0.5 }))
            .collect();
        let up: Vec<f32> = (0..8).flat_map(|at| [0.0, if at & 2 == 2 { 2.0 } else { 0.0 }, 0.0]).collect();
        let positions = it.floats("VEC3", &corners);
        let deltas = it.floats("VEC3", &up);
        it.json["meshes"] = json!([{
            "primitives": [{"attributes": {"POSITION": positions}, "targets": [{"POSITION": deltas}]}],
            "weights": [weight],
        }]);
        it.import().expect("two cubes")
    }

    #[test]
    fn all_vertices_count_rigid_and_morphed_ones_too() {
        assert_eq!(cubes(0.0).rest_height().expect("a height"), 2.0);
        assert_eq!(cubes(1.0).rest_height().expect("a height"), 4.0);
        let extent = cubes(0.0).extent().expect("an extent");
        assert_eq!((extent.sizes, extent.up(), extent.longest()), ([1.0, 2.0, 1.0], 1, 1));
    }

    /// Tests a bone of length 170 that lies along X with zero rotation; the first frame turns it to Y or to
    /// Z.
    #[test]
    fn motion_is_as_high_as_its_first_frame() {
        let half = std::f32::consts::FRAC_1_SQRT_2;
        let bone = Transform { translation: [170.0, 0.0, 0.0], ..Transform::IDENTITY };
        let joints = [Joint::new("hips", None, Transform::IDENTITY), Joint::new("head", Some(0), bone)];
        let skeleton = Skeleton::new(joints).expect("two joints");
        for (turn, up) in
            [([0.0, 0.0, half, half], 1), ([0.0, -half, 0.0, half], 2), ([0.0, 0.0, 0.0, 1.0], 0)]
        {
            let values = [turn, [0.0, 0.0, 0.0, 1.0]].concat();
            let track = Track {
                target: Target::Rotation(0),
                interpolation: Interpolation::Linear,
                timeline: 0,
                values,
            };
            let clip = RawClip::new("stand".into(), vec![vec![0.0, 1.0]], vec![track]).expect("a clip");
            let asset = Asset::of_motion("m.bvh", &skeleton, vec![clip]).expect("motion");
            let extent = asset.extent().expect("an extent");
            assert_eq!(extent.up(), up);
            assert!((asset.rest_height().expect("a height") - 170.0).abs() < 1e-3, "{extent:?}");
        }
    }

    /// Tests both ends of the range that gives a common unit, and heights outside it.
    #[test]
    fn joints_have_a_usual_unit_where_one_fits() {
        let joints = Extent::of_joints([0.0, 1.0, 0.0]);
        for (units, unit) in
            [(1.45, 1.0), (1.7, 1.0), (146.0, 0.01), (1_600.0, 0.001), (62.0, 0.0254), (5.2, 0.3048)]
        {
            assert_eq!(joints.unit(units, 1.7), unit, "{units}");
        }
        for units in [1.44, 1.72, 143.0, 28.0, 1e-9] {
            assert_eq!(joints.unit(units, 1.7), 1.7 / units, "{units}");
        }
    }

    /// Tests that a T-pose, about as wide as high, and a dog, longer than high, both have Y as height.
    #[test]
    fn the_height_is_along_y_unless_that_is_clearly_too_short() {
        for (sizes, up, longest) in [
            ([180.0, 170.0, 30.0], 1, 0),
            ([30.0, 60.0, 110.0], 1, 2),
            ([160.0, 25.0, 170.0], 2, 2),
            ([180.0, 25.0, 170.0], 2, 0),
            ([170.0, 25.0, 30.0], 0, 0),
            ([0.0, 0.0, 0.0], 1, 1),
        ] {
            let extent = Extent::of_joints(sizes);
            assert_eq!((extent.up(), extent.longest()), (up, longest), "{sizes:?}");
        }
    }
}
