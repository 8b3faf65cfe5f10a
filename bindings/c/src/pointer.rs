//! Pointers of the caller as references and slices. All `unsafe` of the arguments is here.
//!
//! The functions refuse null and misaligned pointers, and lengths beyond the address space. They rely on the
//! rules of the header for the rest. A pointer is null, or refers to as many initialised elements as its
//! count states, and no one else writes to them during the call.
//!
//! Output may be memory that the caller has not written yet. Only numbers are written through such slices.
//! Every bit pattern is a valid number, so no call depends on the old contents.

use std::ffi::{CStr, c_char};

use crate::status::Fault;

/// Reference to a value that the call reads.
macro_rules! shared {
    ($pointer:ident) => {
        shared!($pointer, stringify!($pointer))
    };
    ($pointer:expr, $what:expr) => {
        // SAFETY: by the rules of the header, the pointer is null or refers to a live value of its type.
        unsafe { crate::pointer::shared($what, $pointer) }?
    };
}

/// Reference to a value that the call reads, or `None` for null.
macro_rules! optional {
    ($pointer:ident) => {
        if $pointer.is_null() { None } else { Some(shared!($pointer)) }
    };
}

/// Reference to a value that the call changes.
macro_rules! exclusive {
    ($pointer:ident) => {
        // SAFETY: by the rules of the header, the pointer is null or refers to a live value of its type that
        // no other thread uses. The caller of this macro checks that no other argument is the same value.
        unsafe { crate::pointer::exclusive(stringify!($pointer), $pointer) }?
    };
}

/// Slice that the call reads. `as T` reads the elements as another type of the same layout.
macro_rules! elements {
    ($pointer:ident, $count:expr) => {
        elements!($pointer, stringify!($pointer), $count)
    };
    ($pointer:expr, $what:expr, $count:expr) => {
        // SAFETY: by the rules of the header, the pointer refers to as many elements as its count states.
        unsafe { crate::pointer::elements($what, $pointer, $count) }?
    };
}

/// Slice that the call reads, or `None` for null without elements.
macro_rules! optional_elements {
    ($pointer:expr, $what:expr, $count:expr) => {
        if $pointer.is_null() && $count == 0 { None } else { Some(elements!($pointer, $what, $count)) }
    };
}

/// Slice that the call writes.
macro_rules! elements_mut {
    ($pointer:ident, $count:expr) => {
        elements_mut!($pointer, stringify!($pointer), $count)
    };
    ($pointer:expr, $what:expr, $count:expr) => {
        // SAFETY: by the rules of the header, the pointer refers to as many elements as its count states, and
        // no other thread uses them. The caller of this macro checks that no other argument overlaps them.
        unsafe { crate::pointer::elements_mut($what, $pointer, $count) }?
    };
}

/// Text with a terminating zero.
macro_rules! text {
    ($pointer:ident) => {
        text!($pointer, stringify!($pointer))
    };
    ($pointer:expr, $what:expr) => {
        // SAFETY: by the rules of the header, the pointer is null or refers to text with a terminating zero.
        unsafe { crate::pointer::text($what, $pointer) }?
    };
}

/// Checks the place for a result before the work begins.
macro_rules! output {
    ($pointer:ident) => {
        crate::pointer::check(stringify!($pointer), $pointer)?
    };
}

/// Writes a result.
macro_rules! put {
    ($pointer:ident, $value:expr) => {{
        output!($pointer);
        let value = $value;
        // SAFETY: not null and aligned, and by the rules of the header a place for one value. It may be
        // uninitialised, so nothing is dropped.
        unsafe { $pointer.write(value) }
    }};
}

/// Checks the place for a result that the caller may not want.
#[cfg(feature = "solve")]
macro_rules! optional_output {
    ($pointer:ident) => {
        if !$pointer.is_null() {
            output!($pointer);
        }
    };
}

/// Writes a result that the caller may not want.
#[cfg(feature = "solve")]
macro_rules! put_optional {
    ($pointer:ident, $value:expr) => {
        if !$pointer.is_null() {
            put!($pointer, $value);
        }
    };
}

/// Writes a structure whose first field is its size. The caller has set the size.
macro_rules! put_sized {
    ($pointer:ident, $value:expr) => {{
        let value = $value;
        output!($pointer);
        // SAFETY: not null and aligned, and by the rules of the header a structure whose size is set.
        let found = unsafe { (*$pointer).size };
        crate::pointer::check_size(stringify!($pointer), found, value.size)?;
        // SAFETY: as above. The structure has the size that this library writes.
        unsafe { $pointer.write(value) }
    }};
}

