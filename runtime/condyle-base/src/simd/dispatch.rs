//! Compiles a kernel for each instruction set and numeric mode, and runs the copy that the current
//! [`Dispatch`] selects.

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
/// On x86 a kernel has three copies: SSE2, AVX2 in the fast mode and AVX2 in the portable mode. An additional
/// copy must make a user's work 1.15x faster, because every program that links the library compiles it:
/// [`dispatch_512!`] and [`dispatch_sse42!`] add one. A machine runs the best copy that the kernel has; in
/// the portable mode all copies have the same bits. A kernel without multiply-adds takes only `|s|` and has
/// one copy per instruction set.
#[macro_export]
#[doc(hidden)]
macro_rules! dispatch {
    (|$s:ident $(, $mode:ident)?| $op:expr) => {
        $crate::simd::dispatch!($crate::simd::Dispatch::current(), |$s $(, $mode)?| $op)
    };
    ($dispatch:expr, |$s:ident $(, $mode:ident)?| $op:expr) => {
        $crate::simd::copies!($dispatch, false, false, |$s $(, $mode)?| $op)
    };
}

/// [`dispatch!`] with an additional copy for AVX-512 in the fast mode.
///
/// For kernels whose lanes are joints or vertices in blocks, and that are most of a character's frame: on
/// frames, blends, layers and authored keys the copy gains 1.2 to 1.4. It does not pay where lanes are
/// structures, because shuffles between sixteen lanes cost more than half as many instructions save.
#[macro_export]
#[doc(hidden)]
macro_rules! dispatch_512 {
    (|$s:ident, $mode:ident| $op:expr) => {
        $crate::simd::dispatch_512!($crate::simd::Dispatch::current(), |$s, $mode| $op)
    };
    ($dispatch:expr, |$s:ident, $mode:ident| $op:expr) => {
        $crate::simd::copies!($dispatch, true, false, |$s, $mode| $op)
    };
}

/// [`dispatch!`] with an additional copy for SSE4.2.
///
/// For sampling compressed clips: SSE2 lacks multiplications and minima of 32-bit integers, without which it
/// is 1.5x slower.
#[macro_export]
#[doc(hidden)]
macro_rules! dispatch_sse42 {
    ($dispatch:expr, |$s:ident, $mode:ident| $op:expr) => {
        $crate::simd::copies!($dispatch, false, true, |$s, $mode| $op)
    };
}

/// Compiles the copies of a kernel, and runs the one for the dispatch. The literals select the copies for
/// AVX-512 and for SSE4.2.
#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
#[macro_export]
#[doc(hidden)]
macro_rules! copies {
    ($dispatch:expr, $avx512:literal, $sse42:literal, |$s:ident $(, $mode:ident)?| $op:expr) => {{
        let dispatch: $crate::simd::Dispatch = $dispatch;
        match $crate::simd::narrow(dispatch, $avx512, $sse42) {
            #[cfg(not(disable_dispatch_avx2))]
            fearless_simd::Level::Avx2(token) => $crate::both!(dispatch, token, |$s $(, $mode)?| $op),
            #[cfg(all($avx512, not(disable_dispatch_avx512)))]
            fearless_simd::Level::Avx512(token) => $crate::copy!(Fast, token, |$s $(, $mode)?| $op),
            #[cfg(all($sse42, not(disable_dispatch_sse4_2)))]
            fearless_simd::Level::Sse4_2(token) => $crate::copy!(Portable, token, |$s $(, $mode)?| $op),
            fearless_simd::Level::Sse2(token) => $crate::copy!(Portable, token, |$s $(, $mode)?| $op),
            level => $crate::scalar!(level, |$s $(, $mode)?| $op),
        }
    }};
}

