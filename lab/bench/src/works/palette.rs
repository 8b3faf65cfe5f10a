//! Model matrices times inverse bind matrices.

use std::rc::Rc;

use condyle::{Affine, NormalRule, Palette, Skin, local_to_model, palette};
use condyle_testing::reference;

use super::{JOINTS, case, worst_matrices};
use crate::data::Random;
use crate::harness::{Case, Subjects};
use crate::peers::{self, Deform};

/// Two matrices are read, four columns written.
pub(super) fn cases() -> Vec<Case> {
    vec![case("palette_67", "structs", JOINTS, 2 * 48 + 64, build)]
}

/// Skin, model matrices and the expected palette.
fn data() -> (Skin, Vec<Affine>, Rc<Vec<reference::Matrix>>) {
    let mut random = Random(4);
    let bound = random.skin(JOINTS);
    let skeleton = random.skeleton(JOINTS);
    let mut model = vec![Affine::IDENTITY; JOINTS];
    local_to_model(&skeleton, &random.pose(JOINTS), &mut model).expect("sizes agree");
    let wide: Vec<_> = model.iter().map(reference::matrix).collect();
    let want = Rc::new(reference::palette(&bound, &wide));
    (bound, model, want)
}

fn build(subjects: &mut Subjects) {
    let (bound, model, want) = data();
    let columns: Vec<_> =
        model.iter().zip(bound.inverse_bind()).map(|(m, b)| [m, b].map(Affine::to_columns)).collect();
    let looked_at = want.clone();
    subjects.kernel(
        "condyle",
        1e-5,
        &Rc::new((bound, model)),
        Palette::default(),
        |(bound, model), out| {
            palette(bound, model, NormalRule::default(), out).expect("sizes agree");
        },
        move |out| {
            worst_matrices(out.matrices().iter().map(|m| Affine::from_columns(&m.columns)), looked_at.iter())
        },
    );
    peer::<peers::plain::Columns>(subjects, &columns, &want);
    #[cfg(feature = "peers")]
    peer::<glam::Mat4>(subjects, &columns, &want);
}

/// Loop for a peer crate: only the products. Condyle also determines whether any joint needs a separate
/// matrix for normals.
fn peer<M: Deform>(subjects: &mut Subjects, columns: &[[[f32; 16]; 2]], want: &Rc<Vec<reference::Matrix>>) {
    let pairs: Vec<[M; 2]> = columns.iter().map(|pair| pair.each_ref().map(M::from_columns)).collect();
    let room: Vec<M> = pairs.iter().map(|pair| pair[0]).collect();
    let want = want.clone();
    subjects.peer(
        M::NAME,
        pairs,
        room,
        |pairs, out| {
            for (out, [model, bind]) in out.iter_mut().zip(pairs) {
                *out = model.times(bind);
            }
        },
        move |out| worst_matrices(out.iter().map(|m| Affine::from_columns(&m.to_columns())), want.iter()),
    );
}
