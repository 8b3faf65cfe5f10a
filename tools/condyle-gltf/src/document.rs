//! A document with its data: the JSON, and the bytes of each buffer view.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::container::{self, Container};
use crate::draco;
use crate::extensions;
use crate::extras;
use crate::foreign;
use crate::json::{self, Json};
use crate::meshopt;
use crate::problem::{Problem, Problems, Refused};
use crate::uri::{self, Files, Resource};
use crate::value::Value;

/// A glTF document: its JSON, and the bytes of its buffer views.
///
/// Meshes compressed by `KHR_draco_mesh_compression` are decoded. The JSON then has accessors and buffer
/// views for them after those of the file, and the extension is removed. If the file has the same meshes
/// uncompressed and does not require the extension, the uncompressed meshes are read.
///
/// ```
/// use condyle_gltf::Document;
///
/// let json = br#"{"asset": {"version": "2.0"}, "nodes": [{"extras": {"health": 80}}]}"#;
/// let document = Document::from_slice("barrel.gltf", json, None)?;
/// assert_eq!(document.json_at("/nodes/0/extras/health").as_deref(), Some("80"));
/// assert_eq!(document.json_at("/nodes/1"), None);
/// # Ok::<(), condyle_gltf::Refused>(())
/// ```
#[derive(Clone)]
pub struct Document {
    pub(crate) json: Value,
    /// The JSON of the file, if decoding meshes changed it.
    stored: Option<Value>,
    name: String,
    files: Files,
    buffers: Vec<Buffer>,
    views: Vec<Option<View>>,
    pub(crate) problems: Problems,
}

#[derive(Debug, Clone)]
struct Buffer {
    /// The data; `None` if it is missing, for example the fallback of compressed data.
    bytes: Option<Arc<[u8]>>,
    /// The declared size in bytes; the data can be longer.
    declared: Option<usize>,
}

#[derive(Debug, Clone)]
enum View {
    Slice { buffer: usize, start: usize, end: usize },
    Decoded(Vec<u8>),
}

/// A buffer view as the file stores it.
pub(crate) struct StoredView<'a> {
    /// The uncompressed bytes, which any reader can use. `None` if the file has only compressed bytes.
    pub(crate) plain: Option<&'a [u8]>,
    /// Extension name and compressed bytes.
    pub(crate) compressed: Option<(&'static str, &'a [u8])>,
}

/// Prints the name and the sizes, not the content.
impl fmt::Debug for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = |buffer: &Buffer| buffer.bytes.as_ref().map_or(0, |bytes| bytes.len());
        let mut all = f.debug_struct("Document");
        all.field("name", &self.name).field("buffers", &self.buffers.len());
        all.field("buffer_bytes", &self.buffers.iter().map(bytes).sum::<usize>());
        all.field("buffer_views", &self.views.len()).finish_non_exhaustive()
    }
}

