//! How a call of [`skin`](super::skin) is cut into runs of vertices. Plain code, the same for every instruction set.

use super::kernel::{
    Call, Frames, GROUP, Groups, Normals, RUN, copy_front, finish_normals, finish_tangents, skin_even,
    skin_mixed, turn_hands,
};
use super::rows::Rows;
use crate::Palette;
use crate::mesh::{AtMost, Influences, VertexSlices, VertexSlicesMut};
use crate::simd::dispatch;

/// Skins all vertices. `starts` of the rows, vertices and room for them are of one length but for what is empty.
pub(super) fn skin_all(
    influences: AtMost<'_, Influences>,
    palette: &Palette,
    frames: Frames,
    bind: VertexSlices<'_>,
    posed: VertexSlicesMut<'_>,
) {
    let (influences, most) = influences.parts();
    let (starts, joints, weights) = influences.as_slices();
    let call = Call {
        rows: Rows { joints, weights, most },
        matrices: palette.matrices(),
        normal_matrices: palette.normal_matrices(),
        frames,
    };
    // The last one to eight vertices are copied, as nothing behind them could be read; what is missing follows no joint.
    let last = bind.positions.len().saturating_sub(1) / GROUP * GROUP;
    let mut begins = [joints.len() as u32; GROUP + 1];
    copy_front(&mut begins, &starts[last..]);
    let (mut tail, mut tail_out) = (Tail::default(), Tail::default());
    copy_front(&mut tail.positions, &bind.positions[last..]);
    copy_front(&mut tail.normals, bind.normals.get(last..).unwrap_or(&[]));
    copy_front(&mut tail.tangents, bind.tangents.get(last..).unwrap_or(&[]));

    let VertexSlicesMut { positions, normals, tangents } = posed;
    let whole =
        VertexSlicesMut { positions: &mut *positions, normals: &mut *normals, tangents: &mut *tangents };
    skin_groups(call, &starts[..=last], bind, whole);
    skin_groups(call, &begins, tail.slices(), tail_out.slices_mut());
    copy_front(&mut positions[last..], &tail_out.positions);
    if frames.normals != Normals::None {
        copy_front(&mut normals[last..], &tail_out.normals);
    }
    if frames.tangents {
        copy_front(&mut tangents[last..], &tail_out.tangents);
    }
}

/// Skins whole groups, behind which one more vertex is.
fn skin_groups(call: Call<'_>, starts: &[u32], bind: VertexSlices<'_>, posed: VertexSlicesMut<'_>) {
    let (groups, frames) = (starts.len() / GROUP, call.frames);
    let (with_normals, with_tangents) = (frames.normals != Normals::None, frames.tangents);
    let common = |group: usize| common_count(call, &starts[group * GROUP..]);
    let mut turned = [[[[0.0; 8]; 2]; GROUP / 2]; RUN / GROUP];
    let mut group = 0;
    while group < groups {
        let (first, count) = (group, common(group));
        group += 1;
        while group < groups && group - first < RUN / GROUP && common(group) == count {
            group += 1;
        }
        let (begin, end) = (first * GROUP, group * GROUP);
        let (starts, positions) = (&starts[begin..=end], &bind.positions[begin..=end]);
        // What is not asked for is turned as well, in the place of a question in each step, and left there.
        let normals = if with_normals { &bind.normals[begin..=end] } else { positions };
        let tangents = if with_tangents { &bind.tangents[begin..end] } else { &NO_TANGENTS };
        let to = &mut posed.positions[begin..=end];
        skin_run(
            call,
            count,
            starts,
            Groups { positions, normals, tangents, posed: to, turned: &mut turned },
        );
        if with_normals {
            let to = &mut posed.normals[begin..=end];
            dispatch!(|s, mode| finish_normals(s, mode, &turned, to));
        }
        if with_tangents {
            let to = &mut posed.tangents[begin..end];
            dispatch!(|s, mode| finish_tangents(s, mode, &turned, tangents, to));
            if frames.mirrors {
                dispatch!(|s, mode| turn_hands(s, mode, call, starts, to));
            }
        }
    }
}

static NO_TANGENTS: [[f32; 4]; RUN] = [[0.0; 4]; RUN];

/// How many influences each vertex of the first group has, if all have as many and there is a kernel for them; else 0.
fn common_count(call: Call<'_>, starts: &[u32]) -> u32 {
    let starts = &starts[..=GROUP];
    let count = starts[1].wrapping_sub(starts[0]);
    let mut differ = 0;
    for ends in starts.windows(2) {
        differ |= ends[1].wrapping_sub(ends[0]) ^ count;
    }
    let plain = matches!(call.frames.normals, Normals::None | Normals::Blended);
    let even = plain && differ == 0 && count <= call.rows.most && matches!(count, 1..=4);
    if even { count } else { 0 }
}

/// By the kernel for vertices of `count` influences each.
fn skin_run(call: Call<'_>, count: u32, starts: &[u32], groups: Groups<'_>) {
    let with_frames = call.frames.normals != Normals::None || call.frames.tangents;
    match (count, with_frames) {
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
}

/// The last vertices, padded to a group and the one behind it.
#[derive(Default)]
struct Tail {
    positions: [[f32; 3]; GROUP + 1],
    normals: [[f32; 3]; GROUP + 1],
    tangents: [[f32; 4]; GROUP],
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
