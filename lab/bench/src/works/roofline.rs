//! Machine limits: bytes per cycle to and from each memory level, and arithmetic per cycle.

use std::rc::Rc;

use condyle::{Dispatch, Isa, Numeric};
use fearless_simd::{Level, Simd, dispatch, prelude::*};

use super::case;
use crate::harness::{Case, Subjects};
use crate::machine::{MEMORIES, Memory};

/// Independent vectors in flight, enough to hide the latency of an addition.
const CHAINS: usize = 8;
/// Additions and multiplications of one call.
const FLOPS: usize = 2 * 16 * CHAINS * 256;

/// Benchmarks of one memory level: load, store, copy.
pub(crate) const fn works(memory: Memory) -> [&'static str; 3] {
    match memory {
        Memory::L1 => ["roofline_load_l1", "roofline_store_l1", "roofline_copy_l1"],
        Memory::L2 => ["roofline_load_l2", "roofline_store_l2", "roofline_copy_l2"],
        Memory::L3 => ["roofline_load_l3", "roofline_store_l3", "roofline_copy_l3"],
        Memory::Main => ["roofline_load_memory", "roofline_store_memory", "roofline_copy_memory"],
    }
}

/// Arithmetic benchmarks: fused multiply-add, and separate multiplication and addition.
pub(crate) const FMA: &str = "roofline_fma";
const MUL_ADD: &str = "roofline_mul_add";

/// Elements are bytes moved, or operations.
pub(super) fn cases() -> Vec<Case> {
    let arithmetic = |work, numeric| case(work, "", FLOPS, 0, move |subjects| arithmetic(subjects, numeric));
    let mut cases = vec![arithmetic(FMA, Numeric::Fast), arithmetic(MUL_ADD, Numeric::Portable)];
    for memory in MEMORIES {
        let [load, store, copy] = works(memory);
        // A multiple of the step of every kernel.
        let bytes = if cfg!(test) { 4096 } else { memory.working_set() };
        let bytes = bytes.next_multiple_of(2 * 4 * 16 * CHAINS);
        let floats = bytes / 4;
        cases.push(case(load, "", bytes, 1, move |subjects| {
            loading(subjects, floats);
        }));
        cases.push(case(store, "", bytes, 1, move |subjects| {
            storing(subjects, floats);
        }));
        cases.push(case(copy, "", bytes, 1, move |subjects| {
            copying(subjects, floats / 2);
        }));
    }
    cases
}

/// Token of the instruction set that [`Dispatch::scope`] selects.
fn level() -> Level {
    let machine = Level::new();
    let found = match Dispatch::current().isa() {
        #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
        Isa::Sse2 => machine.as_sse2().map(Simd::level),
        #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
        Isa::Sse42 => machine.as_sse4_2().map(Simd::level),
        #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
        Isa::Avx2 => machine.as_avx2().map(Simd::level),
        #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
        Isa::Avx512 => machine.as_avx512().map(Simd::level),
        #[cfg(feature = "scalar")]
        Isa::Scalar => Some(Level::fallback()),
        _ => Some(machine),
    };
    found.unwrap_or_else(Level::baseline)
}

/// Values aligned to a cache line, because vectors across two lines load at half the speed.
struct Aligned {
    room: Vec<f32>,
    start: usize,
    len: usize,
}

impl Aligned {
    fn new(len: usize, value: impl Fn(usize) -> f32) -> Self {
        let mut room = vec![0.0; len + 16];
        let start = room.as_ptr().align_offset(64).min(16);
        room[start..start + len].iter_mut().enumerate().for_each(|(i, v)| *v = value(i));
        Self { room, start, len }
    }

    fn get(&self) -> &[f32] {
        &self.room[self.start..self.start + self.len]
    }

    fn get_mut(&mut self) -> &mut [f32] {
        &mut self.room[self.start..self.start + self.len]
    }
}

/// Aligns the values again, because the clone's memory may start at any address.
impl Clone for Aligned {
    fn clone(&self) -> Self {
        Self::new(self.len, |i| self.get()[i])
    }
}

fn loading(subjects: &mut Subjects, floats: usize) {
    subjects.only_fast();
    let data = Rc::new(Aligned::new(floats, |_| 1.0));
    let call = |data: &Aligned, sum: &mut f32| *sum = dispatch!(level(), s => load(s, data.get()));
    // Each lane counts to 2^24 without error. The sum of the lanes is rounded.
    let wrong = move |sum: &f32| (f64::from(*sum) / floats as f64 - 1.0).abs();
    subjects.kernel("condyle", 1e-5, &data, 0.0, call, wrong);
}

