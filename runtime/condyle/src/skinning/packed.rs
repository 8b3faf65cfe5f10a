//! Loads and stores of groups of vertices in arrays.

use fearless_simd::{f32x4, f32x8, prelude::*};

use crate::mesh::GROUP_VERTICES;

/// Number of floats in a group of packed vectors, plus one. Each vector is loaded and stored as four floats,
/// the last of which belongs to the next vector.
pub(super) const PACKED: usize = 3 * GROUP_VERTICES + 1;

/// Loads the two vectors of pair `pair`.
#[inline(always)]
pub(super) fn load_two<S: Simd>(s: S, packed: &[f32; PACKED], pair: usize) -> f32x8<S> {
    let at = 6 * pair;
    f32x4::from_slice(s, &packed[at..at + 4]).combine(f32x4::from_slice(s, &packed[at + 3..at + 7]))
}

/// Stores the first three lanes of each half, packed. The fourth lane overwrites the next vector, which is
/// stored later.
#[inline(always)]
pub(super) fn store_two<S: Simd>(packed: &mut [f32; PACKED], pair: usize, v: f32x8<S>) {
    let at = 6 * pair;
    let (a, b) = v.split();
    a.store_slice(&mut packed[at..at + 4]);
    b.store_slice(&mut packed[at + 3..at + 7]);
}

#[inline(always)]
pub(super) fn two_tangents<S: Simd>(s: S, tangents: &[[f32; 4]; GROUP_VERTICES], pair: usize) -> f32x8<S> {
    f32x8::from_slice(s, &tangents.as_flattened()[8 * pair..8 * pair + 8])
}

/// Returns the group that begins at vertex `at`, and the float after it.
#[inline(always)]
pub(super) fn packed(vectors: &[[f32; 3]], at: usize) -> Option<&[f32; PACKED]> {
    vectors.get(at..)?.as_flattened().first_chunk()
}

#[inline(always)]
pub(super) fn packed_mut(vectors: &mut [[f32; 3]], at: usize) -> Option<&mut [f32; PACKED]> {
    vectors.get_mut(at..)?.as_flattened_mut().first_chunk_mut()
}

/// Copies the elements up to the shorter length.
#[inline(always)]
pub(super) fn copy_front<T: Copy>(to: &mut [T], from: &[T]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to = *from;
    }
}
