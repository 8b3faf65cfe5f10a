//! Decodes mode 0: elements of any layout, coded byte by byte as deltas.

use super::{Reader, unzigzag};

pub(super) const GROUP: usize = 16;
const LARGEST_BLOCK: usize = 256;

/// Returns the number of elements of `stride` bytes in a block.
pub(super) fn block_elements(stride: usize) -> usize {
    ((8192 / stride) & !(GROUP - 1)).min(LARGEST_BLOCK)
}

pub(super) fn decode(source: &[u8], count: usize, stride: usize) -> Result<Vec<u8>, String> {
    // The tail holds the first element's baseline and, from version 1 on, one mode for each four bytes.
    let (versioned, least_tail) = match source.first() {
        Some(0xa0) => (false, 32),
        Some(0xa1) => (true, 24),
        Some(byte) => {
            return Err(format!("the compressed stream begins with {byte:#04x}, expected 0xa0 or 0xa1"));
        }
        None => return Err(super::ENDS_EARLY.into()),
    };
    let tail_length = stride + if versioned { stride / 4 } else { 0 };
    let (mut reader, tail) = Reader::open(source, tail_length.max(least_tail))?;
    let (baseline, modes) = tail[tail.len() - tail_length..].split_at(stride);
    let channels: Vec<Channel> = if versioned {
        modes.iter().map(|&m| Channel::new(m)).collect::<Result<_, _>>()?
    } else {
        vec![Channel::Bytes; stride / 4]
    };

    let mut last = baseline.to_vec();
    let mut out = Vec::new();
    let mut left = count;
    while left > 0 {
        let elements = left.min(block_elements(stride));
        let control = if versioned { Some(reader.take(stride / 4)?) } else { None };
        let start = out.len();
        out.resize(start + elements * stride, 0);
        for (c, channel) in channels.iter().enumerate() {
            let mut deltas = [[0; LARGEST_BLOCK]; 4];
            for (k, deltas) in deltas.iter_mut().enumerate() {
                let control = control.map(|bits| bits[c] >> (2 * k) & 3);
                read_deltas(&mut reader, control, elements, deltas)?;
            }
            let mut value: [u8; 4] = core::array::from_fn(|k| last[4 * c + k]);
            for (i, element) in out[start..].chunks_exact_mut(stride).enumerate() {
                value = channel.advance(value, core::array::from_fn(|k| deltas[k][i]));
                element[4 * c..4 * c + 4].copy_from_slice(&value);
            }
            last[4 * c..4 * c + 4].copy_from_slice(&value);
        }
        left -= elements;
    }
    reader.finish()?;
    Ok(out)
}

/// Reads the deltas of one byte of each element of a block. `control` is `None` in version 0.
fn read_deltas(
    reader: &mut Reader<'_>,
    control: Option<u8>,
    elements: usize,
    out: &mut [u8; LARGEST_BLOCK],
) -> Result<(), String> {
    let widths = match control {
        None => [0, 2, 4, 8],
        Some(0) => [0, 1, 2, 4],
        Some(1) => [1, 2, 4, 8],
        Some(2) => return Ok(()),
        Some(_) => {
            out[..elements].copy_from_slice(reader.take(elements)?);
            return Ok(());
        }
    };
    let groups = elements.div_ceil(GROUP);
    let header = reader.take(groups.div_ceil(4))?;
    for (g, out) in out.chunks_exact_mut(GROUP).take(groups).enumerate() {
        let width = widths[usize::from(header[g / 4] >> (2 * (g % 4)) & 3)];
        read_group(reader, width, out)?;
    }
    Ok(())
}

/// Reads sixteen deltas of `width` bits each. If all bits of a delta are set, it follows as a whole byte.
fn read_group(reader: &mut Reader<'_>, width: usize, out: &mut [u8]) -> Result<(), String> {
    let packed = reader.take(GROUP * width / 8)?;
    let per_byte = match width {
        0 => return Ok(()),
        8 => {
            out.copy_from_slice(packed);
            return Ok(());
        }
        _ => 8 / width,
    };
    let sentinel = (1u8 << width) - 1;
    for (i, out) in out.iter_mut().enumerate() {
        let slot = i % per_byte;
        // Single bits are packed from the low end, wider ones from the high end.
        let shift = if width == 1 { slot } else { 8 - width * (slot + 1) };
        let small = packed[i / per_byte] >> shift & sentinel;
        *out = if small == sentinel { reader.byte()? } else { small };
    }
    Ok(())
}

/// The way in which the deltas of four adjacent bytes are combined.
#[derive(Debug, Clone, Copy)]
enum Channel {
    Bytes,
    Words,
    /// XOR with the delta, rotated right by this number of bits.
    Xor(u32),
}

impl Channel {
    fn new(mode: u8) -> Result<Self, String> {
        match (mode & 15, mode >> 4) {
            (0, 0) => Ok(Self::Bytes),
            (1, 0) => Ok(Self::Words),
            (2, rotation) => Ok(Self::Xor(rotation.into())),
            _ => Err(format!("the compressed stream has the unknown channel mode {mode:#04x}")),
        }
    }

    #[inline]
    fn advance(self, last: [u8; 4], delta: [u8; 4]) -> [u8; 4] {
        match self {
            Self::Bytes => core::array::from_fn(|k| last[k].wrapping_add(unzigzag(delta[k].into()) as u8)),
            Self::Words => {
                let word = |b: [u8; 4], k| u16::from_le_bytes([b[k], b[k + 1]]);
                let sum =
                    |k| word(last, k).wrapping_add(unzigzag(word(delta, k).into()) as u16).to_le_bytes();
                let (low, high) = (sum(0), sum(2));
                [low[0], low[1], high[0], high[1]]
            }
            Self::Xor(rotation) => {
                let delta = u32::from_le_bytes(delta).rotate_right(rotation);
                (u32::from_le_bytes(last) ^ delta).to_le_bytes()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worked_example_of_the_specification() {
        let bytes = [0x17, 0x5f, 0xf0, 0xbc, 0x77, 0xa9, 0x21, 0x00, 0x34, 0xb5];
        let mut deltas = [0; GROUP];
        let mut reader = Reader(&bytes);
        read_group(&mut reader, 4, &mut deltas).unwrap();
        reader.finish().unwrap();
        let decoded = deltas.map(|d| unzigzag(d.into()) as u8 as i8);
        assert_eq!(decoded, [-1, -4, -3, 26, -91, 0, -6, 6, -4, -4, 5, -5, 1, -1, 0, 0]);
    }

    #[test]
    fn a_small_claim_cannot_make_a_large_allocation() {
        let mut stream = vec![0xa1];
        stream.resize(64, 0);
        assert_eq!(decode(&stream, usize::MAX / 256, 256).unwrap_err(), super::super::ENDS_EARLY);
    }

    #[test]
    fn unknown_modes_are_refused() {
        assert!(Channel::new(0x11).is_err());
        assert!(Channel::new(3).is_err());
        assert!(Channel::new(0xf2).is_ok());
    }
}