#[inline(always)]
fn load<S: Simd>(s: S, data: &[f32]) -> f32 {
    let lanes = S::f32s::LEN;
    let [mut a, mut b, mut c, mut d] = [S::f32s::splat(s, 0.0); 4];
    let [mut e, mut f, mut g, mut h] = [a; 4];
    for chunk in data.chunks_exact(CHAINS * lanes) {
        let at = |chain: usize| S::f32s::from_slice(s, &chunk[chain * lanes..][..lanes]);
        a += at(0);
        b += at(1);
        c += at(2);
        d += at(3);
        e += at(4);
        f += at(5);
        g += at(6);
        h += at(7);
    }
    let all = [a + b, c + d, e + f, g + h];
    all.iter().flat_map(|v| v.as_slice()).sum()
}

fn storing(subjects: &mut Subjects, floats: usize) {
    subjects.only_fast();
    let call = |value: &f32, out: &mut Aligned| dispatch!(level(), s => store(s, *value, out.get_mut()));
    let wrong = |out: &Aligned| {
        if out.get().iter().all(|&v| v == 3.0) { 0.0 } else { f64::INFINITY }
    };
    subjects.kernel("condyle", 0.0, &Rc::new(3.0), Aligned::new(floats, |_| 0.0), call, wrong);
}

#[inline(always)]
fn store<S: Simd>(s: S, value: f32, out: &mut [f32]) {
    let value = S::f32s::splat(s, value);
    for out in out.chunks_exact_mut(S::f32s::LEN) {
        value.store_slice(out);
    }
}

fn copying(subjects: &mut Subjects, floats: usize) {
    subjects.only_fast();
    let from = Rc::new(Aligned::new(floats, |i| i as f32));
    let to = || Aligned::new(floats, |_| 0.0);
    let wrong = |sign: f32, want: Rc<Aligned>| {
        move |to: &Aligned| {
            let same = to.get().iter().zip(want.get()).all(|(to, from)| *to == sign * from);
            if same { 0.0 } else { f64::INFINITY }
        }
    };
    let call = |from: &Aligned, to: &mut Aligned| dispatch!(level(), s => copy(s, from.get(), to.get_mut()));
    subjects.kernel("condyle", 0.0, &from, to(), call, wrong(-1.0, from.clone()));
    let call = |from: &Rc<Aligned>, to: &mut Aligned| to.get_mut().copy_from_slice(from.get());
    subjects.peer("plain", from.clone(), to(), call, wrong(1.0, from.clone()));
}

/// Copies with the sign flipped, because the compiler would replace a plain copy with the system's copy.
#[inline(always)]
fn copy<S: Simd>(s: S, from: &[f32], to: &mut [f32]) {
    let lanes = S::f32s::LEN;
    for (from, to) in from.chunks_exact(lanes).zip(to.chunks_exact_mut(lanes)) {
        (-S::f32s::from_slice(s, from)).store_slice(to);
    }
}

fn arithmetic(subjects: &mut Subjects, numeric: Numeric) {
    subjects.only_fast();
    let call = move |start: &f32, out: &mut f32| {
        *out = match numeric {
            Numeric::Fast => dispatch!(level(), s => chains(s, *start, |a, b, c| a.mul_add(b, c))),
            Numeric::Portable => dispatch!(level(), s => chains(s, *start, |a, b, c| a * b + c)),
        };
    };
    // Each step halves and adds 0.5, so the start value 1 does not change.
    let wrong = |out: &f32| (f64::from(*out) - 1.0).abs();
    subjects.kernel("condyle", 0.0, &Rc::new(1.0), 0.0, call, wrong);
}

#[inline(always)]
fn chains<S: Simd>(s: S, start: f32, step: impl Fn(S::f32s, S::f32s, S::f32s) -> S::f32s) -> f32 {
    let half = S::f32s::splat(s, 0.5);
    let [mut a, mut b, mut c, mut d] = [S::f32s::splat(s, start); 4];
    let [mut e, mut f, mut g, mut h] = [a; 4];
    for _ in 0..FLOPS / (2 * CHAINS * S::f32s::LEN) {
        a = step(a, half, half);
        b = step(b, half, half);
        c = step(c, half, half);
        d = step(d, half, half);
        e = step(e, half, half);
        f = step(f, half, half);
        g = step(g, half, half);
        h = step(h, half, half);
    }
    let all = [a + b, c + d, e + f, g + h];
    all.iter().flat_map(|v| v.as_slice()).sum::<f32>() / (CHAINS * S::f32s::LEN) as f32
}
