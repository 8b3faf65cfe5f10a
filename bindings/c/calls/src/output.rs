//! Memory for the output of a call, of exactly the stated size.

use std::mem::MaybeUninit;

use crate::World;
use crate::call::UNTOUCHED;

/// Output of `count` elements.
pub(crate) struct Output<T> {
    elements: Box<[MaybeUninit<T>]>,
}

impl<T> Output<T> {
    pub(crate) fn new(count: usize) -> Self {
        // A count beyond the address space is refused, so its array may be shorter.
        let count = if count > 1 << 20 { 1 } else { count };
        let mut elements: Box<[MaybeUninit<T>]> = (0..count).map(|_| MaybeUninit::uninit()).collect();
        // SAFETY: memory of this slice.
        unsafe { elements.as_mut_ptr().write_bytes(UNTOUCHED, count) };
        Self { elements }
    }

    pub(crate) fn pointer(&mut self) -> *mut T {
        self.elements.as_mut_ptr().cast()
    }

    /// Bytes, all initialised if no call has written them.
    fn is_untouched(&self) -> bool {
        let bytes = self.elements.as_ptr().cast::<u8>();
        // SAFETY: memory of this slice. `new` has initialised every byte, and a failed call writes nothing. A
        // call that writes padding anyway is the bug that this function looks for.
        let bytes = unsafe { std::slice::from_raw_parts(bytes, size_of_val(&*self.elements)) };
        bytes.iter().all(|it| *it == UNTOUCHED)
    }

    /// Element that a successful call has written.
    pub(crate) fn get(&self, at: usize) -> &T {
        // SAFETY: the callers pass elements that a successful call has written.
        unsafe { self.elements[at].assume_init_ref() }
    }

    /// Panics if a failed call has written to it.
    pub(crate) fn check(&self, ok: bool, function: &str) {
        assert!(ok || self.is_untouched(), "{function} failed and wrote its output");
    }
}

/// Output structure that begins with its size.
pub(crate) struct Sized<T> {
    output: Output<T>,
    size: usize,
}

impl<T> Sized<T> {
    pub(crate) fn new(world: &mut World<'_>) -> Self {
        Self::of(world.size::<T>())
    }

    /// Structure whose size is right.
    pub(crate) fn exact() -> Self {
        Self::of(size_of::<T>())
    }

    fn of(size: usize) -> Self {
        let mut output = Output::<T>::new(1);
        // SAFETY: all structures with this type begin with a `usize`.
        unsafe { output.pointer().cast::<usize>().write(size) };
        Self { output, size }
    }

    pub(crate) fn pointer(&mut self) -> *mut T {
        self.output.pointer()
    }

    pub(crate) fn get(&self) -> &T {
        self.output.get(0)
    }

    /// Panics if a failed call has written to it.
    pub(crate) fn check(&mut self, ok: bool, function: &str) {
        if !ok {
            let size = [UNTOUCHED; size_of::<usize>()];
            // SAFETY: as in `of`.
            let found = unsafe { self.output.pointer().cast::<usize>().replace(usize::from_ne_bytes(size)) };
            assert_eq!(found, self.size, "{function} failed and wrote the size");
            self.output.check(ok, function);
        }
    }
}
