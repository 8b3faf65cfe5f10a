//! The body of a person, and its poses.

use std::fmt;

use condyle::mesh::{VertexSlices, VertexSlicesMut};
use condyle::{
    Affine, Error, Joint, NormalRule, Palette, Pose, Skeleton, Skin, Transform, local_to_model, palette, skin,
};
use ndarray::{ArrayView2, ArrayViewMut1, ArrayViewMut2, linalg::general_mat_mul};

use crate::model::BodyModel;
use crate::names;

/// The body of a person: a model with shape parameters.
#[derive(Clone)]
pub struct ShapedBody {
    model: BodyModel,
    positions: Vec<[f32; 3]>,
    skeleton: Skeleton,
    skin: Skin,
    unused_betas: usize,
}

/// Prints the sizes, not the numbers.
impl fmt::Debug for ShapedBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ShapedBody").field(&self.model).finish()
    }
}

/// Memory that [`ShapedBody::vertices`] reuses between calls.
#[derive(Debug, Clone, Default)]
pub struct Workspace {
    model: Vec<Affine>,
    palette: Palette,
    /// Rotation matrices of the poses minus the identity.
    features: Vec<f32>,
    /// Vertices with the pose correctives.
    corrected: Vec<f32>,
}

/// Number of poses whose correctives one matrix product computes; their results fit into the L2 cache.
const BATCH: usize = 32;
/// Below this number of poses, the correctives of each pose are summed row by row. A matrix product would
/// first copy the rows.
const FEW: usize = 4;

impl BodyModel {
    /// Returns the body of a person.
    ///
    /// `betas` are the first shape parameters; missing ones are 0. Parameters beyond
    /// [`shape_count`](Self::shape_count) are ignored, because AMASS has 16 of them for models with 10 too.
    /// [`ShapedBody::unused_betas`] returns the number of ignored ones.
    ///
    /// # Errors
    /// [`Error::NotFinite`](condyle::Error::NotFinite) for a number that is not finite, or if the body is
    /// outside the range of f32.
    pub fn shaped(&self, betas: &[f32]) -> Result<ShapedBody, condyle::Error> {
        ShapedBody::new(self.clone(), betas)
    }
}

impl ShapedBody {
    fn new(model: BodyModel, betas: &[f32]) -> Result<Self, Error> {
        if let Some(at) = betas.iter().position(|beta| !beta.is_finite()) {
            return Err(Error::NotFinite { what: "betas", at });
        }
        let unused_betas = betas.len().saturating_sub(model.shape_count());
        let data = &*model.0;
        let mut shaped = data.template.clone();
        for (beta, dirs) in betas.iter().zip(&data.shape_dirs) {
            for (vertex, dir) in shaped.iter_mut().zip(dirs) {
                (0..3).for_each(|c| vertex[c] += f64::from(*beta) * f64::from(dir[c]));
            }
        }
        let joint = |row: &Vec<(u32, f64)>| {
            [0, 1, 2]
                .map(|c| row.iter().map(|(vertex, weight)| weight * shaped[*vertex as usize][c]).sum::<f64>())
        };
        let places: Vec<[f64; 3]> = data.regressor.iter().map(joint).collect();
        let positions: Vec<[f32; 3]> = shaped.iter().map(|vertex| vertex.map(|v| v as f32)).collect();
        if let Some(at) = positions.iter().position(|vertex| !vertex.iter().all(|v| v.is_finite())) {
            return Err(Error::NotFinite { what: "vertices", at });
        }
        let names = names::of_model(places.len());
        let joints = names.into_iter().zip(&data.parents).zip(&places).map(|((name, parent), place)| {
            let above = parent.map_or([0.0; 3], |parent| places[usize::from(parent)]);
            let translation = [0, 1, 2].map(|c| (place[c] - above[c]) as f32);
            Joint::new(name, *parent, Transform { translation, ..Transform::IDENTITY })
        });
        let skeleton = Skeleton::new(joints)?;
        let back = |place: &[f64; 3]| {
            Transform { translation: place.map(|v| -v as f32), ..Transform::IDENTITY }.into()
        };
        let inverse_bind = places.iter().map(back).collect();
        let skin = Skin::new((0..places.len() as u16).collect(), inverse_bind)?;
        Ok(Self { model, positions, skeleton, skin, unused_betas })
    }

    /// Returns the body model.
    #[must_use]
    pub fn model(&self) -> &BodyModel {
        &self.model
    }