/// Reference to a structure whose first field is its size.
macro_rules! sized {
    ($pointer:ident) => {{
        output!($pointer);
        // SAFETY: not null and aligned, and by the rules of the header a structure whose size is set.
        let found = unsafe { (*$pointer).size };
        crate::pointer::check_size(stringify!($pointer), found, crate::pointer::size_of_target($pointer))?;
        shared!($pointer)
    }};
}

/// Refuses null and misaligned pointers.
#[inline(always)]
pub(crate) fn check<T>(what: &'static str, pointer: *const T) -> Result<(), Fault> {
    if pointer.is_null() {
        Err(Fault::Null(what))
    } else if !pointer.is_aligned() {
        Err(Fault::Misaligned { what, needed: align_of::<T>() })
    } else {
        Ok(())
    }
}

/// Size of the structure that a pointer refers to.
#[inline(always)]
pub(crate) const fn size_of_target<T>(_: *const T) -> usize {
    size_of::<T>()
}

/// Refuses a structure of another version of the header.
#[inline(always)]
pub(crate) fn check_size(what: &'static str, found: usize, needed: usize) -> Result<(), Fault> {
    if found == needed { Ok(()) } else { Err(Fault::Size { what, found, needed }) }
}

/// # Safety
/// `pointer` is null, or refers to a live value that no one writes to during `'a`.
#[inline(always)]
pub(crate) unsafe fn shared<'a, T>(what: &'static str, pointer: *const T) -> Result<&'a T, Fault> {
    check(what, pointer)?;
    // SAFETY: not null and aligned; the rest is the promise of the caller.
    Ok(unsafe { &*pointer })
}

/// # Safety
/// `pointer` is null, or refers to a live value that no one else uses during `'a`.
#[inline(always)]
pub(crate) unsafe fn exclusive<'a, T>(what: &'static str, pointer: *mut T) -> Result<&'a mut T, Fault> {
    check(what, pointer)?;
    // SAFETY: not null and aligned; the rest is the promise of the caller.
    Ok(unsafe { &mut *pointer })
}

/// Refuses arrays of which `elements` and `elements_mut` make no slice.
#[inline(always)]
pub(crate) fn check_elements<T>(what: &'static str, pointer: *const T, count: usize) -> Result<(), Fault> {
    if count == 0 {
        return Ok(());
    }
    check(what, pointer)?;
    check_length::<T>(what, count)
}

/// # Safety
/// `check_elements` has passed, and `pointer` refers to `count` initialised elements that no one writes to
/// during `'a`.
#[inline(always)]
pub(crate) unsafe fn checked_elements<'a, T>(pointer: *const T, count: usize) -> &'a [T] {
    if count == 0 {
        return &[];
    }
    // SAFETY: the promise of the caller.
    unsafe { std::slice::from_raw_parts(pointer, count) }
}

/// # Safety
/// `check_elements` has passed, and `pointer` refers to `count` elements that no one else uses during `'a`.
#[inline(always)]
pub(crate) unsafe fn checked_elements_mut<'a, T>(pointer: *mut T, count: usize) -> &'a mut [T] {
    if count == 0 {
        return &mut [];
    }
    // SAFETY: the promise of the caller.
    unsafe { std::slice::from_raw_parts_mut(pointer, count) }
}

/// # Safety
/// `pointer` is null, or refers to `count` initialised elements that no one writes to during `'a`.
#[inline(always)]
pub(crate) unsafe fn elements<'a, T>(
    what: &'static str,
    pointer: *const T,
    count: usize,
) -> Result<&'a [T], Fault> {
    check_elements(what, pointer, count)?;
    // SAFETY: checked; the rest is the promise of the caller.
    Ok(unsafe { checked_elements(pointer, count) })
}

/// # Safety
/// `pointer` is null, or refers to `count` initialised elements that no one else uses during `'a`.
#[inline(always)]
pub(crate) unsafe fn elements_mut<'a, T>(
    what: &'static str,
    pointer: *mut T,
    count: usize,
) -> Result<&'a mut [T], Fault> {
    check_elements(what, pointer, count)?;
    // SAFETY: checked; the rest is the promise of the caller.
    Ok(unsafe { checked_elements_mut(pointer, count) })
}

