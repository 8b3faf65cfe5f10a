//! The form in which clips are written, and the reason why a file grows.

use condyle::{Error, RawClip};
use condyle_encode::{EncodeOptions, KeyFormat, reduce};
use condyle_gltf::{Asset, ClipExporter, ExportError};
use serde_json::{Value, json};

use crate::text::size;

/// Approximate size of the JSON of a track: a channel, a sampler and an accessor.
const TRACK: usize = 180;

/// Writes clips, compressed or not.
pub(super) struct Form<'a> {
    pub(super) exporter: ClipExporter<'a>,
    /// Uses `EXT_meshopt_compression`, if that is smaller.
    pub(super) compressed: bool,
}

impl Form<'_> {
    /// Returns the smaller of two files, uncompressed and compressed, and its clips. If compression adds more
    /// bytes than it saves, clears `compressed` for all later calls.
    pub(super) fn smaller_glb(
        &mut self,
        [plain, compressed]: [Vec<RawClip>; 2],
    ) -> Result<(Vec<u8>, Vec<RawClip>), ExportError> {
        let glb = self.exporter.packed_glb(&plain)?;
        if self.compressed {
            let smaller = self.exporter.compressed_glb(&compressed)?;
            if smaller.len() < glb.len() {
                return Ok((smaller, compressed));
            }
        }
        self.compressed = false;
        Ok((glb, plain))
    }

    /// Returns the bytes of the times and values of these clips.
    pub(super) fn bytes(&self, clips: &[RawClip]) -> Result<usize, ExportError> {
        match self.compressed {
            true => self.exporter.compressed_bytes(clips),
            false => self.exporter.packed_bytes(clips),
        }
    }

    /// Returns the clip in its smallest form for an uncompressed file, and in its smallest form for a
    /// compressed file. A form is the original clip, or a clip with fewer keys in a number format of that
    /// file.
    pub(super) fn smallest(
        &self,
        clip: RawClip,
        asset: &Asset,
        options: &EncodeOptions,
    ) -> Result<[RawClip; 2], String> {
        let reduced = |format: KeyFormat| -> Result<RawClip, String> {
            let found = reduce(&clip, &asset.skeleton, options, format).map_err(|e: Error| e.to_string())?;
            Ok(found.clip)
        };
        let mut candidates = vec![reduced(KeyFormat::Shorts)?, clip.clone()];
        let plain = least(&candidates, |clip| self.exporter.packed_bytes(clip))?;
        if !self.compressed {
            return Ok([plain.clone(), plain]);
        }
        candidates.insert(1, reduced(KeyFormat::Filtered)?);
        Ok([plain, least(&candidates, |clip| self.exporter.compressed_bytes(clip))?])
    }
}

/// Returns the first of the clips with the fewest bytes.
fn least(
    clips: &[RawClip],
    bytes: impl Fn(&[RawClip]) -> Result<usize, ExportError>,
) -> Result<RawClip, String> {
    let size = |clip: &RawClip| -> Result<usize, String> {
        Ok(bytes(std::slice::from_ref(clip)).map_err(|e| e.to_string())? + TRACK * clip.tracks().len())
    };
    let sizes = clips.iter().map(size).collect::<Result<Vec<_>, _>>()?;
    let best = (0..clips.len()).min_by_key(|&at| sizes[at]).unwrap_or_default();
    Ok(clips[best].clone())
}

/// Reason why a file is larger than its source.
pub(super) struct Growth {
    /// Growth in bytes: of the file, of its JSON, of its keys, and of the rest.
    total: usize,
    json: i64,
    keys: i64,
    rest: i64,
    /// Extensions that keep the old keys in the file.
    kept_for: Vec<String>,
}

impl Growth {
    /// Returns `None` if `glb` is not larger. `before` is the size of all files of the source, the first of
    /// which is `source`.
    pub(super) fn of(
        form: &Form<'_>,
        clips: &[RawClip],
        glb: &[u8],
        (before, source): (usize, &[u8]),
    ) -> Option<Self> {
        let total = glb.len().checked_sub(before).filter(|more| *more > 0)?;
        let keys = form.bytes(clips).unwrap_or_default() as i64 - form.exporter.left_out_bytes() as i64;
        let json = json_bytes(glb) as i64 - json_bytes(source) as i64;
        let kept_for = form.exporter.kept_for().to_vec();
        Some(Self { total, json, keys, rest: total as i64 - json - keys, kept_for })
    }

    /// Formats the growth. `may_compress` is true if --meshopt or --mesh was given, or if the document
    /// requires compressed buffer views.
    pub(super) fn to_text(&self, may_compress: bool) -> String {
        let change = |bytes: i64| {
            format!("{}{}", if bytes < 0 { "-" } else { "+" }, size(bytes.unsigned_abs() as usize))
        };
        let (json, keys, rest) = (change(self.json), change(self.keys), change(self.rest));
        let mut text = format!(
            "larger than before by {}: JSON {json}, keys {keys}, everything else {rest}",
            size(self.total)
        );
        if !self.kept_for.is_empty() {
            text +=
                &format!("; the old keys stay, because {} may refer to them", self.kept_for.join(" and "));
        } else if self.keys > 0 {
            text += match may_compress {
                true => "; a higher --error makes the keys smaller",
                false => "; a higher --error or --meshopt makes the keys smaller",
            };
        }
        text
    }

    pub(super) fn to_json(&self) -> Value {
        json!({
            "bytes": self.total, "json": self.json, "keys": self.keys, "rest": self.rest, "kept_for": self.kept_for,
        })
    }
}

/// Returns the bytes of the JSON in a .glb, or of a whole .gltf.
fn json_bytes(file: &[u8]) -> usize {
    let length = file.get(12..16).filter(|_| file.starts_with(b"glTF"));
    let length = length.and_then(|four| Some(u32::from_le_bytes(four.try_into().ok()?) as usize));
    length.unwrap_or(file.len())
}
