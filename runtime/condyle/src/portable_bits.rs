//! Test that the whole pipeline gives the same bits on every instruction set and platform.

use condyle_base::math::Affine;

use crate::mesh::Vertices;
use crate::model::local_to_model;
use crate::pose::Pose;
use crate::sampling::{self, RawCursor};
use crate::skinning::{NormalRule, Palette, morph, palette, skin};
use crate::testing::{Hash, Random, SIZES, assert_portable, tries};

/// Hashes the output of every stage for seeded characters of every size.
fn run(hash: &mut Hash) {
    for &joints in SIZES.iter().filter(|&&n| n > 0) {
        let mut random = Random(joints as u64);
        let skeleton = random.skeleton(joints);
        let clip = random.clip(joints, 20);
        let bound = random.skin(joints);
        let mesh = random.mesh(3 * joints + 1, joints);
        let (mut pose, mut cursor) = (Pose::identity(joints), RawCursor::default());
        let mut model = std::vec![Affine::IDENTITY; joints];
        let (mut matrices, mut weights) = (Palette::default(), [0.0; 5]);
        let mut morphed = Vertices::zeroed_like(mesh.vertices());
        let mut posed = morphed.clone();
        let frames = tries(40);
        for frame in 0..frames {
            let seconds = frame as f32 * 0.11 - 1.0;
            sampling::raw(&clip, &skeleton, seconds.into(), &mut cursor, &mut pose).expect("sizes agree");
            for t in pose.transforms() {
                hash.add(t.rotation.iter().chain(&t.translation).chain(&t.scale));
            }
            sampling::raw_track(
                &clip,
                crate::clip::Target::Weights(9),
                seconds.into(),
                &mut cursor,
                &mut weights,
            )
            .expect("sizes agree");
            hash.add(&weights);
            local_to_model(&skeleton, &pose, &mut model).expect("sizes agree");
            model.iter().for_each(|m| hash.add(m.rows.as_flattened()));
            morph(&mesh, &weights[..3], morphed.as_slices_mut()).expect("sizes agree");
            for rule in [NormalRule::InverseTranspose, NormalRule::Plain, NormalRule::BlendedInverseTranspose]
            {
                palette(&bound, &model, rule, &mut matrices).expect("sizes agree");
                skin(mesh.influences(), &matrices, morphed.as_slices(), posed.as_slices_mut())
                    .expect("sizes agree");
                hash.add(posed.positions.as_flattened());
                hash.add(posed.normals.as_flattened());
                hash.add(posed.tangents.as_flattened());
            }
        }
    }
}

#[test]
fn the_portable_mode_gives_the_same_bits_on_every_instruction_set_and_platform() {
    assert_portable(0xcea1_f99c_6af0_03ce, run);
}