impl Document {
    /// Reads a `.glb` or `.gltf` file and the buffers that it refers to.
    ///
    /// The content decides which of the two formats it is. External buffers must be in the file's folder or
    /// below.
    ///
    /// # Errors
    /// [`Refused`] if the file, its JSON, a buffer or a buffer view cannot be read, or if the document
    /// requires an unknown extension.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Refused> {
        Self::gather(path.as_ref())?.usable()
    }

    /// Reads a document from memory.
    ///
    /// `name` is used in messages. `folder` is searched for external files; without it the document must not
    /// refer to any.
    ///
    /// # Errors
    /// The same as for [`Document::open`].
    pub fn from_slice(name: &str, bytes: &[u8], folder: Option<&Path>) -> Result<Self, Refused> {
        Self::gather_slice(name, bytes, |_| folder.into())?.usable()
    }

    /// Reads a document whose external files the caller has, for example in a browser.
    ///
    /// `file` returns the bytes of a file by its path relative to the document, decoded and with `/`, or
    /// `None`. It is called once for each file of buffers and images.
    ///
    /// # Errors
    /// The same as for [`Document::open`].
    ///
    /// ```
    /// use condyle_gltf::Document;
    ///
    /// let json = br#"{"asset": {"version": "2.0"}, "buffers": [{"uri": "./a%20b.bin", "byteLength": 2}]}"#;
    /// let file = |path: &str| (path == "a b.bin").then(|| vec![1, 2]);
    /// let document = Document::from_parts("barrel.gltf", json, file)?;
    /// assert_eq!(document.resource("a b.bin"), Ok(vec![1, 2]));
    /// # Ok::<(), condyle_gltf::Refused>(())
    /// ```
    pub fn from_parts(
        name: &str,
        bytes: &[u8],
        file: impl FnMut(&str) -> Option<Vec<u8>>,
    ) -> Result<Self, Refused> {
        Self::gather_slice(name, bytes, |json| Files::named(uris(json), file))?.usable()
    }

    /// Takes a document that another reader made in memory: its JSON, and the bytes of the first buffer,
    /// which are empty without a buffer.
    ///
    /// `name` is used in messages. The document must not refer to external files. It equals the document that
    /// [`Document::from_slice`] reads from a `.glb` with this JSON and this binary chunk.
    ///
    /// # Errors
    /// The same as for [`Document::open`].
    ///
    /// ```
    /// use condyle_gltf::Document;
    ///
    /// let json = serde_json::json!({
    ///     "asset": {"version": "2.0"},
    ///     "buffers": [{"byteLength": 4}],
    ///     "bufferViews": [{"buffer": 0, "byteLength": 2}]
    /// });
    /// let document = Document::from_json("barrel.fbx", json, &[1, 2, 3, 4])?;
    /// assert_eq!(document.buffer_view(0), Some(&[1, 2][..]));
    /// # Ok::<(), condyle_gltf::Refused>(())
    /// ```
    pub fn from_json(name: &str, json: serde_json::Value, binary: &[u8]) -> Result<Self, Refused> {
        let json = extras::from_json(json);
        let memory = json::memory(&json);
        let mut problems = Problems::new(memory.saturating_add(binary.len()));
        if problems.afford("", memory).is_none() {
            return Err(problems.into_refused(name));
        }
        let binary = (!binary.is_empty()).then_some(binary);
        Self::load(name, Container { json, binary }, Files::None, problems).usable()
    }

    /// Returns the document's path, or the name given to [`Document::from_slice`].
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the document's JSON as text, for any parser.
    ///
    /// The values equal the values in the file, except for decoded meshes; white space can differ.
    #[must_use]
    pub fn json_text(&self) -> String {
        extras::to_text(&self.json)
    }

    /// Returns the JSON at a path in the document, such as `/materials/0/extras`, as text for any parser.
    ///
    /// Returns `None` if the path does not exist. Source: RFC 6901, "JSON Pointer".
    #[must_use]
    pub fn json_at(&self, pointer: &str) -> Option<String> {
        extras::text_at(&self.json, pointer)
    }

    /// Returns the direction that the character faces, in radians about +Y from +Z.
    ///
    /// This is 0, the convention of glTF, except for VRM 0.x characters, which face -Z: π.
    #[must_use]
    pub fn front(&self) -> f32 {
        let has = |extension| self.json.pointer(&format!("/extensions/{extension}")).is_some();
        if has("VRM") && !has("VRMC_vrm") { core::f32::consts::PI } else { 0.0 }
    }

    /// Returns the bytes of a buffer view, decoded if it is compressed. `None` if it does not exist or has no
    /// data.
    #[must_use]
    pub fn buffer_view(&self, index: usize) -> Option<&[u8]> {
        match self.views.get(index)?.as_ref()? {
            View::Slice { buffer, start, end } => self.buffers[*buffer].bytes.as_ref()?.get(*start..*end),
            View::Decoded(bytes) => Some(bytes),
        }
    }

    /// Returns the data of a URI in the document: embedded data, a file in the document's folder or below, or
    /// a file of [`Document::from_parts`].
    ///
    /// # Errors
    /// A message with the URI, if it refers to a file outside the folder or cannot be read.
    pub fn resource(&self, uri: &str) -> Result<Vec<u8>, String> {
        uri::load(uri, &self.files)
    }

    /// Returns the external files of the document's buffers and images, as sorted canonical paths.
    #[must_use]
    pub fn files(&self) -> Vec<PathBuf> {
        let located = uris(&self.json).filter_map(|uri| match uri::locate(uri, &self.files) {
            Ok(Resource::File(path)) => Some(path),
            Ok(Resource::Embedded(_) | Resource::Named(..)) | Err(_) => None,
        });
        let mut files = BTreeSet::new();
        files.extend(located);
        files.into_iter().collect()
    }

    /// Returns the recoverable problems of the container, the buffers and the buffer views.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        self.problems.list()
    }

    /// Returns the JSON of the file, in which compressed meshes are still compressed.
    pub(crate) fn stored_json(&self) -> &Value {
        self.stored.as_ref().unwrap_or(&self.json)
    }

    /// Changes the JSON, and the JSON of the file if decoded meshes made the two differ. The change must not
    /// remove meshes, accessors or buffer views.
    pub(crate) fn edit(&mut self, change: impl Fn(&mut Value)) {
        change(&mut self.json);
        self.stored.iter_mut().for_each(change);
    }

    /// Returns the bytes of a buffer view as the file stores them.
    pub(crate) fn stored_view(&self, index: usize) -> Option<StoredView<'_>> {
        let view = Json::root(self.stored_json()).item("bufferViews", index)?;
        let bytes = |of: &Json<'_>| {
            let (buffer, start, end) = range(of, &self.buffers, &mut Problems::unheard())?;
            self.buffers[buffer].bytes.as_ref()?.get(start..end)
        };
        let compressed = meshopt::EXTENSIONS.iter().find_map(|&name| Some((name, view.extension(name)?)));
        match compressed {
            None => Some(StoredView { plain: Some(bytes(&view)?), compressed: None }),
            Some((name, form)) => {
                let required = extensions::requires(&Json::root(self.stored_json()), name);
                // Readers that support the required extension never read the fallback.
                let plain = bytes(&view).filter(|_| !required);
                Some(StoredView { plain, compressed: Some((name, bytes(&form)?)) })
            }
        }
    }

    pub(crate) fn view_count(&self) -> usize {
        self.views.len()
    }

    /// Returns the external files.
    pub(crate) fn external(&self) -> &Files {
        &self.files
    }

    fn usable(self) -> Result<Self, Refused> {
        if self.problems.has_errors() { Err(self.problems.into_refused(&self.name)) } else { Ok(self) }
    }

    /// Like [`Document::open`], but returns a document with errors too, provided its JSON can be read.
    pub(crate) fn gather(path: &Path) -> Result<Self, Refused> {
        let name = path.display().to_string();
        let bytes = uri::read_file(path).map_err(|error| {
            let mut problems = Problems::new(0);
            let what = format!("the file cannot be read: {error}");
            problems.refuse("", what, "check that the path is a regular file that you can read");
            problems.into_refused(&name)
        })?;
        // The parent of a bare file name is the empty path.
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Self::gather_slice(&name, &bytes, |_| Some(folder).into())
    }

    /// Like [`Document::gather`], from memory. `files` finds the external files of the JSON.
    pub(crate) fn gather_slice(
        name: &str,
        bytes: &[u8],
        files: impl FnOnce(&Value) -> Files,
    ) -> Result<Self, Refused> {
        let mut problems = Problems::new(bytes.len());
        let Some(container) = container::read(bytes, &mut problems) else {
            return Err(problems.into_refused(name));
        };
        let files = files(&container.json);
        Ok(Self::load(name, container, files, problems))
    }

    /// Loads buffers and buffer views.
    fn load(name: &str, container: Container<'_>, files: Files, mut problems: Problems) -> Self {
        let mut document = Self {
            json: container.json,
            stored: None,
            name: name.into(),
            files,
            buffers: Vec::new(),
            views: Vec::new(),
            problems: Problems::unheard(),
        };
        let root = Json::root(&document.json);
        extensions::check_version(&root, &mut problems);
        extensions::check(&root, &mut problems);
        document.buffers = load_buffers(&root, container.binary, &document.files, &mut problems);
        document.views = load_views(&root, &document.buffers, &mut problems);
        let mut expansion = draco::expand(&root, |view| document.buffer_view(view), &mut problems);
        let decoded = std::mem::take(&mut expansion.views);
        document.views.extend(decoded.into_iter().map(|bytes| bytes.map(View::Decoded)));
        if !expansion.is_empty() {
            document.stored = Some(document.json.clone());
            expansion.apply(&mut document.json);
        }
        document.problems = problems;
        document
    }
}

