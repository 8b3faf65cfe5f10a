//! The file container: a binary .glb with its chunks, or the bare JSON of a .gltf.
//!
//! Source: glTF 2.0, "GLB File Format Specification".

use crate::extras;
use crate::foreign;
use crate::json::memory_of_text;
use crate::problem::Problems;
use crate::value::Value;

/// The parts of a document's main file.
pub(crate) struct Container<'a> {
    pub(crate) json: Value,
    /// The binary chunk of a .glb.
    pub(crate) binary: Option<&'a [u8]>,
}

const MAGIC: &[u8] = b"glTF";
const JSON_CHUNK: u32 = u32::from_le_bytes(*b"JSON");
const BINARY_CHUNK: u32 = u32::from_le_bytes(*b"BIN\0");
pub(crate) const ADVICE_1_0: &str = "glTF 1.0 is not supported: convert the file to glTF 2.0, \
                                      for example by opening and saving it in a current tool";

/// Splits the main file into its parts. Reports an error and returns `None` if there is no usable JSON.
pub(crate) fn read<'a>(bytes: &'a [u8], problems: &mut Problems) -> Option<Container<'a>> {
    let is_glb = bytes.starts_with(MAGIC);
    let (text, binary) = if is_glb { chunks(bytes, problems)? } else { (bytes, None) };
    if let Some(foreign) = (!is_glb).then(|| foreign::recognise(bytes)).flatten() {
        problems.refuse("", format!("the file is {}", foreign.what), foreign.advice);
        return None;
    }
    let name = match (is_glb, text.trim_ascii_start().first()) {
        (true, _) => format!("the JSON chunk (at byte {})", text.as_ptr() as usize - bytes.as_ptr() as usize),
        (false, Some(b'{' | b'[' | 0xef)) => "the JSON".into(),
        (false, _) => "the file is not a .glb, and as JSON it".into(),
    };
    Some(Container { json: parse(text, &name, problems)?, binary })
}

fn chunks<'a>(bytes: &'a [u8], problems: &mut Problems) -> Option<(&'a [u8], Option<&'a [u8]>)> {
    let Some((header, mut rest)) = bytes.split_at_checked(12) else {
        problems.error("", format!("the .glb header takes 12 bytes, but the file has only {}", bytes.len()));
        return None;
    };
    match word(header, 4) {
        2 => {}
        1 => {
            problems.error("", ADVICE_1_0);
            return None;
        }
        version => {
            problems.error("", format!("the .glb header has version {version}, only 2 is supported"));
            return None;
        }
    }
    let declared = word(header, 8) as usize;
    rest = &rest[..rest.len().min(declared.saturating_sub(12))];
    let end = 12 + rest.len();
    let (mut json, mut binary) = (None, None);
    while let Some((header, body)) = rest.split_at_checked(8) {
        let at = end - rest.len();
        let (length, kind) = (word(header, 0) as usize, word(header, 4));
        let Some((chunk, after)) = body.split_at_checked(length) else {
            if declared > bytes.len() {
                let what = format!("the file is cut off: {} of {declared} bytes", bytes.len());
                problems.refuse("", what, "copy or download it again");
                return None;
            }
            let what =
                format!("the chunk at byte {at} declares {length} bytes, but only {} are left", body.len());
            problems.error("", what);
            return None;
        };
        if length % 4 != 0 {
            problems.warning(
                "",
                format!("the chunk at byte {at} has a length of {length}, not a multiple of 4"),
                "read anyway",
            );
        }
        match kind {
            JSON_CHUNK if json.is_none() => json = Some(chunk),
            BINARY_CHUNK if binary.is_none() && json.is_some() => binary = Some(chunk),
            JSON_CHUNK | BINARY_CHUNK => {
                problems.warning(
                    "",
                    format!("the chunk at byte {at} repeats a type, or precedes the JSON"),
                    "ignored",
                );
            }
            _ => problems.note(
                "",
                format!("the chunk at byte {at} has the unknown type {kind:#010x}"),
                "ignored",
            ),
        }
        rest = after;
    }
    if declared != bytes.len() {
        let what = format!("the .glb header declares {declared} bytes, but the file has {}", bytes.len());
        problems.warning("", what, "the lengths of the chunks are used");
    }
    if !rest.is_empty() {
        problems.warning("", format!("{} bytes follow the last chunk", rest.len()), "ignored");
    }
    if json.is_none() {
        problems.error("", "the .glb file has no JSON chunk");
    }
    Some((json?, binary))
}

fn word(bytes: &[u8], at: usize) -> u32 {
    bytes[at..].first_chunk().map_or(0, |b| u32::from_le_bytes(*b))
}

