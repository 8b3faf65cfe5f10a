//! Compiles a kernel for each instruction set and numeric mode, and runs the copy that the current
//! [`Dispatch`] selects.

use fearless_simd::Level;
use fearless_simd::prelude::*;

use super::{Dispatch, Isa};

/// The numeric mode as a type, so that each kernel is compiled once per mode.
pub trait Mode: Copy {
    /// Returns `a * b + c`: rounded once in the fast mode if the machine has fused multiply-add, always twice
    /// in the portable mode.
    fn madd<S: Simd, V: SimdFloat<S>>(self, a: V, b: V, c: V) -> V;

    /// Returns `a * b - c`, rounded like [`madd`](Self::madd).
    fn msub<S: Simd, V: SimdFloat<S>>(self, a: V, b: V, c: V) -> V;
}

/// The mode with fused multiply-adds.
#[cfg(any(target_arch = "x86", target_arch = "x86_64", target_arch = "aarch64"))]
#[derive(Clone, Copy)]
pub struct Fast;

/// The mode without fused multiply-adds, even if the machine has them.
#[derive(Clone, Copy)]
pub struct Portable;

#[cfg(any(target_arch = "x86", target_arch = "x86_64", target_arch = "aarch64"))]
impl Mode for Fast {
    #[inline(always)]
    fn madd<S: Simd, V: SimdFloat<S>>(self, a: V, b: V, c: V) -> V {
        a.mul_add(b, c)
    }

    #[inline(always)]
    fn msub<S: Simd, V: SimdFloat<S>>(self, a: V, b: V, c: V) -> V {
        a.mul_sub(b, c)
    }
}

impl Mode for Portable {
    #[inline(always)]
    fn madd<S: Simd, V: SimdFloat<S>>(self, a: V, b: V, c: V) -> V {
        a * b + c
    }

    #[inline(always)]
    fn msub<S: Simd, V: SimdFloat<S>>(self, a: V, b: V, c: V) -> V {
        a * b - c
    }
}

/// Runs a kernel with the current [`Dispatch`], `dispatch!(|s, mode| kernel(s, mode, …))`, or with one given
/// before a comma.
///
/// The kernel and all functions that it calls must be `#[inline(always)]`. A function that is not inlined is
/// compiled without the instruction set and runs many times slower. `cargo xtask asm` checks this.
///
/// Without fused multiply-add, both modes are the same arithmetic, which is compiled once, as the portable
/// mode. A kernel without multiply-adds takes only `|s|` and is compiled once per instruction set.
#[macro_export]
#[doc(hidden)]
macro_rules! dispatch {
    (|$s:ident| $op:expr) => {
        $crate::simd::dispatch!($crate::simd::Dispatch::current(), |$s| $op)
    };
    ($dispatch:expr, |$s:ident| $op:expr) => {{
        let dispatch: $crate::simd::Dispatch = $dispatch;
        fearless_simd::dispatch!(dispatch.level(), $s => $op)
    }};
    (|$s:ident, $mode:ident| $op:expr) => {
        $crate::simd::dispatch!($crate::simd::Dispatch::current(), |$s, $mode| $op)
    };
    ($dispatch:expr, |$s:ident, $mode:ident| $op:expr) => {
        $crate::simd::dispatch_modes!(
            $dispatch,
            core::convert::identity,
            not(disable_dispatch_avx512),
            |$s, $mode| $op
        )
    };
}

/// Does the same as [`dispatch!`], but runs the copy for AVX2 on machines with AVX-512.
///
/// For kernels whose lanes are joints or vertices in structures. Shuffles between sixteen lanes cost more
/// there than half as many instructions save: with AVX-512, joints to matrices took up to twice the time.
#[macro_export]
#[doc(hidden)]
macro_rules! dispatch_256 {
    (|$s:ident| $op:expr) => {
        $crate::simd::dispatch_256!($crate::simd::Dispatch::current(), |$s| $op)
    };
    ($dispatch:expr, |$s:ident| $op:expr) => {{
        let dispatch: $crate::simd::Dispatch = $dispatch;
        fearless_simd::dispatch!($crate::simd::narrow(dispatch.at_most_avx2().level()), $s => $op)
    }};
    (|$s:ident, $mode:ident| $op:expr) => {
        $crate::simd::dispatch_256!($crate::simd::Dispatch::current(), |$s, $mode| $op)
    };
    ($dispatch:expr, |$s:ident, $mode:ident| $op:expr) => {
        $crate::simd::dispatch_modes!(
            $crate::simd::Dispatch::at_most_avx2($dispatch),
            $crate::simd::narrow,
            all(disable_dispatch_avx2, not(disable_dispatch_avx512)),
            |$s, $mode| $op
        )
    };
}

