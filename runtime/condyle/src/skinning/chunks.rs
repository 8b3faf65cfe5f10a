//! Skinning of interleaved vertices, which are converted to planes one chunk at a time.

use super::call::{Frames, Normals};
use super::interleaved::{Interleaved, InterleavedMut, VertexLayout};
use super::palette::Palette;
use super::runs::{skin_range, skin_whole_groups};
use super::vertices::{VertexSource, VertexTarget};
use crate::mesh::{AtMost, GROUP_VERTICES, Influences, VertexSlices, VertexSlicesMut};
use condyle_base::error::invariant;

/// Number of vertices in a chunk, so that it stays in the first-level cache.
const CHUNK: usize = 128;
const _: () = assert!(CHUNK.is_multiple_of(GROUP_VERTICES));

/// One vertex more, because kernels read and write past the last one.
const ROOM: usize = CHUNK + 1;

/// Some vertices, with one array per attribute.
struct Planes {
    positions: [[f32; 3]; ROOM],
    normals: [[f32; 3]; ROOM],
    tangents: [[f32; 4]; ROOM],
}

impl Planes {
    const ZERO: Self =
        Self { positions: [[0.0; 3]; ROOM], normals: [[0.0; 3]; ROOM], tangents: [[0.0; 4]; ROOM] };

    fn slices(&self, frames: Frames, count: usize) -> VertexSlices<'_> {
        let [normals, tangents] = counts(frames, count);
        VertexSlices {
            positions: &self.positions[..count],
            normals: &self.normals[..normals],
            tangents: &self.tangents[..tangents],
        }
    }

    fn slices_mut(&mut self, frames: Frames, count: usize) -> VertexSlicesMut<'_> {
        let [normals, tangents] = counts(frames, count);
        VertexSlicesMut {
            positions: &mut self.positions[..count],
            normals: &mut self.normals[..normals],
            tangents: &mut self.tangents[..tangents],
        }
    }

    /// Reads `count` consecutive vertices from `bytes`.
    fn gather(&mut self, bytes: &[u8], layout: &VertexLayout, frames: Frames, count: usize) {
        let [normals, tangents] = counts(frames, count);
        read(bytes, layout.stride, Some(layout.position), &mut self.positions[..count]);
        read(bytes, layout.stride, layout.normal, &mut self.normals[..normals]);
        read(bytes, layout.stride, layout.tangent, &mut self.tangents[..tangents]);
    }

    /// Writes `count` consecutive vertices to `bytes`.
    fn scatter(&self, bytes: &mut [u8], layout: &VertexLayout, frames: Frames, count: usize) {
        let [normals, tangents] = counts(frames, count);
        write(bytes, layout.stride, Some(layout.position), &self.positions[..count]);
        write(bytes, layout.stride, layout.normal, &self.normals[..normals]);
        write(bytes, layout.stride, layout.tangent, &self.tangents[..tangents]);
    }
}

/// Returns the numbers of normals and tangents for `count` vertices.
fn counts(frames: Frames, count: usize) -> [usize; 2] {
    [frames.normals != Normals::None, frames.tangents].map(|there_are| if there_are { count } else { 0 })
}

/// Reads one attribute of vertices that are `stride` bytes apart.
#[inline(always)]
fn read<const N: usize>(bytes: &[u8], stride: usize, offset: Option<usize>, to: &mut [[f32; N]]) {
    let Some(bytes) = offset.and_then(|offset| bytes.get(offset..)) else { return };
    for (to, vertex) in to.iter_mut().zip(bytes.chunks(stride.max(1))) {
        // Convert the numbers as one array, which compiles to one or two moves.
        let numbers = vertex.as_chunks::<4>().0.first_chunk::<N>();
        invariant!(numbers.is_some(), "the layout was validated");
        *to = numbers.map_or([0.0; N], |numbers| numbers.map(f32::from_ne_bytes));
    }
}