/// Compiles the copies of a kernel, and runs the one for the dispatch: NEON in both modes, or the only one of
/// the platform.
#[cfg(not(any(target_arch = "x86", target_arch = "x86_64")))]
#[macro_export]
#[doc(hidden)]
macro_rules! copies {
    ($dispatch:expr, $avx512:literal, $sse42:literal, |$s:ident $(, $mode:ident)?| $op:expr) => {{
        let dispatch: $crate::simd::Dispatch = $dispatch;
        match dispatch.level() {
            #[cfg(target_arch = "aarch64")]
            fearless_simd::Level::Neon(token) => $crate::both!(dispatch, token, |$s $(, $mode)?| $op),
            level => fearless_simd::dispatch!(level, $s => {
                $(let $mode = $crate::simd::Portable;)?
                $op
            }),
        }
    }};
}

/// The copies of a kernel in the fast and in the portable mode. Without a mode, both are one.
#[cfg(any(target_arch = "x86", target_arch = "x86_64", target_arch = "aarch64"))]
#[macro_export]
#[doc(hidden)]
macro_rules! both {
    ($dispatch:ident, $token:ident, |$s:ident, $mode:ident| $op:expr) => {
        if $dispatch.is_fast() {
            $crate::copy!(Fast, $token, |$s, $mode| $op)
        } else {
            $crate::copy!(Portable, $token, |$s, $mode| $op)
        }
    };
    ($dispatch:ident, $token:ident, |$s:ident| $op:expr) => {
        $crate::copy!(Portable, $token, |$s| $op)
    };
}

/// One copy of a kernel.
#[cfg(any(target_arch = "x86", target_arch = "x86_64", target_arch = "aarch64"))]
#[macro_export]
#[doc(hidden)]
macro_rules! copy {
    ($type:ident, $token:ident, |$s:ident $(, $mode:ident)?| $op:expr) => {
        fearless_simd::Simd::vectorize(
            $token,
            #[inline(always)]
            || {
                let $s = $token;
                $(let $mode = $crate::simd::$type;)?
                $op
            },
        )
    };
}

/// The copy of a kernel without vector instructions.
#[cfg(all(
    any(target_arch = "x86", target_arch = "x86_64"),
    any(feature = "scalar", not(all(target_feature = "sse2", target_feature = "fxsr")))
))]
#[macro_export]
#[doc(hidden)]
macro_rules! scalar {
    ($level:ident, |$s:ident $(, $mode:ident)?| $op:expr) => {
        match $level {
            fearless_simd::Level::Fallback(token) => $crate::copy!(Portable, token, |$s $(, $mode)?| $op),
            _ => unreachable!("`narrow` returns a level that the kernel has"),
        }
    };
}

/// The copy of a kernel without vector instructions, which this build does not have.
#[cfg(all(
    any(target_arch = "x86", target_arch = "x86_64"),
    not(any(feature = "scalar", not(all(target_feature = "sse2", target_feature = "fxsr"))))
))]
#[macro_export]
#[doc(hidden)]
macro_rules! scalar {
    ($level:ident, |$s:ident $(, $mode:ident)?| $op:expr) => {{
        let _ = $level;
        unreachable!("`narrow` returns a level that the kernel has")
    }};
}

/// Returns the level of the best copy of a kernel that the dispatch may run. A kernel has copies for AVX-512
/// in the fast mode and for SSE4.2 only if it requests them.
#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
#[doc(hidden)]
#[inline(always)]
#[must_use]
pub fn narrow(dispatch: Dispatch, avx512: bool, sse42: bool) -> fearless_simd::Level {
    let level = dispatch.level();
    let has_avx512 = avx512 && dispatch.is_fast() && cfg!(not(disable_dispatch_avx512));
    let has_avx2 = cfg!(not(disable_dispatch_avx2));
    let has_sse42 = sse42 && cfg!(not(disable_dispatch_sse4_2));
    if has_avx512 && level.as_avx512().is_some() {
        return level;
    }
    if has_avx2 && let Some(avx2) = level.as_avx2() {
        return avx2.level();
    }
    if has_sse42 && let Some(sse42) = level.as_sse4_2() {
        return sse42.level();
    }
    level.as_sse2().map_or(level, Simd::level)
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
