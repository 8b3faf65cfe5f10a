//! Compiles a kernel for each instruction set and numeric mode, and runs the one that the current [`Dispatch`] names.

use fearless_simd::prelude::*;

use super::{Dispatch, Isa};

/// The numeric mode as a type, so that each kernel is compiled once for either.
pub trait Mode: Copy {
    /// `a * b + c`: one rounding in the fast mode where the machine can, always two in the portable one.
    fn madd<S: Simd, V: SimdFloat<S>>(self, a: V, b: V, c: V) -> V;

    /// `a * b - c`, likewise.
    fn msub<S: Simd, V: SimdFloat<S>>(self, a: V, b: V, c: V) -> V;
}

/// Fused multiply-adds.
#[cfg(any(target_arch = "x86", target_arch = "x86_64", target_arch = "aarch64"))]
#[derive(Clone, Copy)]
pub struct Fast;

/// No fused multiply-adds, whatever the machine has.
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

/// Runs a kernel with the current [`Dispatch`], `dispatch!(|s, mode| kernel(s, mode, …))`, or with a given one before a comma.
///
/// The kernel must be `#[inline(always)]`, and so must all that it calls: what is not inlined is compiled
/// without the instruction set and runs many times slower. `cargo xtask asm` watches over that.
///
/// Where there is no fused multiply-add both modes are the same arithmetic: it is compiled once, as the portable one. A kernel that has no multiply-adds takes `|s|` alone,
/// and is compiled once for each instruction set.
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
    ($dispatch:expr, |$s:ident, $mode:ident| $op:expr) => {{
        let dispatch: $crate::simd::Dispatch = $dispatch;
        match dispatch.level() {
            #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
            fearless_simd::Level::Avx2($s) if dispatch.is_fast() => $crate::simd::fused!($s, $mode, $op),
            #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
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

/// `dispatch!(|s| …)` of what is no faster in lanes than one after the other where there are no vector instructions: `None` there. Emulated lanes of f64 keep the compiler
/// busy for minutes, which is why such platforms do not even compile it: the constant, where the compiler sees it, makes the branch go away.
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

/// A part of a kernel: in place where there are vector instructions, and a function of its own where there are none, as compilers take a time that grows with the square of
/// the length of emulated vector code. The closure must be `#[inline(always)]`.
#[inline(always)]
pub fn part<R>(run: impl FnOnce() -> R) -> R {
    #[inline(never)]
    fn apart<R>(run: impl FnOnce() -> R) -> R {
        run()
    }
    if HAS_LANES { run() } else { apart(run) }
}

/// Whether kernels run with vector instructions now.
#[inline]
pub fn has_lanes() -> bool {
    HAS_LANES && Dispatch::current().isa() != Isa::Scalar
}

/// Whether the platform that is compiled for has vector instructions.
pub const HAS_LANES: bool = cfg!(any(
    target_arch = "x86",
    target_arch = "x86_64",
    target_arch = "aarch64",
    all(target_arch = "wasm32", target_feature = "simd128")
));

/// Runs `|s| …` for a single number, with what the compiler was told of, so that no choice is left for the run time.
#[macro_export]
#[doc(hidden)]
macro_rules! baseline {
    (|$s:ident| $op:expr) => {
        fearless_simd::dispatch!(fearless_simd::Level::baseline(), $s => $op)
    };
}

/// `each!(c in [0, 1, 2] => …)` in straight lines, or only for those `below N`. A loop would be unrolled in the end, but
/// only after the compiler has worked on it in each copy of a kernel; and it would stay one where nothing is optimised.
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
        const { assert!($n <= [$($at),*].len(), "there are more") };
        $(if $at < $n {
            let $k = $at;
            $op;
        })*
    }};
}
