//! Splits a call of [`skin`](super::skin) into runs of vertices that use the same kernel.
//!
//! This code is not generic and is compiled once. The kernels are then little more than their loop, which can
//! use all registers.

use core::ops::Range;

use super::call::{Call, DualCall, Frames, InfluenceRows, Normals};
use super::dual::kernel::skin_dual;
use super::few::skin_few;
use super::kernel::{BATCH_VERTICES, Groups, Turned, finish_normals, finish_tangents, skin_even, skin_mixed};
use super::packed::copy_front;
use super::palette::Palette;
use super::rows::Rows;
use crate::mesh::{AtMost, GROUP_VERTICES, Influences, VertexSlices, VertexSlicesMut};
use condyle_base::simd::{dispatch, dispatch_512};

/// Returns the values that all runs of a call share. `first` is the first vertex.
fn call<'a>(
    influences: AtMost<'a, Influences>,
    palette: &'a Palette,
    frames: Frames,
    first: usize,
) -> Call<'a> {
    let (influences, max_influences) = influences.parts();
    let (joints, weights) = influences.with_padding();
    let rows = Rows { joints, weights, max_influences };
    let shares = influences.dual_shares().get(first..).unwrap_or(&[]);
    Call {
        rows,
        matrices: palette.matrices(),
        normal_matrices: palette.normal_matrices(),
        frames,
        dual: (!palette.dual.quats.is_empty()).then(|| DualCall::new(rows, &palette.dual, frames, shares)),
    }
}

/// [`skin_range`] for whole groups. Each array holds one more vertex, which may be overwritten.
pub(super) fn skin_whole_groups(
    influences: AtMost<'_, Influences>,
    palette: &Palette,
    frames: Frames,
    vertices: Range<usize>,
    bind: VertexSlices<'_>,
    posed: VertexSlicesMut<'_>,
) -> Option<()> {
    let call = &call(influences, palette, frames, vertices.start);
    let all = influences.parts().0;
    let groups = vertices.start / GROUP_VERTICES..vertices.end / GROUP_VERTICES;
    let starts = &all.as_slices().0[vertices.start..=vertices.end];
    let mut turned = [[[[0.0; 8]; 3]; GROUP_VERTICES / 2]; BATCH_VERTICES / GROUP_VERTICES];
    let rows = InfluenceRows { groups: &all.groups()[groups], starts };
    skin_groups(call, rows, vertices.len(), bind, posed, &mut turned)
}

/// Skins some vertices, from a multiple of [`GROUP_VERTICES`] on. The caller has checked that all arrays are
/// long enough for `frames`. The vertex arrays hold exactly these vertices.
pub(super) fn skin_range(
    influences: AtMost<'_, Influences>,
    palette: &Palette,
    frames: Frames,
    vertices: Range<usize>,
    bind: VertexSlices<'_>,
    mut posed: VertexSlicesMut<'_>,
) -> Option<()> {
    let call = &call(influences, palette, frames, vertices.start);
    let influences = influences.parts().0;
    let groups = &influences.groups()[vertices.start / GROUP_VERTICES..];
    let starts = &influences.as_slices().0[vertices.start..=vertices.end];
    let rows = InfluenceRows { groups, starts };
    // Kernels for groups read and write one number past each vector, so the last one to eight vertices are
    // not among them.
    let last = bind.positions.len().saturating_sub(1) / GROUP_VERTICES * GROUP_VERTICES;
    if last > 0 {
        skin_front(call, rows, last, bind, &mut posed)?;
    }
    if call.dual.is_some() {
        return skin_padded(call, rows, last, bind, posed);
    }
    let bind = VertexSlices {
        positions: &bind.positions[last..],
        normals: bind.normals.get(last..).unwrap_or(&[]),
        tangents: bind.tangents.get(last..).unwrap_or(&[]),
    };
    let posed = &mut VertexSlicesMut {
        positions: &mut posed.positions[last..],
        normals: posed.normals.get_mut(last..).unwrap_or(&mut []),
        tangents: posed.tangents.get_mut(last..).unwrap_or(&mut []),
    };
    dispatch!(|s, mode| skin_few(s, mode, call, &starts[last..], bind, posed))
}

