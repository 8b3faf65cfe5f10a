//! The frame of every call: runs its body, catches panics, and reports errors.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::status::{CONDYLE_INTERNAL_ERROR, CONDYLE_OK, Fault, condyle_error, condyle_status};

/// Runs the body of a call. No panic leaves it.
#[inline(always)]
pub(crate) fn guard(error: *mut condyle_error, body: impl FnOnce() -> Result<(), Fault>) -> condyle_status {
    // A body writes only to the caller's output, whose content after an internal error is documented as
    // incomplete.
    match catch_unwind(AssertUnwindSafe(|| body().map_err(|fault| report(error, &fault)))) {
        Ok(Ok(())) => CONDYLE_OK,
        Ok(Err(status)) => status,
        Err(panic) => report_panic(error, panic),
    }
}

#[cold]
#[inline(never)]
fn report(error: *mut condyle_error, fault: &Fault) -> condyle_status {
    write(error, fault.status(), format_args!("{fault}"))
}

#[cold]
#[inline(never)]
fn report_panic(error: *mut condyle_error, panic: Box<dyn Any + Send>) -> condyle_status {
    let text = match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(text), _) => text,
        (None, Some(text)) => text.as_str(),
        (None, None) => "panic",
    };
    let status =
        write(error, CONDYLE_INTERNAL_ERROR, format_args!("bug in condyle, please report it: {text}"));
    // The destructor of a payload could panic. A leak is harmless here.
    std::mem::forget(panic);
    status
}

fn write(error: *mut condyle_error, status: condyle_status, text: std::fmt::Arguments<'_>) -> condyle_status {
    if error.is_null() || !error.is_aligned() {
        return status;
    }
    // SAFETY: not null, aligned, and by the rules of the header a `condyle_error` of the caller. It may be
    // uninitialised: zeroing it first makes every byte valid.
    unsafe { error.write_bytes(0, 1) };
    // SAFETY: as above, and all bytes are zero now, which is `CONDYLE_OK` with an empty text.
    let error = unsafe { &mut *error };
    error.set(status, text);
    status
}

/// Drops a value that the library allocated. No panic leaves the call.
pub(crate) fn free<T>(handle: *mut T) {
    if handle.is_null() {
        return;
    }
    // SAFETY: by the rules of the header, a handle that is freed was returned by this library and was not
    // freed before. All handles are made by `Box::into_raw` in `pointer::give`.
    let owned = unsafe { Box::from_raw(handle) };
    catch_unwind(AssertUnwindSafe(|| drop(owned))).ok();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panics_become_a_status() {
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| ()));
        let mut error = condyle_error { status: CONDYLE_OK, text: [0; _] };
        let status = guard(&mut error, || panic!("at {}", 7));
        std::panic::set_hook(hook);
        assert_eq!((status, error.status), (CONDYLE_INTERNAL_ERROR, CONDYLE_INTERNAL_ERROR));
        let text: String = error.text.iter().take_while(|c| **c != 0).map(|c| *c as u8 as char).collect();
        assert_eq!(text, "bug in condyle, please report it: at 7");
        assert_eq!(guard(std::ptr::null_mut(), || Err(Fault::Null("pose"))), Fault::Null("pose").status());
    }
}
