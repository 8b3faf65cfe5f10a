//! Selection of the instruction set and the rounding: [`Isa`], [`Numeric`], and [`Dispatch`], which all
//! stages use.
//!
//! A kernel is written once, generic over a SIMD token and over the rounding. Each call reads the current
//! [`Dispatch`] and runs the copy of the kernel that was compiled for it. So one binary supports all
//! instruction sets of its platform and selects one at run time.

mod dispatch;
mod lanes;

use core::fmt;
use core::str::FromStr;
use core::sync::atomic::{AtomicU8, Ordering};

use fearless_simd::Level;

use crate::error::Error;

/// An instruction set that the kernels are compiled for.
///
/// ```
/// use condyle_base::simd::Isa;
///
/// let wanted: Isa = "avx2".parse()?;
/// let isa = if wanted.is_available() { wanted } else { Isa::best() };
/// assert!(Isa::all().any(|it| it == isa));
/// # Ok::<(), condyle_base::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Isa {
    /// No explicit vector instructions, for platforms without any. Other platforms have it only with the
    /// feature `scalar`.
    Scalar,
    /// x86: four lanes. Every x86-64 processor has it.
    Sse2,
    /// x86: four lanes, SSE 4.2 (x86-64-v2). Only sampling of compressed clips has a copy for it; all other
    /// kernels run the one for SSE2.
    Sse42,
    /// x86: eight lanes, with fused multiply-add (x86-64-v3).
    Avx2,
    /// x86: sixteen lanes, Ice Lake, Zen 4 or newer. Only frames, authored keys, blends, layers and skinning
    /// have copies for it, in the fast mode; all other kernels run those for AVX2.
    Avx512,
    /// 64-bit ARM: four lanes, with fused multiply-add.
    Neon,
    /// WebAssembly: four lanes. Selected when the module is compiled, because WebAssembly cannot detect it.
    ///
    /// Multiply-adds are never fused, even if the module may use relaxed SIMD. The engine decides whether a
    /// relaxed multiply-add rounds once or twice, so two browsers on one machine could return different
    /// results.
    Simd128,
}

/// Rounding of results.
///
/// ```
/// use condyle::interpolation::{self, Method, Selection};
/// use condyle::{Dispatch, Numeric, Pose, Transform};
///
/// let from = Pose::identity(1);
/// let to = Pose::from_transforms(&[Transform { rotation: [0.6, 0.0, 0.0, 0.8], ..Transform::IDENTITY }]);
/// let mut results = vec![];
/// for dispatch in Dispatch::all().filter(|it| it.numeric() == Numeric::Portable) {
///     let mut pose = Pose::identity(1);
///     let method = Method::default();
///     dispatch.scope(|| interpolation::poses(&from, &to, 0.3, Selection::All, method, &mut pose))?;
///     results.push(pose);
/// }
/// // Lockstep games need this: the same result from every instruction set.
/// assert!(results.iter().all(|pose| *pose == results[0]));
/// # Ok::<(), condyle_base::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Numeric {
    /// Fused multiply-adds on AVX2, AVX-512 and NEON. The last bits differ between instruction sets. On the
    /// other instruction sets, both modes are the same.
    #[default]
    Fast,
    /// Correctly rounded operations in one fixed order: the same bits on every instruction set and platform.
    ///
    /// This holds for all results except the bits of a NaN. It requires the default floating-point
    /// environment (denormals kept, rounding to nearest).
    Portable,
}

impl Isa {
    /// Instruction sets of all platforms, whether available or not; the best one of each platform comes last.
    pub const KNOWN: &'static [Self] =
        &[Self::Scalar, Self::Sse2, Self::Sse42, Self::Avx2, Self::Avx512, Self::Neon, Self::Simd128];

    const NAMES: &'static str = "scalar, sse2, sse42, avx2, avx512, neon, simd128";

    /// Returns all instruction sets of this machine, best last. Includes [`Scalar`](Self::Scalar), as
    /// the first, only if the platform has no other or with the feature `scalar`.
    pub fn all() -> impl Iterator<Item = Self> + Clone {
        Self::KNOWN.iter().copied().filter(|isa| isa.is_available())
    }