/// Returns the URIs of all buffers and images.
fn uris(json: &Value) -> impl Iterator<Item = &str> {
    let lists = ["buffers", "images"].into_iter().filter_map(|key| json.get(key)?.as_array());
    lists.flatten().filter_map(|item| item.get("uri")?.as_str())
}

fn load_buffers(
    root: &Json<'_>,
    binary: Option<&[u8]>,
    external: &Files,
    problems: &mut Problems,
) -> Vec<Buffer> {
    let mut files = HashMap::new();
    let mut buffers = Vec::new();
    let compressed = meshopt::EXTENSIONS.iter().any(|name| extensions::requires(root, name));
    for (index, buffer) in root.objects("buffers", problems).iter().enumerate() {
        let declared = buffer.require("byteLength", problems).and_then(|v| v.whole(problems));
        // Views of a fallback buffer also have compressed data, and that is used. The fallback is read only
        // to be exported.
        let mut marks = meshopt::EXTENSIONS.iter().filter_map(|name| buffer.extension(name));
        let fallback = marks.any(|mark| mark.flag("fallback", problems));
        let bytes = match (buffer.get("uri"), binary) {
            (Some(uri), _) if fallback && !compressed => {
                let text = uri.value.as_str().unwrap_or_default();
                let bytes = load_buffer(text, external, &mut files, problems).ok();
                bytes.filter(|bytes| declared.is_some_and(|declared| bytes.len() >= declared))
            }
            _ if fallback => None,
            (Some(uri), _) => uri.text(problems).and_then(|text| {
                let bytes = load_buffer(text, external, &mut files, problems);
                bytes.map_err(|error| problems.refuse(&uri.path, error, external.advice())).ok()
            }),
            (None, Some(chunk)) if index == 0 => Some(chunk.into()),
            (None, _) => None,
        };
        if let (Some(bytes), Some(declared)) = (&bytes, declared)
            && bytes.len() < declared
        {
            let what = format!("declares {declared} bytes, but its data has {}", bytes.len());
            match foreign::lfs_pointer(bytes) {
                Some(advice) => {
                    problems.refuse(&buffer.path, format!("{what}: it is a Git LFS pointer"), advice);
                }
                None => problems.error(&buffer.path, what),
            }
        }
        buffers.push(Buffer { bytes, declared });
    }
    if binary.is_some_and(|b| !b.is_empty()) && buffers.is_empty() {
        problems.note("", "the binary chunk is not used by any buffer", "ignored");
    }
    buffers
}