/// Skins the first `count` vertices: whole groups, with at least one vertex after them.
#[inline(never)]
fn skin_front(
    call: &Call<'_>,
    InfluenceRows { groups, starts }: InfluenceRows<'_>,
    count: usize,
    bind: VertexSlices<'_>,
    posed: &mut VertexSlicesMut<'_>,
) -> Option<()> {
    let any_linear = call.dual.is_none_or(|dual| !dual.shares.is_empty());
    let any = any_linear && (call.frames.tangents || call.frames.normals != Normals::None);
    // Clear only what is used: the whole batch takes a fifth of a call of 20 vertices.
    const CLEAR: Turned = [[[0.0; 8]; 3]; GROUP_VERTICES / 2];
    let mut few: [Turned; 4];
    let mut batch: [Turned; BATCH_VERTICES / GROUP_VERTICES];
    let turned: &mut [Turned] = match (any, count / GROUP_VERTICES) {
        (false, _) => &mut [],
        (true, ..=4) => {
            few = [CLEAR; 4];
            &mut few
        }
        (true, _) => {
            batch = [CLEAR; BATCH_VERTICES / GROUP_VERTICES];
            &mut batch
        }
    };
    let whole = VertexSlicesMut {
        positions: &mut *posed.positions,
        normals: &mut *posed.normals,
        tangents: &mut *posed.tangents,
    };
    let rows = InfluenceRows { groups: &groups[..count / GROUP_VERTICES], starts: &starts[..=count] };
    skin_groups(call, rows, count, bind, whole, turned)
}

/// Skins the vertices from `last` on, at most a group, by dual quaternions. Copies them to padded arrays.
#[inline(never)]
fn skin_padded(
    call: &Call<'_>,
    InfluenceRows { groups, starts }: InfluenceRows<'_>,
    last: usize,
    bind: VertexSlices<'_>,
    posed: VertexSlicesMut<'_>,
) -> Option<()> {
    let frames = call.frames;
    let mut begins = [starts[starts.len() - 1]; GROUP_VERTICES + 1];
    copy_front(&mut begins, &starts[last..]);
    let (mut tail, mut tail_out) = (Tail::ONES, Tail::ONES);
    copy_front(&mut tail.positions, &bind.positions[last..]);
    copy_front(&mut tail.normals, bind.normals.get(last..).unwrap_or(&[]));
    copy_front(&mut tail.tangents, bind.tangents.get(last..).unwrap_or(&[]));
    let tail_groups = &groups[last / GROUP_VERTICES..];
    // The buffer is filled with ones, because zero vectors take longer to normalise.
    let mut turned = [[[[1.0; 8]; 3]; GROUP_VERTICES / 2]];
    skin_groups(
        &Call { dual: call.dual.map(|dual| dual.after(last)), ..*call },
        InfluenceRows { groups: &tail_groups[..tail_groups.len().min(1)], starts: &begins },
        starts.len() - 1 - last,
        tail.slices(),
        tail_out.slices_mut(),
        &mut turned,
    )?;
    copy_front(&mut posed.positions[last..], &tail_out.positions);
    if frames.normals != Normals::None {
        copy_front(&mut posed.normals[last..], &tail_out.normals);
    }
    if frames.tangents {
        copy_front(&mut posed.tangents[last..], &tail_out.tangents);
    }
    Some(())
}

