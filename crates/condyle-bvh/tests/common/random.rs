//! Numbers by seed, the same on every platform.

/// SplitMix64.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        (self.bits() % limit as u64) as usize
    }

    pub(crate) fn range(&mut self, from: f64, to: f64) -> f64 {
        from + (to - from) * ((self.bits() >> 11) as f64 / (1_u64 << 53) as f64)
    }
}

/// How often a test cases: as often as asked by `CONDYLE_CASES`, else `usual`.
pub(crate) fn cases(usual: usize) -> usize {
    std::env::var("CONDYLE_CASES").ok().and_then(|it| it.parse().ok()).unwrap_or(usual)
}
