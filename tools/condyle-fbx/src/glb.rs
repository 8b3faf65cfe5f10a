//! Writes a `.glb`.
//!
//! Source: glTF 2.0, "GLB File Format Specification".

use serde_json::Value;

use crate::buffer::TooLarge;

/// Returns the bytes of a `.glb` with the document's JSON and its buffer, whose length is a multiple of 4.
pub(crate) fn write(json: &Value, binary: &[u8]) -> Result<Vec<u8>, TooLarge> {
    let mut text = json.to_string().into_bytes();
    text.resize(text.len().next_multiple_of(4), b' ');
    let length = 12 + 8 + text.len() + if binary.is_empty() { 0 } else { 8 + binary.len() };
    let word = |n: usize| u32::try_from(n).map(u32::to_le_bytes).map_err(|_| TooLarge);
    let mut glb = Vec::with_capacity(length);
    glb.extend_from_slice(b"glTF\x02\0\0\0");
    glb.extend_from_slice(&word(length)?);
    glb.extend_from_slice(&word(text.len())?);
    glb.extend_from_slice(b"JSON");
    glb.extend_from_slice(&text);
    if !binary.is_empty() {
        glb.extend_from_slice(&word(binary.len())?);
        glb.extend_from_slice(b"BIN\0");
        glb.extend_from_slice(binary);
    }
    Ok(glb)
}