/// Skins `count` vertices in padded groups. One more vertex must follow the last group.
fn skin_groups(
    call: &Call<'_>,
    rows: InfluenceRows<'_>,
    count: usize,
    bind: VertexSlices<'_>,
    mut posed: VertexSlicesMut<'_>,
    turned: &mut [Turned],
) -> Option<()> {
    let InfluenceRows { groups, starts } = rows;
    for first in (0..groups.len() * GROUP_VERTICES).step_by(BATCH_VERTICES) {
        let last = (groups.len() * GROUP_VERTICES).min(first + BATCH_VERTICES);
        let dual = call.dual.map(|dual| dual.after(first));
        if dual.is_none_or(|dual| !dual.is_whole(last - first)) {
            skin_batch(call, rows, first..last, count, bind, &mut posed, turned)?;
        }
        if let Some(dual) = dual {
            let rows = InfluenceRows {
                groups: &groups[first / GROUP_VERTICES..last / GROUP_VERTICES],
                starts: &starts[first..=last],
            };
            skin_dual_batch(&dual, rows, first..last, bind, &mut posed)?;
        }
    }
    Some(())
}

/// Skins a batch of groups by dual quaternions, and mixes the result with that of matrices by share.
fn skin_dual_batch(
    call: &DualCall<'_>,
    rows: InfluenceRows<'_>,
    vertices: Range<usize>,
    bind: VertexSlices<'_>,
    posed: &mut VertexSlicesMut<'_>,
) -> Option<()> {
    let Range { start: first, end: last } = vertices;
    let part = |is_there: bool, end: usize| if is_there { first..end } else { 0..0 };
    let [normals, tangents] =
        [part(call.frames.normals != Normals::None, last + 1), part(call.frames.tangents, last)];
    let bind = VertexSlices {
        positions: &bind.positions[first..=last],
        normals: &bind.normals[normals.clone()],
        tangents: &bind.tangents[tangents.clone()],
    };
    let posed = &mut VertexSlicesMut {
        positions: &mut posed.positions[first..=last],
        normals: &mut posed.normals[normals],
        tangents: &mut posed.tangents[tangents],
    };
    if call.is_stretched() {
        dispatch!(|s, mode| skin_dual::<_, _, true>(s, mode, call, rows, bind, posed))
    } else {
        dispatch!(|s, mode| skin_dual::<_, _, false>(s, mode, call, rows, bind, posed))
    }
}

/// Skins a batch of groups by matrices.
fn skin_batch(
    call: &Call<'_>,
    InfluenceRows { groups: rows, starts }: InfluenceRows<'_>,
    vertices: Range<usize>,
    count: usize,
    bind: VertexSlices<'_>,
    posed: &mut VertexSlicesMut<'_>,
    turned: &mut [Turned],
) -> Option<()> {
    let Range { start: first, end: last } = vertices;
    let frames = call.frames;
    let (with_normals, with_tangents) = (frames.normals != Normals::None, frames.tangents);
    let plain = matches!(frames.normals, Normals::None | Normals::Blended);
    let common = |begin: usize| {
        let count = rows[begin / GROUP_VERTICES].count;
        if plain && u32::from(count) <= call.rows.max_influences { count } else { 0 }
    };
    let mut begin = first;
    while begin < last {
        let (influences, mut end) = (common(begin), begin + GROUP_VERTICES);
        while end < last && common(end) == influences {
            end += GROUP_VERTICES;
        }
        let positions = &bind.positions[begin..=end];
        let mut groups = Groups {
            positions,
            normals: match (with_normals, with_tangents) {
                (true, _) => Some(&bind.normals[begin..=end]),
                (false, true) => Some(positions),
                (false, false) => None,
            },
            tangents: if with_tangents { &bind.tangents[begin..end] } else { &[] },
            posed: &mut posed.positions[begin..=end],
            turned: turned.get_mut((begin - first) / GROUP_VERTICES..).unwrap_or(&mut []),
        };
        let rows = &rows[begin / GROUP_VERTICES..end / GROUP_VERTICES];
        let rows = InfluenceRows { groups: rows, starts: &starts[begin..=end] };
        skin_run(call, influences, rows, count.min(end) - begin, &mut groups)?;
        begin = end;
    }
    if with_normals {
        let to = &mut posed.normals[first..=last];
        dispatch_512!(|s, mode| finish_normals(s, mode, turned, to));
    }
    if with_tangents {
        let (bind, to) = (&bind.tangents[first..last], &mut posed.tangents[first..last]);
        let starts = &starts[first..=count.min(last)];
        dispatch_512!(|s, mode| finish_tangents(s, mode, call, starts, turned, bind, to))?;
    }
    Some(())
}

