//! Model matrices of joints from their local transforms.

use alloc::vec::Vec;

use crate::measure::algebra::Affine64;
use crate::measure::joint_facts::JointFacts;
use condyle_base::math::Transform64;

/// Model matrices of all joints, per joint and moment.
pub(crate) fn model_matrices(joints: &[JointFacts], source: &[Vec<Transform64>]) -> Vec<Vec<Affine64>> {
    let mut model: Vec<Vec<Affine64>> = Vec::with_capacity(joints.len());
    for (joint, locals) in joints.iter().zip(source) {
        let parents = joint.parent.map(|parent| model[parent].as_slice());
        model.push(joint_matrices(parents, locals));
    }
    model
}

/// Model matrices of a joint, per moment.
pub(crate) fn joint_matrices(parents: Option<&[Affine64]>, locals: &[Transform64]) -> Vec<Affine64> {
    let local = locals.iter().map(Affine64::local);
    match parents {
        Some(parents) => parents.iter().zip(local).map(|(parent, local)| parent.after(&local)).collect(),
        None => local.collect(),
    }
}