/// Reads each file once, because a hostile document could refer to a large file a thousand times.
fn load_buffer(
    uri: &str,
    external: &Files,
    files: &mut HashMap<PathBuf, Arc<[u8]>>,
    problems: &mut Problems,
) -> Result<Arc<[u8]>, String> {
    let path = match uri::locate(uri, external)? {
        Resource::Embedded(bytes) => return Ok(bytes.into()),
        Resource::File(path) => path,
        Resource::Named(path, bytes) => {
            if files.insert(path, bytes.clone()).is_none() {
                problems.allow_more(bytes.len());
            }
            return Ok(bytes);
        }
    };
    if let Some(known) = files.get(&path) {
        return Ok(known.clone());
    }
    let bytes: Arc<[u8]> = uri::read_file(&path).map_err(|e| uri::cannot_be_read(uri, &e))?.into();
    problems.allow_more(bytes.len());
    files.insert(path, bytes.clone());
    Ok(bytes)
}

fn load_views(root: &Json<'_>, buffers: &[Buffer], problems: &mut Problems) -> Vec<Option<View>> {
    let views = root.objects("bufferViews", problems);
    let refused = extensions::refused(root);
    let load = |view: &Json<'_>| {
        if extensions::hides(&refused, view.value) { None } else { load_view(view, buffers, problems) }
    };
    views.iter().map(load).collect()
}

fn load_view(view: &Json<'_>, buffers: &[Buffer], problems: &mut Problems) -> Option<View> {
    let compressed = meshopt::EXTENSIONS.iter().find_map(|name| view.extension(name));
    let Some(compressed) = compressed else {
        let (buffer, start, end) = range(view, buffers, problems)?;
        return Some(View::Slice { buffer, start, end });
    };
    let (buffer, start, end) = range(&compressed, buffers, problems)?;
    let layout = meshopt::Layout::read(&compressed, problems)?;
    let declared = view.require("byteLength", problems)?.whole(problems)?;
    if declared != layout.byte_count() {
        let what = format!(
            "declares {declared} bytes, but decodes to {} elements of {} bytes",
            layout.count, layout.stride
        );
        problems.error(&view.path, what);
        return None;
    }
    problems.afford(&compressed.path, layout.byte_count())?;
    let source = &buffers[buffer].bytes.as_ref()?[start..end];
    match meshopt::decode(source, &layout) {
        Ok(bytes) => Some(View::Decoded(bytes)),
        Err(what) => {
            problems.error(&compressed.path, what);
            None
        }
    }
}

/// Returns `(buffer, start, end)`: the bytes of a buffer view, or of a compression extension in one.
fn range(view: &Json<'_>, buffers: &[Buffer], problems: &mut Problems) -> Option<(usize, usize, usize)> {
    let buffer = view.require("buffer", problems)?;
    let index = buffer.index("buffers", buffers.len(), problems)?;
    let start = view.whole_or("byteOffset", 0, problems)?;
    let length = view.require("byteLength", problems)?.whole(problems)?;
    let Some(bytes) = &buffers[index].bytes else {
        problems.error(&buffer.path, format!("refers to buffer {index}, whose data is missing"));
        return None;
    };
    match start.checked_add(length).filter(|&end| end <= bytes.len()) {
        Some(end) => {
            if let Some(declared) = buffers[index].declared.filter(|&declared| end > declared) {
                let what = format!("ends at byte {end}, but buffer {index} declares {declared} bytes");
                problems.warning(&view.path, what, "read from the data after the end of the buffer");
            }
            Some((index, start, end))
        }
        None => {
            let what = format!(
                "ends {length} bytes after byte {start}, but buffer {index} has {} bytes",
                bytes.len()
            );
            problems.error(&view.path, what);
            None
        }
    }
}

#[cfg(test)]
mod tests;