fn parse(mut text: &[u8], name: &str, problems: &mut Problems) -> Option<Value> {
    if let Some(rest) = text.strip_prefix(b"\xef\xbb\xbf") {
        problems.warning("", "the JSON begins with a byte order mark", "ignored");
        text = rest;
    }
    let end = text.iter().rposition(|&b| b != 0).map_or(0, |last| last + 1);
    if end < text.len() {
        problems.warning("", "the JSON is padded with zero bytes, not spaces", "ignored");
        text = &text[..end];
    }
    problems.afford("", memory_of_text(text))?;
    match extras::parse(text) {
        Ok(json @ Value::Object(_)) => Some(json),
        Ok(_) => {
            problems.error("", format!("{name} is not an object"));
            None
        }
        Err(error) => {
            problems.error("", format!("{name} cannot be read: {error}"));
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::Severity;

    fn glb(version: u32, declared: Option<u32>, chunks: &[(&[u8; 4], &[u8])], tail: &[u8]) -> Vec<u8> {
        let mut body = Vec::new();
        for (kind, data) in chunks {
            body.extend((data.len() as u32).to_le_bytes());
            body.extend(*kind);
            body.extend(*data);
        }
        body.extend(tail);
        let mut out = b"glTF".to_vec();
        out.extend(version.to_le_bytes());
        out.extend(declared.unwrap_or(12 + body.len() as u32).to_le_bytes());
        out.extend(body);
        out
    }

    fn severities(bytes: &[u8]) -> (bool, Vec<Severity>) {
        let mut problems = Problems::new(0);
        let read = read(bytes, &mut problems).is_some();
        (read, problems.list().iter().map(|p| p.severity).collect())
    }

    #[test]
    fn sound_files_pass_without_a_word() {
        let mut problems = Problems::new(0);
        let bytes = glb(2, None, &[(b"JSON", b"{\"a\":1} "), (b"BIN\0", b"1234")], b"");
        let container = read(&bytes, &mut problems).unwrap();
        assert_eq!((container.json["a"].as_u64(), container.binary), (Some(1), Some(&b"1234"[..])));
        assert!(read(b"{}", &mut problems).unwrap().binary.is_none());
        assert!(problems.list().is_empty());
    }

    #[test]
    fn harmless_oddities_are_warned_of() {
        let one: &[_] = &[(b"JSON", b"{}  ".as_slice())];
        assert_eq!(severities(b"\xef\xbb\xbf{}"), (true, vec![Severity::Warning]));
        assert_eq!(severities(&glb(2, Some(9999), one, b"")), (true, vec![Severity::Warning]));
        assert_eq!(severities(&glb(2, None, one, b"xyz")), (true, vec![Severity::Warning]));
        // Bytes after the declared end do not belong to the document, even if they form a chunk.
        let longer = glb(2, Some(24), &[one[0], (b"BIN\0", b"1234")], b"");
        let mut problems = Problems::new(0);
        assert_eq!(read(&longer, &mut problems).unwrap().binary, None);
        assert_eq!(problems.list().len(), 1);
        assert_eq!(severities(&glb(2, None, &[(b"JSON", b"{}\0\0")], b"")), (true, vec![Severity::Warning]));
        assert_eq!(
            severities(&glb(2, None, &[(b"JSON", b"{}  "), (b"BIN\0", b"123")], b"")),
            (true, vec![Severity::Warning])
        );
        assert_eq!(
            severities(&glb(2, None, &[(b"JSON", b"{}  "), (b"XXXX", b"1234")], b"")),
            (true, vec![Severity::Note])
        );
    }

    #[test]
    fn errors_name_what_is_broken() {
        let error = |bytes: &[u8]| {
            let mut problems = Problems::new(0);
            assert!(read(bytes, &mut problems).is_none());
            problems.list()[0].what.clone()
        };
        let chunk = error(&glb(2, None, &[(b"JSON", b"{\"a\":1x}")], b""));
        assert!(chunk.starts_with("the JSON chunk (at byte 20) cannot be read"), "{chunk}");
        let number = error(b" {\"a\": 1e999}");
        assert!(number.starts_with("the JSON cannot be read: number out of range"), "{number}");
        assert!(error(b"\x89PGN").starts_with("the file is not a .glb, and as JSON it cannot be read"));
    }

    #[test]
    fn values_out_of_proportion_to_their_text() {
        let text = format!("{{\"a\":[{}0]}}", "{},".repeat(7_000_000));
        let mut problems = Problems::new(text.len());
        assert!(read(text.as_bytes(), &mut problems).is_none());
        assert!(problems.list()[0].what.contains("a document of this size"), "{:?}", problems.list());
    }

    #[test]
    fn broken_files_are_refused() {
        let one: &[_] = &[(b"JSON", b"{}  ".as_slice())];
        let refused = (false, vec![Severity::Error]);
        assert_eq!(severities(&glb(1, None, one, b"")), refused);
        assert_eq!(severities(&glb(3, None, one, b"")), refused);
        assert!(!severities(&glb(2, None, &[(b"BIN\0", b"1234")], b"")).0);
        assert_eq!(severities(b"[]"), refused);
        assert_eq!(severities(b""), refused);
        assert_eq!(severities("[".repeat(100_000).as_bytes()), refused);
        let whole = glb(2, None, &[(b"JSON", b"{}  "), (b"BIN\0", b"1234")], b"");
        for end in 0..whole.len() {
            // Cut between the chunks, the file is complete except for its declared length.
            assert_eq!(severities(&whole[..end]).0, (24..32).contains(&end), "{end} bytes");
        }
    }
}