/// Runs the kernel for vertices with `each` influences, or for 0 the kernel for any `count` vertices.
fn skin_run(
    call: &Call<'_>,
    each: u8,
    InfluenceRows { groups: rows, starts }: InfluenceRows<'_>,
    count: usize,
    groups: &mut Groups<'_>,
) -> Option<()> {
    match (each, call.frames.tangents) {
        (1, false) => dispatch_512!(|s, mode| skin_even::<_, _, false, 1>(s, mode, call, rows, groups)),
        (2, false) => dispatch_512!(|s, mode| skin_even::<_, _, false, 2>(s, mode, call, rows, groups)),
        (3, false) => dispatch_512!(|s, mode| skin_even::<_, _, false, 3>(s, mode, call, rows, groups)),
        (4, false) => dispatch_512!(|s, mode| skin_even::<_, _, false, 4>(s, mode, call, rows, groups)),
        (5, false) => dispatch_512!(|s, mode| skin_even::<_, _, false, 5>(s, mode, call, rows, groups)),
        (6, false) => dispatch_512!(|s, mode| skin_even::<_, _, false, 6>(s, mode, call, rows, groups)),
        (7, false) => dispatch_512!(|s, mode| skin_even::<_, _, false, 7>(s, mode, call, rows, groups)),
        (8, false) => dispatch_512!(|s, mode| skin_even::<_, _, false, 8>(s, mode, call, rows, groups)),
        (_, false) if call.frames.normals == Normals::None => {
            dispatch_512!(|s, mode| skin_mixed::<_, _, false, false>(s, mode, call, starts, count, groups))
        }
        (_, false) => {
            dispatch_512!(|s, mode| skin_mixed::<_, _, true, false>(s, mode, call, starts, count, groups))
        }
        (1, true) => dispatch_512!(|s, mode| skin_even::<_, _, true, 1>(s, mode, call, rows, groups)),
        (2, true) => dispatch_512!(|s, mode| skin_even::<_, _, true, 2>(s, mode, call, rows, groups)),
        (3, true) => dispatch_512!(|s, mode| skin_even::<_, _, true, 3>(s, mode, call, rows, groups)),
        (4, true) => dispatch_512!(|s, mode| skin_even::<_, _, true, 4>(s, mode, call, rows, groups)),
        (5, true) => dispatch_512!(|s, mode| skin_even::<_, _, true, 5>(s, mode, call, rows, groups)),
        (6, true) => dispatch_512!(|s, mode| skin_even::<_, _, true, 6>(s, mode, call, rows, groups)),
        (7, true) => dispatch_512!(|s, mode| skin_even::<_, _, true, 7>(s, mode, call, rows, groups)),
        (8, true) => dispatch_512!(|s, mode| skin_even::<_, _, true, 8>(s, mode, call, rows, groups)),
        (_, true) => {
            dispatch_512!(|s, mode| skin_mixed::<_, _, true, true>(s, mode, call, starts, count, groups))
        }
    }
}

/// The last vertices, padded to a whole group plus one vertex.
struct Tail {
    positions: [[f32; 3]; GROUP_VERTICES + 1],
    normals: [[f32; 3]; GROUP_VERTICES + 1],
    tangents: [[f32; 4]; GROUP_VERTICES],
}

impl Tail {
    /// Padding of ones, because zero vectors take longer to normalise.
    const ONES: Self = Self {
        positions: [[1.0; 3]; GROUP_VERTICES + 1],
        normals: [[1.0; 3]; GROUP_VERTICES + 1],
        tangents: [[1.0; 4]; GROUP_VERTICES],
    };

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
