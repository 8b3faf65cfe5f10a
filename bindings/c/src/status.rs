//! Status codes, and the error text in the caller's memory.

use std::fmt::{self, Write};

use runtime::Error;

/// Version of the binary interface that the header describes. Compare it with `condyle_abi_version()`.
pub const CONDYLE_ABI_VERSION: u32 = 1;

/// Returns the version of the binary interface of this library.
///
/// A program that loads the dynamic library at run time compares it with `CONDYLE_ABI_VERSION`. Other values
/// are incompatible.
#[unsafe(no_mangle)]
pub extern "C" fn condyle_abi_version() -> u32 {
    CONDYLE_ABI_VERSION
}

/// Returns the version of the library as text, such as "0.1.0". The text lives forever.
#[unsafe(no_mangle)]
pub extern "C" fn condyle_version() -> *const std::ffi::c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// Result of a call. 0 is success.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum condyle_status {
    /// Success.
    CONDYLE_OK = 0,
    /// A pointer is null, misaligned, or overlaps another argument.
    CONDYLE_INVALID_POINTER = 1,
    /// A number is out of range or not finite, or a constant is unknown.
    CONDYLE_INVALID_ARGUMENT = 2,
    /// Arguments do not belong together: an array has another length, or a clip another skeleton.
    CONDYLE_MISMATCH = 3,
    /// No clip, joint or model has this name or index.
    CONDYLE_NOT_FOUND = 4,
    /// The file cannot be read: it does not exist, or access is denied.
    CONDYLE_UNREADABLE = 5,
    /// The contents of the file are invalid. The text lists the problems.
    CONDYLE_INVALID_FILE = 6,
    /// This build or version of the library cannot do this.
    CONDYLE_UNSUPPORTED = 7,
    /// The request cannot be met: no result is within the error budget, or a clip has no contacts.
    CONDYLE_NO_RESULT = 8,
    /// A bug in the library. Output of this call is incomplete; please report the text.
    CONDYLE_INTERNAL_ERROR = 9,
}

pub(crate) use condyle_status::*;

/// Size of the text in `condyle_error`, with its terminating zero.
pub const CONDYLE_ERROR_TEXT: usize = 1020;

/// Description of the last failed call that received this structure. Needs no initialisation, because a
/// successful call does not touch it.
#[repr(C)]
pub struct condyle_error {
    /// Status that the call returned.
    pub status: condyle_status,
    /// Name of the argument, value found and value needed: UTF-8 with a terminating zero. A longer text ends
    /// with "...".
    pub text: [std::ffi::c_char; CONDYLE_ERROR_TEXT],
}

const _: () = assert!(size_of::<condyle_error>() == 1024);

