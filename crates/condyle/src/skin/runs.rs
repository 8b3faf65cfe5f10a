//! How a call of [`skin`](super::skin) is cut into runs of vertices that use the same kernel.
//!
//! Plain code, compiled once: the kernels are then little more than their loop, which has all registers to
//! itself.

use super::kernel::{
    BATCH_VERTICES, Call, Frames, GROUP_VERTICES, Groups, Normals, Turned, copy_front, finish_normals,
    finish_tangents, skin_even, skin_mixed, turn_hands,
};
use super::palette::Palette;
use super::rows::Rows;
use crate::mesh::{AtMost, Influences, VertexSlices, VertexSlicesMut};
use crate::simd::dispatch;

/// Skins all vertices. The caller has checked that all arrays are long enough for `frames`.
pub(super) fn skin_all(
    influences: AtMost<'_, Influences>,
    palette: &Palette,
    frames: Frames,
    bind: VertexSlices<'_>,
    posed: VertexSlicesMut<'_>,
) {
    let (influences, max_influences) = influences.parts();
    let (starts, joints, weights) = influences.as_slices();
    let call = Call {
        rows: Rows { joints, weights, max_influences },
        matrices: palette.matrices(),
        normal_matrices: palette.normal_matrices(),
        frames,
    };
    // The last one to eight vertices are copied to a padded buffer, as kernels read one number past each
    // vector. The padding has no influences.
    let last = bind.positions.len().saturating_sub(1) / GROUP_VERTICES * GROUP_VERTICES;
    let mut begins = [joints.len() as u32; GROUP_VERTICES + 1];
    copy_front(&mut begins, &starts[last..]);
    let (mut tail, mut tail_out) = (Tail::default(), Tail::default());
    copy_front(&mut tail.positions, &bind.positions[last..]);
    copy_front(&mut tail.normals, bind.normals.get(last..).unwrap_or(&[]));
    copy_front(&mut tail.tangents, bind.tangents.get(last..).unwrap_or(&[]));

    let VertexSlicesMut { positions, normals, tangents } = posed;
    let whole =
        VertexSlicesMut { positions: &mut *positions, normals: &mut *normals, tangents: &mut *tangents };
    let mut buffer: [Turned; BATCH_VERTICES / GROUP_VERTICES];
    let turned: &mut [Turned] = if frames.any() {
        buffer = [[[[0.0; 8]; 2]; GROUP_VERTICES / 2]; BATCH_VERTICES / GROUP_VERTICES];
        &mut buffer
    } else {
        &mut []
    };
    skin_groups(call, &starts[..=last], bind, whole, turned);
    skin_groups(call, &begins, tail.slices(), tail_out.slices_mut(), turned);
    copy_front(&mut positions[last..], &tail_out.positions);
    if frames.normals != Normals::None {
        copy_front(&mut normals[last..], &tail_out.normals);
    }
    if frames.tangents {
        copy_front(&mut tangents[last..], &tail_out.tangents);
    }
}

/// Skins whole groups. One more vertex must follow the last group.
fn skin_groups(
    call: Call<'_>,
    starts: &[u32],
    bind: VertexSlices<'_>,
    posed: VertexSlicesMut<'_>,
    turned: &mut [Turned],
) {
    let frames = call.frames;
    let (with_normals, with_tangents) = (frames.normals != Normals::None, frames.tangents);
    let common = |begin: usize| common_count(call, &starts[begin..]);
    let count = starts.len() - 1;
    for first in (0..count).step_by(BATCH_VERTICES) {
        let last = count.min(first + BATCH_VERTICES);
        let mut begin = first;
        while begin < last {
            let (influences, mut end) = (common(begin), begin + GROUP_VERTICES);
            while end < last && common(end) == influences {
                end += GROUP_VERTICES;
            }
            let positions = &bind.positions[begin..=end];
            // A direction that is not asked for is computed too, from whatever is there, and never written
            // out: cheaper than a branch in each step.
            let groups = Groups {
                positions,
                normals: if with_normals { &bind.normals[begin..=end] } else { positions },
                tangents: if with_tangents { &bind.tangents[begin..end] } else { &NO_TANGENTS },
                posed: &mut posed.positions[begin..=end],
                turned: turned.get_mut((begin - first) / GROUP_VERTICES..).unwrap_or(&mut []),
            };
            skin_run(call, influences, &starts[begin..=end], groups);
            begin = end;
        }
        if with_normals {
            let to = &mut posed.normals[first..=last];
            dispatch!(|s, mode| finish_normals(s, mode, turned, to));
        }
        if with_tangents {
            let (bind, to) = (&bind.tangents[first..last], &mut posed.tangents[first..last]);
            dispatch!(|s, mode| finish_tangents(s, mode, turned, bind, to));
            if frames.mirrors {
                let starts = &starts[first..=last];
                let done = dispatch!(|s, mode| turn_hands(s, mode, call, starts, to));
                debug_assert!(done.is_some(), "all that the influences name was found to be there");
            }
        }
    }
}