    /// Returns the best instruction set of this machine.
    ///
    /// Without the feature `std`, the machine cannot be queried: the result is the best one enabled at
    /// compile time.
    #[must_use]
    pub fn best() -> Self {
        Self::all().last().unwrap_or(Self::Scalar)
    }

    /// Whether the instruction set has fused multiply-adds, so that [`Numeric::Fast`] and
    /// [`Numeric::Portable`] differ.
    #[must_use]
    #[inline]
    pub fn fuses(self) -> bool {
        matches!(self, Self::Avx2 | Self::Avx512 | Self::Neon)
    }

    /// Whether this machine has the instruction set and the program was compiled for it.
    #[must_use]
    #[inline]
    pub fn is_available(self) -> bool {
        self.level().is_some()
    }

    /// Returns the name for `CONDYLE_ISA`: `scalar`, `sse2`, `sse42`, `avx2`, `avx512`, `neon` or `simd128`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Scalar => "scalar",
            Self::Sse2 => "sse2",
            Self::Sse42 => "sse42",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
            Self::Neon => "neon",
            Self::Simd128 => "simd128",
        }
    }

    #[inline]
    fn level(self) -> Option<Level> {
        #[cfg(feature = "std")]
        let machine = Level::new();
        #[cfg(not(feature = "std"))]
        let machine = Level::baseline();
        match self {
            #[cfg(feature = "scalar")]
            Self::Scalar => Some(Level::fallback()),
            #[cfg(not(feature = "scalar"))]
            Self::Scalar => Some(machine).filter(|level| level.is_fallback()),
            #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
            Self::Sse2 => machine.as_sse2().map(fearless_simd::Simd::level),
            #[cfg(all(any(target_arch = "x86", target_arch = "x86_64"), not(disable_dispatch_sse4_2)))]
            Self::Sse42 => machine.as_sse4_2().map(fearless_simd::Simd::level),
            #[cfg(all(any(target_arch = "x86", target_arch = "x86_64"), not(disable_dispatch_avx2)))]
            Self::Avx2 => machine.as_avx2().map(fearless_simd::Simd::level),
            #[cfg(all(any(target_arch = "x86", target_arch = "x86_64"), not(disable_dispatch_avx512)))]
            Self::Avx512 => machine.as_avx512().map(fearless_simd::Simd::level),
            #[cfg(target_arch = "aarch64")]
            Self::Neon => machine.as_neon().map(fearless_simd::Simd::level),
            #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
            Self::Simd128 => machine.as_wasm_simd128().map(fearless_simd::Simd::level),
            _ => {
                let _ = machine;
                None
            }
        }
    }
}

impl fmt::Display for Isa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Isa {
    type Err = Error;

    /// Parses a [`name`](Self::name). Does not check whether the machine has the instruction set.
    fn from_str(name: &str) -> Result<Self, Error> {
        let found = Self::KNOWN.iter().copied().find(|isa| isa.name() == name);
        found.ok_or(Error::UnknownName { expected: Self::NAMES })
    }
}

impl Numeric {
    /// Both modes.
    pub const ALL: [Self; 2] = [Self::Fast, Self::Portable];

    const NAMES: &'static str = "fast, portable";

    /// Returns the name for `CONDYLE_NUMERIC`: `fast` or `portable`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Fast => "fast",
            Self::Portable => "portable",
        }
    }
}

/// Parses an environment variable, if it is set.
#[cfg(feature = "std")]
fn name_from_env<T: FromStr>(variable: &'static str, expected: &'static str) -> Result<Option<T>, Error> {
    let Some(value) = std::env::var_os(variable) else { return Ok(None) };
    let parsed = value.to_str().and_then(|name| name.parse().ok());
    parsed.map(Some).ok_or(Error::Environment { variable, expected })
}

impl fmt::Display for Numeric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Numeric {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        let found = Self::ALL.into_iter().find(|numeric| numeric.name() == name);
        found.ok_or(Error::UnknownName { expected: Self::NAMES })
    }
}

/// An instruction set of this machine and a numeric mode, used by all stages.
///
/// Stages do not take it as an argument: they use [`Dispatch::current`]. That is the best instruction set and
/// [`Numeric::Fast`], unless the program, the thread or the environment selects otherwise.
///
/// ```
/// use condyle_base::simd::{Dispatch, Isa, Numeric};
///
/// let same_everywhere = Dispatch::new(Isa::best(), Numeric::Portable).expect("this machine supports it");
/// same_everywhere.scope(|| assert_eq!(Dispatch::current(), same_everywhere));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Dispatch {
    isa: Isa,
    numeric: Numeric,
}