/// [`dispatch!`] of a kernel with a mode, at the level that `$level` returns for the dispatch. The copy for
/// AVX-512 in the fast mode is compiled if `$avx512` holds.
#[macro_export]
#[doc(hidden)]
macro_rules! dispatch_modes {
    ($dispatch:expr, $level:path, $avx512:meta, |$s:ident, $mode:ident| $op:expr) => {{
        let dispatch: $crate::simd::Dispatch = $dispatch;
        match $level(dispatch.level()) {
            #[cfg(all(any(target_arch = "x86", target_arch = "x86_64"), not(disable_dispatch_avx2)))]
            fearless_simd::Level::Avx2($s) if dispatch.is_fast() => $crate::simd::fused!($s, $mode, $op),
            #[cfg(all(any(target_arch = "x86", target_arch = "x86_64"), $avx512))]
            fearless_simd::Level::Avx512($s) if dispatch.is_fast() => $crate::simd::fused!($s, $mode, $op),
            #[cfg(target_arch = "aarch64")]
            fearless_simd::Level::Neon($s) if dispatch.is_fast() => $crate::simd::fused!($s, $mode, $op),
            level => fearless_simd::dispatch!(level, $s => {
                let $mode = $crate::simd::Portable;
                $op
            }),
        }
    }};
}

/// Returns AVX2 in place of AVX-512, unless AVX2 was left out. The [`Dispatch`] of [`dispatch_256!`] has done
/// so; here the compiler sees it, and removes the copy for AVX-512, which never runs.
#[doc(hidden)]
#[inline(always)]
#[must_use]
pub fn narrow(level: Level) -> Level {
    #[cfg(all(any(target_arch = "x86", target_arch = "x86_64"), not(disable_dispatch_avx2)))]
    if let Some(avx2) = level.as_avx2() {
        return avx2.level();
    }
    level
}

/// One copy of a kernel in the fast mode.
#[cfg(any(target_arch = "x86", target_arch = "x86_64", target_arch = "aarch64"))]
#[macro_export]
#[doc(hidden)]
macro_rules! fused {
    ($s:ident, $mode:ident, $op:expr) => {
        fearless_simd::Simd::vectorize(
            $s,
            #[inline(always)]
            || {
                let $mode = $crate::simd::Fast;
                $op
            },
        )
    };
}

/// Returns `Some(dispatch!(|s| …))` on platforms with vector instructions, and `None` elsewhere.
///
/// For kernels that gain no speed from emulated lanes. Emulated lanes of f64 take minutes to compile, so
/// platforms without vector instructions do not compile the kernel: `HAS_LANES` is a constant, and the
/// compiler removes the branch.
#[macro_export]
#[doc(hidden)]
macro_rules! in_lanes {
    (|$s:ident| $op:expr) => {
        if $crate::simd::HAS_LANES && $crate::simd::has_lanes() {
            Some($crate::simd::dispatch!(|$s| $op))
        } else {
            None
        }
    };
}

/// Runs a part of a kernel: inline on platforms with vector instructions, as a separate function elsewhere.
/// Compile time grows with the square of the length of emulated vector code. The closure must be
/// `#[inline(always)]`.
#[inline(always)]
pub fn part<R>(run: impl FnOnce() -> R) -> R {
    #[inline(never)]
    fn apart<R>(run: impl FnOnce() -> R) -> R {
        run()
    }
    if HAS_LANES { run() } else { apart(run) }
}

/// Whether kernels currently run with vector instructions.
#[inline]
pub fn has_lanes() -> bool {
    HAS_LANES && Dispatch::current().isa() != Isa::Scalar
}

/// Whether the target platform has vector instructions.
pub const HAS_LANES: bool = cfg!(any(
    target_arch = "x86",
    target_arch = "x86_64",
    target_arch = "aarch64",
    all(target_arch = "wasm32", target_feature = "simd128")
));

/// Runs `|s| …` for a single number with the instruction set enabled at compile time and no dispatch at run
/// time.
#[macro_export]
#[doc(hidden)]
macro_rules! baseline {
    (|$s:ident| $op:expr) => {
        fearless_simd::dispatch!(fearless_simd::Level::baseline(), $s => $op)
    };
}

/// Unrolls `each!(c in [0, 1, 2] => …)`, or only the indices `below N`. The optimiser would unroll a loop
/// too, but only after processing it in each copy of a kernel. In debug builds it would stay a loop.
#[macro_export]
#[doc(hidden)]
macro_rules! each {
    ($k:ident in [$($at:literal),*] => $op:expr) => {{
        $({
            let $k = $at;
            $op;
        })*
    }};
    ($k:ident in [$($at:literal),*] below $n:ident => $op:expr) => {{
        const { assert!($n <= [$($at),*].len(), "the list has fewer than N indices") };
        $(if $at < $n {
            let $k = $at;
            $op;
        })*
    }};
}