/// Read in place of tangents where none are asked for.
static NO_TANGENTS: [[f32; 4]; BATCH_VERTICES] = [[0.0; 4]; BATCH_VERTICES];

/// The number of influences that all vertices of the first group have, if there is a kernel for that number;
/// else 0.
fn common_count(call: Call<'_>, starts: &[u32]) -> u32 {
    let starts = &starts[..=GROUP_VERTICES];
    let count = starts[1].wrapping_sub(starts[0]);
    let mut differ = 0;
    for ends in starts.windows(2) {
        differ |= ends[1].wrapping_sub(ends[0]) ^ count;
    }
    let plain = matches!(call.frames.normals, Normals::None | Normals::Blended);
    let even = plain && differ == 0 && count <= call.rows.max_influences && matches!(count, 1..=4);
    if even { count } else { 0 }
}

/// Runs the kernel for vertices of `count` influences each, or for 0 the one for any vertices.
fn skin_run(call: Call<'_>, count: u32, starts: &[u32], groups: Groups<'_>) {
    let done = match (count, call.frames.any()) {
        (1, false) => dispatch!(|s, mode| skin_even::<_, _, false, 1>(s, mode, call, starts, groups)),
        (2, false) => dispatch!(|s, mode| skin_even::<_, _, false, 2>(s, mode, call, starts, groups)),
        (3, false) => dispatch!(|s, mode| skin_even::<_, _, false, 3>(s, mode, call, starts, groups)),
        (4, false) => dispatch!(|s, mode| skin_even::<_, _, false, 4>(s, mode, call, starts, groups)),
        (_, false) => dispatch!(|s, mode| skin_mixed::<_, _, false>(s, mode, call, starts, groups)),
        (1, true) => dispatch!(|s, mode| skin_even::<_, _, true, 1>(s, mode, call, starts, groups)),
        (2, true) => dispatch!(|s, mode| skin_even::<_, _, true, 2>(s, mode, call, starts, groups)),
        (3, true) => dispatch!(|s, mode| skin_even::<_, _, true, 3>(s, mode, call, starts, groups)),
        (4, true) => dispatch!(|s, mode| skin_even::<_, _, true, 4>(s, mode, call, starts, groups)),
        (_, true) => dispatch!(|s, mode| skin_mixed::<_, _, true>(s, mode, call, starts, groups)),
    };
    debug_assert!(done.is_some(), "all that the influences name was found to be there");
}

/// The last vertices, padded to a whole group and one more.
#[derive(Default)]
struct Tail {
    positions: [[f32; 3]; GROUP_VERTICES + 1],
    normals: [[f32; 3]; GROUP_VERTICES + 1],
    tangents: [[f32; 4]; GROUP_VERTICES],
}

impl Tail {
    fn slices(&self) -> VertexSlices<'_> {
        VertexSlices { positions: &self.positions, normals: &self.normals, tangents: &self.tangents }
    }

    fn slices_mut(&mut self) -> VertexSlicesMut<'_> {
        VertexSlicesMut {
            positions: &mut self.positions,
            normals: &mut self.normals,
            tangents: &mut self.tangents,
        }
    }
}