impl fmt::Display for Dispatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.isa, self.numeric)
    }
}

/// Dispatch of the process, packed; `UNSET` until the first use.
static PROCESS: AtomicU8 = AtomicU8::new(UNSET);
const UNSET: u8 = u8::MAX;

#[cfg(feature = "std")]
std::thread_local! {
    /// Dispatch of this thread, packed; `UNSET` outside [`Dispatch::scope`].
    static THREAD: core::cell::Cell<u8> = const { core::cell::Cell::new(UNSET) };
}

impl Dispatch {
    /// Returns `None` if this machine does not have the instruction set.
    #[must_use]
    #[inline]
    pub fn new(isa: Isa, numeric: Numeric) -> Option<Self> {
        isa.is_available().then_some(Self { isa, numeric })
    }

    /// Returns all copies of the kernels that this machine can run, for tests. Each instruction set comes in
    /// both numeric modes, or only in the portable one if the modes are the same.
    pub fn all() -> impl Iterator<Item = Self> {
        let both = Isa::all().flat_map(|isa| Numeric::ALL.map(|numeric| Self { isa, numeric }));
        both.filter(|dispatch| dispatch.isa.fuses() || dispatch.numeric == Numeric::Portable)
    }

    /// The instruction set.
    #[must_use]
    #[inline]
    pub fn isa(self) -> Isa {
        self.isa
    }

    /// The numeric mode.
    #[must_use]
    #[inline]
    pub fn numeric(self) -> Numeric {
        self.numeric
    }

    /// Returns the dispatch that a stage uses if it is called now on this thread.
    ///
    /// That is the innermost [`scope`](Self::scope), otherwise the argument of
    /// [`set_default`](Self::set_default), otherwise `CONDYLE_ISA` and `CONDYLE_NUMERIC` from the
    /// environment. The defaults are the best instruction set and [`Numeric::Fast`]. An invalid variable is
    /// ignored, and the other one is still used. Call [`from_env`](Self::from_env) first to detect it.
    #[must_use]
    #[inline]
    pub fn current() -> Self {
        #[cfg(feature = "std")]
        if let Some(dispatch) = Self::unpack(THREAD.get()) {
            return dispatch;
        }
        Self::unpack(PROCESS.load(Ordering::Relaxed)).unwrap_or_else(Self::first_use)
    }

    #[cold]
    fn first_use() -> Self {
        let best = Self { isa: Isa::best(), numeric: Numeric::default() };
        #[cfg(feature = "std")]
        let dispatch = {
            let (isa, numeric) = (Self::isa_from_env().ok(), Self::numeric_from_env().ok());
            best.changed(isa.flatten(), numeric.flatten())
        };
        #[cfg(not(feature = "std"))]
        let dispatch = best;
        dispatch.set_default();
        dispatch
    }

    /// Applies the requested values that this machine supports. An unsupported instruction set does not
    /// affect the numeric mode, because portable bits matter on any instruction set.
    #[cfg(feature = "std")]
    fn changed(self, isa: Option<Isa>, numeric: Option<Numeric>) -> Self {
        let isa = isa.filter(|isa| isa.is_available()).unwrap_or(self.isa);
        Self { isa, numeric: numeric.unwrap_or(self.numeric) }
    }

    /// Reads `CONDYLE_ISA` and `CONDYLE_NUMERIC` from the environment. If a variable is missing, the best
    /// instruction set or the default mode is used.
    ///
    /// # Errors
    /// [`Error::Environment`] for a variable with an unknown name, or an instruction set that this machine
    /// does not have.
    #[cfg(feature = "std")]
    pub fn from_env() -> Result<Self, Error> {
        let isa = Self::isa_from_env()?.unwrap_or_else(Isa::best);
        let numeric = Self::numeric_from_env()?.unwrap_or_default();
        Self::new(isa, numeric).ok_or(Error::Environment { variable: "CONDYLE_ISA", expected: Isa::NAMES })
    }