#[inline(always)]
fn check_length<T>(what: &'static str, count: usize) -> Result<(), Fault> {
    match count.checked_mul(size_of::<T>()) {
        Some(bytes) if isize::try_from(bytes).is_ok() => Ok(()),
        _ => Err(Fault::TooLong(what)),
    }
}

/// # Safety
/// `pointer` is null, or refers to text with a terminating zero that no one writes to during `'a`.
pub(crate) unsafe fn text<'a>(what: &'static str, pointer: *const c_char) -> Result<&'a str, Fault> {
    check(what, pointer)?;
    // SAFETY: not null; the rest is the promise of the caller.
    let text = unsafe { CStr::from_ptr(pointer) };
    let invalid = |_| {
        let text = format!("{what} is not UTF-8");
        Fault::Other(crate::status::CONDYLE_INVALID_ARGUMENT, text)
    };
    text.to_str().map_err(invalid)
}

/// Memory that a call reads or writes.
#[derive(Clone, Copy)]
pub(crate) struct Range {
    what: &'static str,
    start: usize,
    bytes: usize,
}

impl Range {
    /// Memory of `count` elements. Null and empty ranges overlap nothing.
    #[inline(always)]
    pub(crate) fn new<T>(what: &'static str, pointer: *const T, count: usize) -> Self {
        Self { what, start: pointer.addr(), bytes: count.saturating_mul(size_of::<T>()) }
    }

    /// Memory of a slice.
    #[inline(always)]
    pub(crate) fn of<T>(what: &'static str, slice: &[T]) -> Self {
        Self { what, start: slice.as_ptr().addr(), bytes: size_of_val(slice) }
    }

    /// Does the same as [`new`](Self::new) for a count that `check_elements` has passed.
    #[inline(always)]
    pub(crate) fn checked<T>(what: &'static str, pointer: *const T, count: usize) -> Self {
        Self { what, start: pointer.addr(), bytes: count.wrapping_mul(size_of::<T>()) }
    }

    /// Whether one begins inside the other. An empty range is never inside another one.
    #[inline(always)]
    fn overlaps(self, other: Self) -> bool {
        let begins_in = |a: Self, b: Self| a.start.wrapping_sub(b.start) < b.bytes;
        begins_in(other, self) | begins_in(self, other)
    }
}

/// Refuses output that overlaps input or other output.
#[inline(always)]
pub(crate) fn check_apart<const W: usize, const R: usize>(
    written: [Range; W],
    read: [Range; R],
) -> Result<(), Fault> {
    for (at, a) in written.iter().enumerate() {
        // An absent attribute.
        if a.bytes == 0 {
            continue;
        }
        for b in &written[at + 1..] {
            if a.overlaps(*b) {
                return Err(Fault::Overlap(a.what, b.what));
            }
        }
        for b in &read {
            if a.overlaps(*b) {
                return Err(Fault::Overlap(a.what, b.what));
            }
        }
    }
    Ok(())
}

/// Refuses an input handle that is also the output.
#[inline(always)]
pub(crate) fn check_other<T>(
    [what, out_what]: [&'static str; 2],
    input: *const T,
    out: *const T,
) -> Result<(), Fault> {
    if std::ptr::eq(input, out) && !input.is_null() { Err(Fault::Overlap(out_what, what)) } else { Ok(()) }
}

/// Moves a value to the heap and writes its handle. `place` was checked by `output!`.
macro_rules! give {
    ($place:ident, $value:expr) => {{
        let value = $value;
        put!($place, Box::into_raw(Box::new(value)));
    }};
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlaps_are_found() {
        let data = [0_u32; 8];
        let part = |from: usize, count| Range::new("part", data[from..].as_ptr(), count);
        assert!(check_apart([part(0, 4)], [part(4, 4)]).is_ok());
        assert!(check_apart([part(0, 5)], [part(4, 4)]).is_err());
        assert!(check_apart([part(4, 4), part(0, 5)], []).is_err());
        assert!(check_apart([part(2, 0)], [part(0, 8)]).is_ok());
        assert!(check_apart([Range::new("part", data.as_ptr(), usize::MAX)], [part(7, 1)]).is_err());
    }

    #[test]
    fn lengths_beyond_the_address_space_are_refused() {
        assert!(check_length::<u64>("part", usize::MAX / 8).is_err());
        assert!(check_length::<u8>("part", isize::MAX as usize).is_ok());
        assert!(check_length::<u8>("part", isize::MAX as usize + 1).is_err());
    }
}