    /// Number of the given shape parameters that the model lacks; 0 if the model has all of them.
    #[must_use]
    pub fn unused_betas(&self) -> usize {
        self.unused_betas
    }

    /// Returns the vertex positions in the rest pose, in metres.
    #[must_use]
    pub fn positions(&self) -> &[[f32; 3]] {
        &self.positions
    }

    /// Number of vertices.
    #[must_use]
    pub fn vertex_count(&self) -> usize {
        self.positions.len()
    }

    /// Returns the skeleton; its rest pose has positions and no rotations.
    #[must_use]
    pub fn skeleton(&self) -> &Skeleton {
        &self.skeleton
    }

    /// Returns the skin, which has the inverse bind matrices of the joints.
    #[must_use]
    pub fn skin(&self) -> &Skin {
        &self.skin
    }

    /// Computes the vertex positions in each pose, in metres.
    ///
    /// `out` holds the vertices of the first pose, then those of the second, and so on. A batch costs less
    /// per pose than single poses, because the correctives of a batch are one matrix product. `ndarray`
    /// computes it; its last bits depend on the CPU, and it allocates packing buffers. There are no other
    /// allocations after the first batch of the same size.
    ///
    /// # Errors
    /// [`Error::Length`] if `out` has the wrong number of vertices, or a pose the wrong number of joints.
    pub fn vertices(
        &self,
        poses: &[Pose],
        workspace: &mut Workspace,
        out: &mut [[f32; 3]],
    ) -> Result<(), Error> {
        let (found, needed) = (out.len(), poses.len() * self.vertex_count());
        if found != needed {
            return Err(Error::Length { what: "out", found, needed });
        }
        let joints = self.skeleton.joint_count();
        if let Some(pose) = poses.iter().find(|pose| pose.joint_count() != joints) {
            return Err(Error::Length { what: "pose", found: pose.joint_count(), needed: joints });
        }
        let count = self.vertex_count().max(1);
        for (poses, out) in poses.chunks(BATCH).zip(out.chunks_mut(BATCH * count)) {
            self.correct(poses, workspace);
            for (at, (pose, out)) in poses.iter().zip(out.chunks_mut(count)).enumerate() {
                let corrected = if self.model.has_correctives() {
                    workspace.corrected[at * 3 * count..][..3 * count].as_chunks().0
                } else {
                    &self.positions
                };
                workspace.model.resize(joints, Affine::IDENTITY);
                local_to_model(&self.skeleton, pose, &mut workspace.model)?;
                palette(&self.skin, &workspace.model, NormalRule::Plain, &mut workspace.palette)?;
                let bind = VertexSlices { positions: corrected, normals: &[], tangents: &[] };
                let out = VertexSlicesMut { positions: out, normals: &mut [], tangents: &mut [] };
                skin(&self.model.0.influences, &workspace.palette, bind, out)?;
            }
        }
        Ok(())
    }

    /// Computes the vertices of the rest pose plus the pose correctives of each pose.
    fn correct(&self, poses: &[Pose], workspace: &mut Workspace) {
        if !self.model.has_correctives() {
            return;
        }
        let Workspace { features, corrected, .. } = workspace;
        features.clear();
        corrected.clear();
        for pose in poses {
            corrected.extend_from_slice(self.positions.as_flattened());
            for joint in 1..self.skeleton.joint_count() {
                let turn = Transform { rotation: pose.get(joint).rotation, ..Transform::IDENTITY };
                let rows = Affine::from(turn).rows;
                features.extend((0..9).map(|at| rows[at / 3][at % 3] - f32::from(u8::from(at % 4 == 0))));
            }
        }
        let (coordinates, entries) = (3 * self.vertex_count(), 9 * (self.skeleton.joint_count() - 1));
        let Ok(dirs) = ArrayView2::from_shape((entries, coordinates), &self.model.0.pose_dirs) else {
            return;
        };
        if poses.len() < FEW {
            for (features, corrected) in
                features.chunks(entries.max(1)).zip(corrected.chunks_mut(coordinates.max(1)))
            {
                let mut corrected = ArrayViewMut1::from(corrected);
                features.iter().zip(dirs.rows()).for_each(|(by, row)| corrected.scaled_add(*by, &row));
            }
            return;
        }
        let features = ArrayView2::from_shape((poses.len(), entries), features);
        let corrected = ArrayViewMut2::from_shape((poses.len(), coordinates), corrected);
        if let (Ok(features), Ok(mut corrected)) = (features, corrected) {
            general_mat_mul(1.0, &features, &dirs, 1.0, &mut corrected);
        }
    }
}