    #[cfg(feature = "std")]
    fn isa_from_env() -> Result<Option<Isa>, Error> {
        name_from_env("CONDYLE_ISA", Isa::NAMES)
    }

    #[cfg(feature = "std")]
    fn numeric_from_env() -> Result<Option<Numeric>, Error> {
        name_from_env("CONDYLE_NUMERIC", Numeric::NAMES)
    }

    /// Sets the dispatch of the whole process. An active [`scope`](Self::scope) overrides it.
    pub fn set_default(self) {
        PROCESS.store(self.pack(), Ordering::Relaxed);
    }

    /// Runs `f` with this dispatch on the current thread. Threads that `f` starts do not inherit it.
    #[cfg(feature = "std")]
    pub fn scope<R>(self, f: impl FnOnce() -> R) -> R {
        struct Restore(u8);
        impl Drop for Restore {
            fn drop(&mut self) {
                THREAD.set(self.0);
            }
        }
        let _restore = Restore(THREAD.replace(self.pack()));
        f()
    }

    /// Returns the same instruction set in the portable mode.
    #[inline]
    pub fn portable(self) -> Self {
        Self { numeric: Numeric::Portable, ..self }
    }

    /// Whether the fast mode is selected, for [`dispatch!`].
    #[cfg(any(target_arch = "x86", target_arch = "x86_64", target_arch = "aarch64"))]
    #[inline]
    pub fn is_fast(self) -> bool {
        self.numeric == Numeric::Fast
    }

    /// Whether multiply-adds are fused.
    #[inline]
    pub fn fuses(self) -> bool {
        self.isa.fuses() && self.numeric == Numeric::Fast
    }

    #[inline]
    fn pack(self) -> u8 {
        self.isa as u8 * 2 + self.numeric as u8
    }

    #[inline]
    fn unpack(packed: u8) -> Option<Self> {
        let isa = *Isa::KNOWN.get(usize::from(packed / 2))?;
        Some(Self { isa, numeric: Numeric::ALL[usize::from(packed % 2)] })
    }

    /// Returns the dispatch for a call on this many joints in lanes: AVX2 in place of AVX-512 if they fill at
    /// most one of its registers. Wider registers save no instruction there, and calls take longer. The bits
    /// are equal.
    #[doc(hidden)]
    #[must_use]
    #[inline]
    pub fn for_joints(self, joints: usize) -> Self {
        let narrow = joints <= BLOCK / 2 && self.isa == Isa::Avx512 && Isa::Avx2.is_available();
        Self { isa: if narrow { Isa::Avx2 } else { self.isa }, ..self }
    }

    /// Returns the level for [`dispatch!`].
    #[inline]
    pub fn level(self) -> Level {
        self.isa.level().unwrap_or_else(Level::baseline)
    }
}

pub use crate::{baseline, copies, dispatch, dispatch_512, dispatch_sse42, each, in_lanes};
#[cfg(any(target_arch = "x86", target_arch = "x86_64", target_arch = "aarch64"))]
pub use dispatch::Fast;
#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
pub use dispatch::narrow;
pub use dispatch::{HAS_LANES, Mode, Portable, has_lanes, part};
pub use lanes::Lanes;
pub use lanes::{
    BLOCK, Floats, load, load_all, spread, spread_halves, store, store_all, transpose, transpose_blocks,
    transpose_halves,
};

#[cfg(test)]
mod tests {
    use fearless_simd::prelude::*;

    use super::*;
    use std::string::ToString;

    #[test]
    fn portable_bits_do_not_go_with_an_instruction_set_that_is_not_here() {
        let best = Dispatch { isa: Isa::best(), numeric: Numeric::Fast };
        let absent = Isa::KNOWN.iter().copied().find(|isa| !isa.is_available());
        let got = best.changed(absent, Some(Numeric::Portable));
        assert_eq!((absent.is_some(), got), (true, Dispatch { numeric: Numeric::Portable, ..best }));
        assert_eq!(best.changed(None, None), best);
    }

    #[test]
    fn names_are_read_back() {
        for &isa in Isa::KNOWN {
            assert_eq!(isa.to_string().parse(), Ok(isa));
        }
        for numeric in Numeric::ALL {
            assert_eq!(numeric.to_string().parse(), Ok(numeric));
        }
        assert!("sse9".parse::<Isa>().is_err());
        assert!("".parse::<Numeric>().is_err());
    }

