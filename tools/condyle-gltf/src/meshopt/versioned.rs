//! Encodes mode 0 in version 1 of the attribute stream, which only `KHR_meshopt_compression` allows.

use super::attributes::block_elements;
use super::encode::{deltas_bytes, write_deltas, zigzag};

/// Bits of a delta for each code of a group, in the first two control modes.
const WIDTHS: [[u32; 4]; 2] = [[0, 1, 2, 4], [1, 2, 4, 8]];
/// Control mode of a byte that does not change in a block.
const UNCHANGED: u8 = 2;
/// Control mode of a byte whose deltas are stored without groups.
const LITERAL: u8 = 3;
/// Shortest tail of a stream.
const LEAST_TAIL: usize = 24;

/// Encodes elements of `stride` bytes as a stream. `stride` is a multiple of four, at most 256.
pub(crate) fn attributes(elements: &[u8], stride: usize) -> Vec<u8> {
    let baseline = elements.get(..stride).map_or_else(|| vec![0; stride], <[u8]>::to_vec);
    let channels: Vec<Channel> = (0..stride / 4).map(|at| Channel::best(elements, stride, at)).collect();
    let mut out = vec![0xa1];
    let mut last = baseline.clone();
    for block in elements.chunks(block_elements(stride) * stride) {
        let deltas: Vec<Vec<u8>> = channels
            .iter()
            .enumerate()
            .flat_map(|(at, channel)| channel.deltas(block, stride, at, &last))
            .collect();
        let controls: Vec<u8> = deltas.iter().map(|deltas| control(deltas).0).collect();
        let packed = controls.as_chunks::<4>().0.iter().map(|[a, b, c, d]| a | b << 2 | c << 4 | d << 6);
        out.extend(packed);
        for (deltas, control) in deltas.iter().zip(controls) {
            match control {
                UNCHANGED => {}
                LITERAL => out.extend(deltas),
                _ => write_deltas(deltas, WIDTHS[usize::from(control)], &mut out),
            }
        }
        if let Some(end) = block.len().checked_sub(stride) {
            last.copy_from_slice(&block[end..]);
        }
    }
    out.resize(out.len() + LEAST_TAIL.saturating_sub(stride + stride / 4), 0);
    out.extend(baseline);
    out.extend(channels.iter().map(|channel| channel.code()));
    out
}

/// Returns the control mode with the fewest bytes for the deltas of a byte, and these bytes.
fn control(deltas: &[u8]) -> (u8, usize) {
    if deltas.iter().all(|&delta| delta == 0) {
        return (UNCHANGED, 0);
    }
    let [narrow, wide] = WIDTHS.map(|widths| deltas_bytes(deltas, widths));
    let sizes = [(0, narrow), (1, wide), (LITERAL, deltas.len())];
    sizes.into_iter().min_by_key(|(_, size)| *size).unwrap_or((LITERAL, deltas.len()))
}

/// How four adjacent bytes are coded: the counterpart of the decoder's type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Channel {
    Bytes,
    Words,
    /// XOR with the previous element, rotated left by this number of bits.
    Xor(u32),
}

impl Channel {
    /// Returns the channel with the fewest bytes for the four bytes at `4 * at` of all elements.
    fn best(elements: &[u8], stride: usize, at: usize) -> Self {
        let all = [Self::Bytes, Self::Words].into_iter().chain((0..16).map(Self::Xor));
        let size = |channel: &Self| {
            let mut last = elements.get(..stride).unwrap_or_default().to_vec();
            let mut total = 0;
            for block in elements.chunks(block_elements(stride) * stride) {
                total +=
                    channel.deltas(block, stride, at, &last).iter().map(|it| control(it).1).sum::<usize>();
                last = block[block.len() - stride..].to_vec();
            }
            total
        };
        all.min_by_key(size).unwrap_or(Self::Bytes)
    }

    fn code(self) -> u8 {
        match self {
            Self::Bytes => 0,
            Self::Words => 1,
            Self::Xor(rotation) => 2 | (rotation as u8) << 4,
        }
    }

    /// Returns the deltas of each of the four bytes.
    fn deltas(self, block: &[u8], stride: usize, at: usize, last: &[u8]) -> [Vec<u8>; 4] {
        let four = |element: &[u8]| -> [u8; 4] {
            core::array::from_fn(|k| element.get(4 * at + k).copied().unwrap_or_default())
        };
        let mut out: [Vec<u8>; 4] = core::array::from_fn(|_| Vec::with_capacity(block.len() / stride));
        let mut last = four(last);
        for element in block.chunks_exact(stride) {
            let now = four(element);
            for (out, delta) in out.iter_mut().zip(self.delta(last, now)) {
                out.push(delta);
            }
            last = now;
        }
        out
    }

    #[inline]
    fn delta(self, last: [u8; 4], now: [u8; 4]) -> [u8; 4] {
        match self {
            Self::Bytes => core::array::from_fn(|k| zigzag(now[k].wrapping_sub(last[k]))),
            Self::Words => {
                let word = |b: [u8; 4], k| u16::from_le_bytes([b[k], b[k + 1]]);
                let delta = |k| {
                    let delta = word(now, k).wrapping_sub(word(last, k));
                    (delta << 1 ^ 0_u16.wrapping_sub(delta >> 15)).to_le_bytes()
                };
                let (low, high) = (delta(0), delta(2));
                [low[0], low[1], high[0], high[1]]
            }
            Self::Xor(rotation) => {
                let change = u32::from_le_bytes(last) ^ u32::from_le_bytes(now);
                change.rotate_left(rotation).to_le_bytes()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::attributes::decode;
    use super::super::encode;
    use super::super::encode::tests::bytes;
    use super::*;

    #[test]
    fn every_stride_and_count_comes_back() {
        for stride in [4, 8, 12, 16, 20, 64, 252, 256] {
            for count in [0, 1, 15, 16, 17, 31, 255, 256, 257, 1000] {
                for spreads in [&[1][..], &[2], &[4], &[14], &[255], &[1, 255, 3, 14, 1, 20]] {
                    let elements = bytes((stride * count) as u64, stride * count, stride, spreads);
                    let stream = attributes(&elements, stride);
                    let back = decode(&stream, count, stride);
                    assert_eq!(back.as_ref(), Ok(&elements), "{count} of {stride} bytes, {spreads:?}");
                    // Version 1 has the modes of version 0, and a few more bytes of headers.
                    let old = encode::attributes(&elements, stride);
                    let blocks = count.div_ceil(block_elements(stride));
                    assert!(stream.len() <= old.len() + (blocks + 1) * stride, "{count} of {stride} bytes");
                }
            }
        }
    }

    #[test]
    fn each_channel_has_its_data() {
        // Both bytes change around 0x800, by small differences of the word.
        let words: Vec<u8> = (0..400_u16).flat_map(|i| (0x7f6 + i * 7 % 21).to_le_bytes()).collect();
        assert_eq!(Channel::best(&words, 4, 0), Channel::Words);
        // Only the sign changes.
        let floats: Vec<u8> =
            (0..400).flat_map(|i| (if i % 3 == 0 { 0.7 } else { -0.7_f32 }).to_le_bytes()).collect();
        assert!(matches!(Channel::best(&floats, 4, 0), Channel::Xor(_)));
        let still = attributes(&[7; 12 * 1024], 12);
        // Four blocks with three control bytes.
        assert_eq!(still.len(), 1 + 4 * 3 + LEAST_TAIL);
    }
}
