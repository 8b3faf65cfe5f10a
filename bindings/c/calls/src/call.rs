//! The frame of a call: its error structure, misuse on purpose, and the check of its status.

use capi::*;

use crate::World;
use crate::input::Input;

/// Calls a function of the interface, checks its status, and returns whether it succeeded.
macro_rules! call {
    ($world:ident, $function:ident($($argument:expr),* $(,)?)) => {{
        let error = $world.error();
        // SAFETY: the arguments follow the rules of the header, except those that it promises to refuse.
        let status = unsafe { capi::$function($($argument,)* error) };
        $world.check(stringify!($function), status)
    }};
}

/// Byte of memory that no call has written.
pub(crate) const UNTOUCHED: u8 = 0x5a;

/// Memory for a `condyle_error`.
#[repr(align(8))]
struct Place([u8; size_of::<condyle_error>()]);

/// Rules that the current call breaks.
pub(crate) struct Misuse {
    /// Number of pointers until the one that is replaced.
    countdown: Option<usize>,
    /// Whether the call must fail.
    pub(crate) must_fail: bool,
    error: Box<Place>,
    has_error: bool,
}

impl Misuse {
    pub(crate) fn new() -> Self {
        let error = Box::new(Place([UNTOUCHED; _]));
        Self { countdown: None, must_fail: false, error, has_error: false }
    }

    /// Decides about the next call.
    pub(crate) fn begin(&mut self, input: &mut Input<'_>) {
        self.must_fail = false;
        self.countdown = input.one_in(8).then(|| input.below(5));
    }

    /// Stops the misuse until `resume`.
    pub(crate) fn suspend(&mut self) -> (Option<usize>, bool) {
        (self.countdown.take(), std::mem::take(&mut self.must_fail))
    }

    pub(crate) fn resume(&mut self, countdown: Option<usize>, must_fail: bool) {
        (self.countdown, self.must_fail) = (countdown, must_fail);
    }
}

impl World<'_> {
    /// Place for the error of the next call: mostly a structure, sometimes null, rarely a misaligned pointer,
    /// which receives no error.
    pub(crate) fn error(&mut self) -> *mut condyle_error {
        self.misuse.error.0.fill(UNTOUCHED);
        let place = self.misuse.error.0.as_mut_ptr().cast::<condyle_error>();
        let choice = self.input.below(8);
        self.misuse.has_error = choice > 1;
        match choice {
            0 => std::ptr::null_mut(),
            1 => place.wrapping_byte_add(1),
            _ => place,
        }
    }

    /// Pointer that the call needs. Now and then it is null or misaligned.
    pub(crate) fn at<T>(&mut self, pointer: *const T) -> *const T {
        match self.misuse.countdown {
            None => return pointer,
            Some(0) => {}
            Some(left) => {
                self.misuse.countdown = Some(left - 1);
                return pointer;
            }
        }
        (self.misuse.countdown, self.misuse.must_fail) = (None, true);
        if align_of::<T>() == 1 || self.input.one_in(2) {
            return std::ptr::null();
        }
        let step = 1 + self.input.below(align_of::<T>() - 1);
        pointer.wrapping_byte_add(step)
    }

    /// Pointer that may be null. Now and then it is misaligned.
    pub(crate) fn optional<T>(&mut self, pointer: *const T) -> *const T {
        if self.input.one_in(2) { std::ptr::null() } else { self.present(pointer) }
    }

    /// Pointer that may be null, but is not. Now and then it is misaligned.
    pub(crate) fn present<T>(&mut self, pointer: *const T) -> *const T {
        let moved = self.at(pointer);
        if moved.is_null() { pointer.wrapping_byte_add(1) } else { moved }
    }

    /// Like `optional`, for output.
    pub(crate) fn optional_mut<T>(&mut self, pointer: *mut T) -> *mut T {
        let moved = self.optional(pointer.cast_const());
        if moved.is_null() {
            return std::ptr::null_mut();
        }
        pointer.wrapping_byte_add(moved.addr() - pointer.addr())
    }

    /// Like `at`, for output.
    pub(crate) fn at_mut<T>(&mut self, pointer: *mut T) -> *mut T {
        // The number of bytes by which the pointer moves, or a null pointer.
        let moved = self.at(pointer.cast_const());
        if moved.is_null() {
            std::ptr::null_mut()
        } else {
            pointer.wrapping_byte_add(moved.addr() - pointer.addr())
        }
    }

    /// Pointer to the elements of an array. An empty one may be null.
    pub(crate) fn array<T>(&mut self, slice: &[T], count: usize) -> *const T {
        match count {
            0 if self.input.one_in(2) => std::ptr::null(),
            0 => slice.as_ptr(),
            _ => self.at(slice.as_ptr()),
        }
    }

    /// Number of elements: mostly `right`, sometimes another, rarely one beyond the address space.
    pub(crate) fn count(&mut self, right: usize) -> usize {
        match self.input.below(40) {
            0 => right + 1,
            1 => right.saturating_sub(1),
            2 => 0,
            3 => right * 2,
            4 if self.misuse.countdown.take().is_some() => {
                self.misuse.must_fail = true;
                usize::MAX - self.input.below(3)
            }
            _ => right,
        }
    }

    /// `size` of a structure, rarely a wrong one.
    pub(crate) fn size<T>(&mut self) -> usize {
        if !self.input.one_in(50) {
            return size_of::<T>();
        }
        self.misuse.must_fail = true;
        self.input.pick(&[0, 1, size_of::<T>() + 8, usize::MAX])
    }

    /// Text with a terminating zero: known names, sometimes text that is not UTF-8.
    pub(crate) fn text(&mut self) -> std::ffi::CString {
        let choices: [&[u8]; 8] =
            [b"walk", b"", b"hip", b"two_joints", b"a.glb", b"a.condyle", "\u{20ac}".as_bytes(), b"\xff\xfe"];
        let chosen = self.input.below(choices.len());
        self.misuse.must_fail |= chosen == 7;
        std::ffi::CString::new(choices[chosen]).unwrap_or_default()
    }

    /// Checks the status of a call and its error, and returns whether it succeeded.
    pub(crate) fn check(&mut self, function: &str, status: condyle_status) -> bool {
        let misuse = &mut self.misuse;
        let ok = status == condyle_status::CONDYLE_OK;
        assert!(status != condyle_status::CONDYLE_INTERNAL_ERROR, "{function}: a bug");
        assert!(!(ok && misuse.must_fail), "{function} accepted arguments that the header refuses");
        (misuse.must_fail, misuse.countdown) = (false, None);
        let bytes = &misuse.error.0;
        if ok || !misuse.has_error {
            assert!(
                bytes.iter().all(|it| *it == UNTOUCHED),
                "{function} wrote an error, but returned {status:?}"
            );
            return ok;
        }
        let (code, text) = bytes.split_at(size_of::<condyle_status>());
        assert_eq!(code, (status as i32).to_ne_bytes(), "{function}");
        let text = std::ffi::CStr::from_bytes_until_nul(text).expect("a terminating zero");
        assert!(!text.to_str().expect("UTF-8").is_empty(), "{function}: {status:?} without a text");
        false
    }
}