/// Reason that a call failed.
pub(crate) enum Fault {
    /// A null pointer.
    Null(&'static str),
    /// A pointer that is not a multiple of `needed`.
    Misaligned { what: &'static str, needed: usize },
    /// Two arguments with common memory, of which one is written.
    Overlap(&'static str, &'static str),
    /// A structure with the wrong `size`.
    Size { what: &'static str, found: usize, needed: usize },
    /// An array of more elements than memory has bytes.
    TooLong(&'static str),
    /// An error of the library.
    Library(Error),
    /// Any other reason.
    Other(condyle_status, String),
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::Library(error)
    }
}

impl Fault {
    pub(crate) fn status(&self) -> condyle_status {
        match self {
            Self::Null(_) | Self::Misaligned { .. } | Self::Overlap(..) => CONDYLE_INVALID_POINTER,
            Self::Size { .. } => CONDYLE_UNSUPPORTED,
            Self::TooLong(_) => CONDYLE_INVALID_ARGUMENT,
            Self::Library(error) => status_of(error),
            Self::Other(status, _) => *status,
        }
    }
}

fn status_of(error: &Error) -> condyle_status {
    match error {
        Error::TooShort { .. }
        | Error::Length { .. }
        | Error::TooMany { .. }
        | Error::Index { .. }
        | Error::Skeleton { .. }
        | Error::RestPose { .. } => CONDYLE_MISMATCH,
        Error::Truncated { .. }
        | Error::Magic { .. }
        | Error::Version { .. }
        | Error::Checksum { .. }
        | Error::Value { .. }
        | Error::NotText { .. } => CONDYLE_INVALID_FILE,
        Error::NoContacts { .. } | Error::OverBudget { .. } => CONDYLE_NO_RESULT,
        Error::UnknownName { .. } => CONDYLE_NOT_FOUND,
        Error::Internal { .. } => CONDYLE_INTERNAL_ERROR,
        _ => CONDYLE_INVALID_ARGUMENT,
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null(what) => write!(f, "{what} is null"),
            Self::Misaligned { what, needed } => {
                write!(f, "{what} is not aligned: its address must be a multiple of {needed}")
            }
            Self::Overlap(a, b) => write!(f, "{a} and {b} overlap: pass a separate output"),
            Self::Size { what, found, needed } => write!(
                f,
                "{what}->size is {found}, expected {needed}: initialise it, and use the header of this version"
            ),
            Self::TooLong(what) => write!(f, "{what} has more elements than the address space"),
            Self::Library(error) => write!(f, "{error}"),
            Self::Other(_, text) => f.write_str(text),
        }
    }
}

impl condyle_error {
    /// Stores a status and its text, shortened at the end of a character.
    pub(crate) fn set(&mut self, status: condyle_status, text: fmt::Arguments<'_>) {
        self.status = status;
        let mut out = Buffer { text: &mut self.text, used: 0, full: false };
        // A full buffer is marked below.
        out.write_fmt(text).ok();
        let (used, full) = (out.used, out.full);
        self.text[used] = 0;
        if full {
            for (byte, dot) in self.text[used..].iter_mut().zip(*b"...\0") {
                *byte = dot as _;
            }
        }
    }
}

/// Writes text until three dots and a zero would no longer fit.
struct Buffer<'a> {
    text: &'a mut [std::ffi::c_char; CONDYLE_ERROR_TEXT],
    used: usize,
    full: bool,
}

impl Write for Buffer<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for character in text.chars() {
            // A zero would end the text.
            let character = if character == '\0' { '\u{fffd}' } else { character };
            let mut bytes = [0; 4];
            let bytes = character.encode_utf8(&mut bytes).as_bytes();
            if self.used + bytes.len() > self.text.len() - 4 {
                self.full = true;
                return Err(fmt::Error);
            }
            for (out, byte) in self.text[self.used..].iter_mut().zip(bytes) {
                *out = *byte as _;
            }
            self.used += bytes.len();
        }
        Ok(())
    }
}

/// Error for a constant that does not exist.
pub(crate) fn unknown(what: &str, value: u32, needed: &str) -> Fault {
    Fault::Other(CONDYLE_INVALID_ARGUMENT, format!("{what} is {value}, expected {needed}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        let mut error = condyle_error { status: CONDYLE_OK, text: [1; CONDYLE_ERROR_TEXT] };
        error.set(CONDYLE_MISMATCH, format_args!("{text}"));
        assert_eq!(error.status, CONDYLE_MISMATCH);
        let bytes: Vec<u8> = error.text.iter().map(|c| *c as u8).take_while(|c| *c != 0).collect();
        String::from_utf8(bytes).expect("whole characters")
    }

    #[test]
    fn long_text_is_shortened_between_characters() {
        assert_eq!(shown("mask: 3 joints"), "mask: 3 joints");
        assert_eq!(shown("a\0b"), "a\u{fffd}b");
        for start in 0..4 {
            let text = "x".repeat(start) + &"\u{20ac}".repeat(1000);
            let short = shown(&text);
            assert!(short.ends_with("\u{20ac}..."), "{short}");
            assert!((CONDYLE_ERROR_TEXT - 8..CONDYLE_ERROR_TEXT).contains(&short.len()), "{}", short.len());
        }
        let fits = "x".repeat(CONDYLE_ERROR_TEXT - 4);
        assert_eq!(shown(&fits), fits);
    }
}