    #[test]
    fn the_best_instruction_set_is_last() {
        assert_eq!(Isa::Scalar.is_available(), cfg!(feature = "scalar") || Isa::best() == Isa::Scalar);
        assert_eq!(Isa::all().last(), Some(Isa::best()));
        #[cfg(target_arch = "x86_64")]
        assert!(Isa::Sse2.is_available() && Dispatch::new(Isa::Neon, Numeric::Fast).is_none());
        #[cfg(target_arch = "aarch64")]
        assert!(Isa::Neon.is_available() && Dispatch::new(Isa::Avx2, Numeric::Fast).is_none());
    }

    #[test]
    fn a_scope_forces_and_restores_even_through_a_panic() {
        let before = Dispatch::current();
        for dispatch in Dispatch::all() {
            dispatch.scope(|| {
                assert_eq!(Dispatch::current(), dispatch);
                before.scope(|| assert_eq!(Dispatch::current(), before));
                assert_eq!(Dispatch::current(), dispatch);
            });
            #[cfg(panic = "unwind")]
            drop(std::panic::catch_unwind(|| {
                dispatch.scope(|| std::panic::resume_unwind(std::boxed::Box::new(())))
            }));
            assert_eq!(Dispatch::current(), before);
        }
    }

    #[test]
    fn few_joints_use_at_most_one_register_of_avx2() {
        for dispatch in Dispatch::all() {
            for joints in [0, 1, 8, 9, 16, 67] {
                let got = dispatch.for_joints(joints);
                let narrow = joints <= 8 && dispatch.isa() == Isa::Avx512;
                let want = if narrow { Isa::Avx2 } else { dispatch.isa() };
                assert_eq!(
                    (got.isa(), got.numeric()),
                    (want, dispatch.numeric()),
                    "{dispatch}, {joints} joints"
                );
            }
        }
    }

    #[test]
    fn dispatch_runs_the_best_copy_of_a_kernel() {
        #[inline(always)]
        fn copy<S: Simd, M: Mode>(s: S, _: M) -> (usize, bool) {
            (S::f32s::LEN, matches!(s.level(), Level::Sse4_2(_)))
        }
        for dispatch in Dispatch::all() {
            let [few, wide, sse42] = dispatch.scope(|| {
                let few = dispatch!(|s, mode| copy(s, mode));
                let wide = dispatch_512!(|s, mode| copy(s, mode));
                let sse42 = dispatch_sse42!(Dispatch::current(), |s, mode| copy(s, mode));
                [few, wide, sse42]
            });
            let lanes = if matches!(dispatch.isa(), Isa::Avx2 | Isa::Avx512) { 8 } else { 4 };
            assert_eq!(few, (lanes, false), "{dispatch}");
            let is_wide = dispatch == Dispatch { isa: Isa::Avx512, numeric: Numeric::Fast };
            assert_eq!(wide, (if is_wide { 16 } else { lanes }, false), "{dispatch}");
            assert_eq!(sse42, (lanes, dispatch.isa() == Isa::Sse42), "{dispatch}");
        }
    }

    #[test]
    fn the_fast_mode_fuses_where_the_machine_can_and_the_portable_one_never() {
        #[inline(always)]
        fn remainder<S: Simd, M: Mode>(s: S, mode: M) -> f32 {
            // (1 + 2^-12)^2 - 1 - 2^-11 is 2^-24: one rounding keeps it, and two lose it.
            let a = S::f32s::splat(s, 1.0 + 1.0 / 4096.0);
            let c = S::f32s::splat(s, -1.0 - 1.0 / 2048.0);
            mode.madd(a, a, c).as_slice()[0]
        }
        for dispatch in Dispatch::all() {
            let fused = dispatch.scope(|| dispatch!(|s, mode| remainder(s, mode))) != 0.0;
            assert_eq!(fused, dispatch.numeric() == Numeric::Fast, "{dispatch}");
        }
        for isa in Isa::all().filter(|isa| !isa.fuses()) {
            let fast = Dispatch::new(isa, Numeric::Fast).expect("this machine supports it");
            assert_eq!(fast.scope(|| dispatch!(|s, mode| remainder(s, mode))), 0.0, "{fast}");
        }
    }
}
