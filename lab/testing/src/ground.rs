//! Seeded numbers, tolerances and hashes, identical on every platform. The unit tests of `condyle-base`
//! include this file, so it uses only types of `condyle_base`.

use core::fmt::Display;

use condyle_base::math::Transform;
pub use condyle_base::math::scalar::worst;
use condyle_base::simd::{Dispatch, Numeric};

/// SplitMix64: exact integer operations, so every platform gets the same data.
pub struct Random(pub u64);

impl Random {
    /// Returns the next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Returns an integer in `0..limit`.
    pub fn below(&mut self, limit: usize) -> usize {
        (self.bits() % limit as u64) as usize
    }

    /// Returns a number in `[from, to)`.
    pub fn range(&mut self, from: f32, to: f32) -> f32 {
        let unit = (self.bits() >> 40) as f32 / (1_u64 << 24) as f32;
        from + (to - from) * unit
    }

    /// Returns a number in `[0, 1)`, with all digits of f64.
    pub fn fraction(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Returns a number in `[from, to)`, with all digits of f64.
    pub fn range_f64(&mut self, from: f64, to: f64) -> f64 {
        from + (to - from) * self.fraction()
    }

    /// Returns a vector with components in `[-size, size)`.
    pub fn vector<const N: usize>(&mut self, size: f32) -> [f32; N] {
        core::array::from_fn(|_| self.range(-size, size))
    }

    /// Returns a unit vector in any direction.
    pub fn unit<const N: usize>(&mut self) -> [f32; N] {
        loop {
            let v = self.vector::<N>(1.0).map(f64::from);
            let length2: f64 = v.iter().map(|v| v * v).sum();
            if (0.01..1.0).contains(&length2) {
                return v.map(|v| (v / length2.sqrt()) as f32);
            }
        }
    }

    /// Returns a unit quaternion. One in eight is truncated to three decimals.
    pub fn key(&mut self) -> [f32; 4] {
        let q = self.unit::<4>();
        if self.below(8) == 0 { q.map(|v| (v * 1000.0) as i32 as f32 / 1000.0) } else { q }
    }

    /// Returns a rotation, a translation of up to half a metre per axis, and scales between 0.7 and 1.4.
    pub fn transform(&mut self) -> Transform {
        Transform {
            rotation: self.unit(),
            translation: self.vector(0.5),
            scale: core::array::from_fn(|_| self.range(0.7, 1.4)),
        }
    }
}

/// Returns the number of test cases: `normally`, but at most 8 under Miri, which is slow.
pub const fn tries(normally: usize) -> usize {
    if cfg!(miri) && normally > 8 { 8 } else { normally }
}

/// Number of random cases in a test: `normally`, or the value of `CONDYLE_CASES` in the environment. On
/// platforms other than x86-64, which often run in an emulator, the default is a tenth, between 8 and
/// 1000. See docs/dev/fuzzing.md, "Random cases in unit tests".
pub fn cases(normally: usize) -> usize {
    let emulated = !cfg!(target_arch = "x86_64");
    let normally = if emulated { normally.min((normally / 10).clamp(8, 1000)) } else { normally };
    let wanted = std::env::var("CONDYLE_CASES").ok();
    tries(wanted.map_or(normally, |wanted| wanted.parse().expect("CONDYLE_CASES is a number")))
}

/// Joint and vertex counts around the boundaries of lanes and blocks; only one for Miri, which is slow.
pub const SIZES: &[usize] = if cfg!(miri) { &[17] } else { &[0, 1, 3, 4, 5, 15, 16, 17, 31, 33, 67, 255] };

/// Fails with the name of the case if two values differ by more than `bound`.
#[track_caller]
pub fn assert_close(got: &[f32], want: &[f64], bound: f64, case: impl Display) {
    assert_eq!(got.len(), want.len(), "{case}");
    for (at, (got, want)) in got.iter().zip(want).enumerate() {
        let error = (f64::from(*got) - want).abs();
        assert!(error <= bound, "{case}, element {at}: {got} instead of {want}, off by {error:e}");
    }
}

/// FNV-1a hash of the bits of numbers.
pub struct Hash(u64);

impl Hash {
    /// Adds the bits of these numbers.
    pub fn add<'a>(&mut self, values: impl IntoIterator<Item = &'a f32>) {
        for byte in values.into_iter().flat_map(|v| v.to_bits().to_le_bytes()) {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3);
        }
    }
}

/// Fails unless `run` gives the hash `expected` in the portable mode of every instruction set.
///
/// The constant is the same on every platform. A change of a stage's arithmetic changes it: then update the
/// constant, and mention it in the change log.
#[track_caller]
pub fn assert_portable(expected: u64, run: impl Fn(&mut Hash)) {
    for dispatch in Dispatch::all().filter(|d| d.numeric() == Numeric::Portable) {
        let mut hash = Hash(0xCBF2_9CE4_8422_2325);
        dispatch.scope(|| run(&mut hash));
        // Runs are shorter under Miri, so the hash differs.
        assert!(cfg!(miri) || hash.0 == expected, "{dispatch}: {:#018x}", hash.0);
    }
}