/// Writes one attribute of vertices that are `stride` bytes apart.
#[inline(always)]
fn write<const N: usize>(bytes: &mut [u8], stride: usize, offset: Option<usize>, from: &[[f32; N]]) {
    let Some(bytes) = offset.and_then(|offset| bytes.get_mut(offset..)) else { return };
    for (from, vertex) in from.iter().zip(bytes.chunks_mut(stride.max(1))) {
        let numbers = vertex.as_chunks_mut::<4>().0.first_chunk_mut::<N>();
        invariant!(numbers.is_some(), "the layout was validated");
        if let Some(numbers) = numbers {
            *numbers = from.map(f32::to_ne_bytes);
        }
    }
}

/// Skins all vertices, a chunk at a time, if the input or the output is interleaved. The caller has checked
/// the vertex counts and that the attributes in `frames` exist.
///
/// Not inlined, so that a call with planes needs no stack space for chunks.
#[inline(never)]
pub(super) fn skin_chunks(
    influences: AtMost<'_, Influences>,
    palette: &Palette,
    frames: Frames,
    bind: VertexSource<'_>,
    mut posed: VertexTarget<'_>,
) -> Option<()> {
    let count = influences.parts().0.vertex_count();
    // Only an interleaved side needs a buffer to clear.
    let (mut from, mut to) = (None, None);
    for first in (0..count).step_by(CHUNK) {
        let end = count.min(first + CHUNK);
        let own = end - first;
        // All chunks except the last are whole groups, and another vertex follows them.
        let has_more = end < count;
        let room = own + usize::from(has_more);
        let [normals, tangents] = counts(frames, room);
        let bind = match &bind {
            VertexSource::Planes(planes) => VertexSlices {
                positions: &planes.positions[first..first + room],
                normals: planes.normals.get(first..first + normals).unwrap_or_default(),
                tangents: planes.tangents.get(first..first + tangents).unwrap_or_default(),
            },
            VertexSource::Interleaved(Interleaved { bytes, layout }) => {
                let from = from.get_or_insert(Planes::ZERO);
                from.gather(bytes.get(layout.stride * first..).unwrap_or_default(), layout, frames, own);
                from.slices(frames, room)
            }
        };
        let target = match &mut posed {
            VertexTarget::Planes(planes) => VertexSlicesMut {
                positions: &mut planes.positions[first..first + room],
                normals: planes.normals.get_mut(first..first + normals).unwrap_or_default(),
                tangents: planes.tangents.get_mut(first..first + tangents).unwrap_or_default(),
            },
            VertexTarget::Interleaved(_) => to.get_or_insert(Planes::ZERO).slices_mut(frames, room),
        };
        let skin = if has_more { skin_whole_groups } else { skin_range };
        skin(influences, palette, frames, first..end, bind, target)?;
        if let (VertexTarget::Interleaved(InterleavedMut { bytes, layout }), Some(to)) = (&mut posed, &to) {
            to.scatter(bytes.get_mut(layout.stride * first..).unwrap_or_default(), layout, frames, own);
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::{Skin, Vertices};
    use crate::skinning::{NormalRule, palette, palette_dual, skin};
    use crate::testing::{Random, SIZES};
    use condyle_base::error::Error;
    use condyle_base::math::Affine;
    use condyle_base::simd::Dispatch;
    use std::{vec, vec::Vec};

    /// Value of the bytes between attributes and after the last vertex.
    const FILLING: u8 = 0xA5;

    fn matrices(random: &mut Random, joints: usize, rule: NormalRule, dual: bool) -> Palette {
        let all = (0..joints as u16).collect();
        let bound = Skin::new(all, vec![Affine::IDENTITY; joints]).expect("one each");
        let model: Vec<Affine> = (0..joints).map(|_| random.transform().into()).collect();
        let mut out = Palette::default();
        let made = if dual { palette_dual } else { palette }(&bound, &model, rule, &mut out);
        made.expect("sizes agree");
        out
    }

    fn interleave(vertices: &Vertices, layout: &VertexLayout) -> Vec<u8> {
        let count = vertices.positions.len();
        let mut bytes = vec![FILLING; layout.size_of(count) + 3];
        let mut put = |at: usize, numbers: &[f32]| {
            for (c, number) in numbers.iter().enumerate() {
                bytes[at + 4 * c..][..4].copy_from_slice(&number.to_ne_bytes());
            }
        };
        for v in 0..count {
            put(layout.stride * v + layout.position, &vertices.positions[v]);
            layout.normal.into_iter().for_each(|at| put(layout.stride * v + at, &vertices.normals[v]));
            layout.tangent.into_iter().for_each(|at| put(layout.stride * v + at, &vertices.tangents[v]));
        }
        bytes
    }

    /// Every vertex layout gives the same bits as planes, and bytes outside the attributes stay unchanged.
    #[test]
    fn all_ways_to_store_vertices_are_the_same() {
        let layouts = [
            VertexLayout { stride: 12, position: 0, normal: None, tangent: None },
            VertexLayout { stride: 32, position: 0, normal: Some(12), tangent: None },
            VertexLayout { stride: 61, position: 29, normal: Some(1), tangent: Some(45) },
            VertexLayout { stride: 40, position: 28, normal: None, tangent: Some(4) },
        ];
        let sizes = SIZES.iter().copied().chain(if cfg!(miri) { vec![] } else { vec![127, 128, 129, 300] });
        for vertices in sizes {
            let mut random = Random(vertices as u64);
            let mesh = random.mesh(vertices, 20);
            let rule = [NormalRule::InverseTranspose, NormalRule::Plain][vertices % 2];
            let both_ways = [matrices(&mut random, 20, rule, false), matrices(&mut random, 20, rule, true)];
            let shares = (0..vertices).map(|v| [1.0, 0.5, 0.0][v % 3]).collect();
            let mixed = mesh.influences().clone().with_dual_shares(shares).expect("from 0 to 1");
            let influences = if vertices % 4 < 2 { mesh.influences() } else { &mixed };
            let bind = mesh.vertices();
            let cases = layouts.iter().zip(both_ways.iter().cycle().skip(vertices % 2));
            let cases = cases.flat_map(|both| Dispatch::all().map(move |dispatch| (both, dispatch)));
            for ((&layout, matrices), dispatch) in cases {
                let dual = !matrices.dual_quats().is_empty();
                let case = format_args!("{dispatch}, {vertices} vertices, dual {dual}, {layout:?}");
                let kept = influences.at_most(if vertices % 3 == 0 { 2 } else { 8 });
                let planes = |with: VertexLayout| {
                    let mut bind = bind.clone();
                    with.normal.is_none().then(|| bind.normals.clear());
                    with.tangent.is_none().then(|| bind.tangents.clear());
                    bind
                };
                let bind = planes(layout);
                let bytes = interleave(&bind, &layout);
                let mut want = Vertices::zeroed_like(&bind);
                let (mut from_bytes, mut to_bytes) = (want.clone(), bytes.clone());
                let mut both = bytes.clone();
                dispatch.scope(|| {
                    let source = Interleaved { bytes: &bytes, layout };
                    skin(kept, matrices, bind.as_slices(), want.as_slices_mut()).expect("sizes agree");
                    skin(kept, matrices, source, from_bytes.as_slices_mut()).expect("sizes agree");
                    let target = InterleavedMut { bytes: &mut to_bytes, layout };
                    skin(kept, matrices, bind.as_slices(), target).expect("sizes agree");
                    let target = InterleavedMut { bytes: &mut both, layout };
                    skin(kept, matrices, source, target).expect("sizes agree");
                });
                assert!(from_bytes == want, "{case}: read");
                let want = interleave(&want, &layout);
                assert!(to_bytes == want, "{case}: written");
                assert!(both == want, "{case}: read and written");
            }
        }
    }

    /// The debug output of vertices is a single line.
    #[test]
    fn vertices_are_shown_by_how_many_they_are() {
        let layout = VertexLayout { stride: 12, position: 0, normal: None, tangent: None };
        let (mut bytes, mut positions) = ([FILLING; 1200], [[1.25; 3]; 100]);
        let planes = VertexSlices { positions: &positions, ..VertexSlices::default() };
        let from = [VertexSource::from(planes), Interleaved { bytes: &bytes, layout }.into()];
        let mut shown = from.map(|source| std::format!("{source:?}")).to_vec();
        let planes = VertexSlicesMut { positions: &mut positions, ..VertexSlicesMut::default() };
        let to = [VertexTarget::from(planes), InterleavedMut { bytes: &mut bytes, layout }.into()];
        shown.extend(to.map(|target| std::format!("{target:?}")));
        for (shown, count) in shown.iter().zip(["positions: 100", "bytes: 1200"].iter().cycle()) {
            assert!(shown.contains(count) && shown.len() < 160, "{shown}");
        }
    }

    /// An attribute that one side lacks is not written on the other.
    #[test]
    fn only_what_both_sides_have_is_written() {
        let mut random = Random(4);
        let mesh = random.mesh(20, 3);
        let matrices = matrices(&mut random, 3, NormalRule::Plain, false);
        let layout = VertexLayout { stride: 40, position: 0, normal: Some(12), tangent: Some(24) };
        let mut bytes = vec![FILLING; layout.size_of(20)];
        let bind = VertexSlices { positions: &mesh.vertices().positions, ..VertexSlices::default() };
        skin(mesh.influences(), &matrices, bind, InterleavedMut { bytes: &mut bytes, layout })
            .expect("sizes agree");
        for vertex in bytes.chunks(40) {
            assert!(vertex[..12] != [FILLING; 12] && vertex[12..].iter().all(|&byte| byte == FILLING));
        }
    }

    #[test]
    fn layouts_that_overlap_or_end_too_early_are_refused() {
        let mut random = Random(5);
        let mesh = random.mesh(5, 3);
        let matrices = matrices(&mut random, 3, NormalRule::Plain, false);
        let good = VertexLayout { stride: 40, position: 0, normal: Some(12), tangent: Some(24) };
        let run = |layout: VertexLayout, len: usize| {
            let mut bytes = vec![FILLING; len];
            let target = InterleavedMut { bytes: &mut bytes, layout };
            let result = skin(mesh.influences(), &matrices, mesh.vertices().as_slices(), target);
            assert!(result.is_ok() || bytes.iter().all(|&byte| byte == FILLING), "{layout:?}");
            let source = skin(
                mesh.influences(),
                &matrices,
                Interleaved { bytes: &bytes, layout },
                Vertices::zeroed_like(mesh.vertices()).as_slices_mut(),
            );
            assert_eq!(source.is_ok(), result.is_ok(), "{layout:?}");
            result
        };
        assert_eq!(run(good, 200), Ok(()));
        assert_eq!(run(good, 199), Err(Error::TooShort { what: "posed vertices", found: 199, needed: 200 }));
        let refused = |at, needed| Err(Error::OutOfRange { what: "layout", at, needed });
        assert_eq!(run(VertexLayout { stride: 39, ..good }, 400), refused(2, "within the stride"));
        assert_eq!(
            run(VertexLayout { normal: Some(11), ..good }, 400),
            refused(1, "disjoint from the earlier attributes")
        );
        assert_eq!(
            run(VertexLayout { tangent: Some(usize::MAX), ..good }, 400),
            refused(2, "within the stride")
        );
        assert_eq!(run(VertexLayout { stride: 0, ..good }, 400), refused(0, "within the stride"));
        assert!(run(VertexLayout { stride: usize::MAX, ..good }, 400).is_err());
        let none = Influences::rigid(0);
        let target = InterleavedMut { bytes: &mut [], layout: good };
        assert_eq!(skin(&none, &matrices, VertexSlices::default(), target), Ok(()));
    }
}
