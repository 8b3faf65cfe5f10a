//! Little-endian numbers from and to bytes, and a checksum.

use alloc::vec::Vec;

use crate::error::{Error, invariant};

/// Returns a checksum that detects accidental damage. It is not cryptographic.
///
/// Any change within one aligned word of eight bytes changes the checksum, if the length stays the same.
///
/// The initial state is the number of bytes. Each little-endian word of eight bytes, the last one padded with
/// zeros, updates it: `h = (h ^ word) * 0x9e3779b97f4a7c15; h = h ^ (h >> 32)`. Each step is invertible, so
/// different states stay different. The constant is 2^64 divided by the golden ratio, and odd.
#[must_use]
pub fn checksum(bytes: &[u8]) -> u64 {
    let (words, tail) = bytes.as_chunks::<8>();
    let mut state = bytes.len() as u64;
    for word in words {
        state = step(state, u64::from_le_bytes(*word));
    }
    if !tail.is_empty() {
        let mut last = [0; 8];
        last[..tail.len()].copy_from_slice(tail);
        state = step(state, u64::from_le_bytes(last));
    }
    state
}

fn step(state: u64, word: u64) -> u64 {
    let next = (state ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    next ^ (next >> 32)
}

/// Returns `N` bytes at `at`, or zeros past the end. Callers have checked that the bytes exist.
#[inline(always)]
fn at<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes.get(at..).and_then(<[u8]>::first_chunk).copied().unwrap_or([0; N])
}

/// Returns the little-endian u16 at `place`; 0 past the end.
#[inline(always)]
pub fn u16_at(bytes: &[u8], place: usize) -> u16 {
    u16::from_le_bytes(at(bytes, place))
}

/// Returns the little-endian u32 at `place`; 0 past the end.
#[inline(always)]
pub fn u32_at(bytes: &[u8], place: usize) -> u32 {
    u32::from_le_bytes(at(bytes, place))
}

/// Returns the little-endian u64 at `place`; 0 past the end.
#[inline(always)]
pub fn u64_at(bytes: &[u8], place: usize) -> u64 {
    u64::from_le_bytes(at(bytes, place))
}

/// Returns `width` bits, at most 24, from bit `at`. At least three more bytes must follow the first byte.
pub fn bits_at(bytes: &[u8], at: usize, width: u32) -> u32 {
    let word = bytes.get(at / 8..).and_then(<[u8]>::first_chunk);
    invariant!(word.is_some(), "fewer than 4 bytes follow bit {at}");
    let word = word.map_or(0, |b| u32::from_le_bytes(*b));
    word >> (at % 8) & ((1 << width) - 1)
}

/// Reader that takes bytes from the front. It allocates a list only if the bytes of the list exist.
pub struct Source<'a>(pub &'a [u8]);

impl<'a> Source<'a> {
    /// Returns `count` pieces of `N` bytes.
    fn pieces<const N: usize>(&mut self, what: &'static str, count: usize) -> Result<&'a [[u8; N]], Error> {
        let (found, needed) = (self.0.len(), count.saturating_mul(N));
        let (head, tail) = self.0.split_at_checked(needed).ok_or(Error::Truncated { what, found, needed })?;
        self.0 = tail;
        Ok(head.as_chunks().0)
    }

    /// Returns `count` bytes.
    pub fn bytes(&mut self, what: &'static str, count: usize) -> Result<&'a [u8], Error> {
        Ok(self.pieces::<1>(what, count)?.as_flattened())
    }

    /// Returns `count` 32-bit numbers.
    pub fn u32s(
        &mut self,
        what: &'static str,
        count: usize,
    ) -> Result<impl ExactSizeIterator<Item = u32> + Clone + use<'a>, Error> {
        Ok(self.pieces(what, count)?.iter().map(|&b| u32::from_le_bytes(b)))
    }

    /// Returns an array of 32-bit numbers.
    pub fn words<const N: usize>(&mut self, what: &'static str) -> Result<[u32; N], Error> {
        let mut words = [0; N];
        for (word, found) in words.iter_mut().zip(self.u32s(what, N)?) {
            *word = found;
        }
        Ok(words)
    }

    /// Returns `count` 16-bit numbers, and skips two padding bytes after an odd count.
    pub fn u16s(
        &mut self,
        what: &'static str,
        count: usize,
    ) -> Result<impl ExactSizeIterator<Item = u16> + Clone + use<'a>, Error> {
        let numbers = self.pieces(what, count)?.iter().map(|&b| u16::from_le_bytes(b));
        self.bytes(what, 2 * (count % 2))?;
        Ok(numbers)
    }

    /// Returns `count` vectors of `N` numbers.
    pub fn vectors<const N: usize>(
        &mut self,
        what: &'static str,
        count: usize,
    ) -> Result<Vec<[f32; N]>, Error> {
        let (numbers, needed) = (self.0.len() / 4, count.saturating_mul(N));
        if needed > numbers {
            let needed = needed.saturating_mul(4);
            return Err(Error::Truncated { what, found: self.0.len(), needed });
        }
        let numbers = self.pieces::<4>(what, needed)?.as_chunks::<N>().0;
        Ok(numbers.iter().map(|v| v.map(f32::from_le_bytes)).collect())
    }

    /// Returns `Ok` if no bytes remain.
    pub fn end(self, what: &'static str) -> Result<(), Error> {
        Error::check_len(what, self.0.len(), 0)
    }
}

/// Appends 32-bit numbers.
pub fn put_u32s(out: &mut Vec<u8>, numbers: impl IntoIterator<Item = u32>) {
    out.extend(numbers.into_iter().flat_map(u32::to_le_bytes));
}

/// Appends 16-bit numbers, with two zero bytes after an odd count.
pub fn put_u16s(out: &mut Vec<u8>, numbers: &[u16]) {
    out.extend(numbers.iter().flat_map(|n| n.to_le_bytes()));
    if !numbers.len().is_multiple_of(2) {
        out.extend([0; 2]);
    }
}

/// Appends f32 numbers.
pub fn put_floats(out: &mut Vec<u8>, numbers: &[f32]) {
    out.extend(numbers.iter().flat_map(|n| n.to_le_bytes()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_the_documented_one() {
        assert_eq!(checksum(&[]), 0);
        let one = (1_u64 ^ 0x41).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        assert_eq!(checksum(b"A"), one ^ (one >> 32));
        // Computed by an independent implementation, because files store the checksum.
        assert_eq!(checksum(b"condyle, a rounded end of a bone"), 0x0462_7345_b659_0992);
    }

    #[test]
    fn every_change_of_a_byte_and_of_the_length_is_seen() {
        // Miri is slow.
        let step = if cfg!(miri) { 85 } else { 1 };
        for length in [1, 7, 8, 9, 16, 23] {
            let bytes: Vec<u8> = (0..length).map(|i| (i * 37) as u8).collect();
            let whole = checksum(&bytes);
            for (at, change) in
                (0..length).flat_map(|at| (1..=255).step_by(step).map(move |change| (at, change)))
            {
                let mut other = bytes.clone();
                other[at] ^= change;
                assert_ne!(checksum(&other), whole, "{length} bytes, byte {at} changed by {change}");
            }
        }
        let zeros = [0; 40];
        for length in 1..40 {
            assert_ne!(checksum(&zeros[..length]), checksum(&zeros[..=length]), "{length} zeros");
        }
    }
}
