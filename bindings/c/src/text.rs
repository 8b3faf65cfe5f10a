//! Text for C: names with a terminating zero.

use std::ffi::CString;

/// Copies a name. A zero inside it becomes U+FFFD.
pub(crate) fn c_text(text: &str) -> CString {
    let text = if text.contains('\0') { text.replace('\0', "\u{fffd}") } else { text.to_owned() };
    // No zero is left, so the default never applies.
    CString::new(text).unwrap_or_default()
}
