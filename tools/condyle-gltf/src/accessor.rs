//! Typed, checked access to the document's numbers: all component types, strides, offsets and sparse
//! accessors.
//!
//! Source: glTF 2.0, "Accessors".

mod decode;

use std::collections::HashSet;

use crate::document::Document;
use crate::extensions;
use crate::format::{Component, Format, Shape, Usage};
use crate::json::{Json, Path, whole};
use crate::problem::{Problems, REFUSED, Severity, quoted};
use crate::value::Value;

impl Document {
    /// Returns the elements of an accessor, with normalised integers as fractions. Returns `None` unless the
    /// accessor is valid and has `count` elements of `N` numbers.
    pub(crate) fn vectors<const N: usize>(&self, accessor: usize, count: usize) -> Option<Vec<[f32; N]>> {
        // Only this accessor is checked, because there can be as many calls as accessors.
        let mut problems = Problems::new(count);
        let json = Json::root(&self.json).item("accessors", accessor)?;
        let accessor = Accessor::load(&json, &Views { document: self }, &mut problems)?;
        if accessor.count != count {
            return None;
        }
        accessor.vectors(&mut problems)
    }
}

/// A typed view of a buffer view. All its references have been checked.
#[derive(Debug, Clone)]
pub(crate) struct Accessor<'a> {
    pub(crate) count: usize,
    path: Path<'a>,
    pub(crate) format: Format,
    pub(crate) shape: Shape,
    /// Element data; without it, all elements are zero.
    elements: Option<Elements<'a>>,
    sparse: Option<Sparse<'a>>,
}

#[derive(Debug, Clone, Copy)]
struct Elements<'a> {
    bytes: &'a [u8],
    stride: usize,
}

#[derive(Debug, Clone, Copy)]
struct Sparse<'a> {
    count: usize,
    index: Component,
    indices: &'a [u8],
    values: &'a [u8],
}

/// All accessors of a document; `None` for invalid ones, which have been reported.
pub(crate) struct Accessors<'a> {
    json: Option<&'a Value>,
    list: Vec<Option<Accessor<'a>>>,
    quantization: bool,
    /// Unsupported extensions that make the importer refuse the document.
    refused: HashSet<&'a str>,
}

impl<'a> Accessors<'a> {
    pub(crate) fn load(document: &'a Document, problems: &mut Problems) -> Self {
        let root = Json::root(&document.json);
        let views = Views { document };
        let mut list = root.objects("accessors", problems);
        if problems.afford("/accessors", list.len() * size_of::<Accessor<'_>>()).is_none() {
            list.clear();
        }
        let refused = extensions::refused(&root);
        let load = |json: &Json<'a>, problems: &mut Problems| {
            if extensions::hides(&refused, json.value) {
                None
            } else {
                Accessor::load(json, &views, problems)
            }
        };
        Self {
            json: document.json.get("accessors"),
            list: list.iter().map(|json| load(json, problems)).collect(),
            quantization: extensions::uses(&root, "KHR_mesh_quantization"),
            refused,
        }
    }

    /// Returns the JSON of the accessor whose index is at `place`.
    pub(crate) fn json(&self, place: &Json<'_>) -> Option<&'a Value> {
        self.json?.get(whole(place.value)?)
    }

    /// Returns the accessor whose index is at `place`, of any type.
    pub(crate) fn at(&self, place: &Json<'_>) -> Option<Accessor<'a>> {
        self.list.get(whole(place.value)?)?.clone()
    }

    /// Returns whether the object uses an extension that makes the importer refuse the document.
    pub(crate) fn hides(&self, object: &Json<'_>) -> bool {
        extensions::hides(&self.refused, object.value)
    }

    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    /// Returns the accessor whose index is at `place`, if its type suits `usage`.
    pub(crate) fn get(
        &self,
        place: &Json<'_>,
        usage: &Usage,
        problems: &mut Problems,
    ) -> Option<Accessor<'a>> {
        let index = place.index("accessors", self.list.len(), problems)?;
        let mut accessor = self.list[index].clone()?;
        let found = accessor.format;
        let other = Format { normalized: !found.normalized, ..found };
        let allowed = |format| usage.formats.contains(&format) || usage.quantized.contains(&format);
        let describe = |format: Format| format!("accessor {index} is {} of {format}", accessor.shape.name());
        if accessor.shape != usage.shape || !(allowed(found) || allowed(other)) {
            let formats: Vec<_> = usage.formats.iter().map(Format::to_string).collect();
            let what =
                format!("{}, expected {} of {}", describe(found), usage.shape.name(), formats.join(" or "));
            problems.error(&place.path, what);
            return None;
        }
        if !allowed(found) {
            problems.warning(&place.path, describe(found), format!("read as {other}"));
            accessor.format = other;
        }
        if !usage.formats.contains(&accessor.format) && !self.quantization {
            let what = format!(
                "accessor {index} has components of {} without KHR_mesh_quantization",
                accessor.format
            );
            problems.warning(&place.path, what, "read as if the extension were listed");
        }
        Some(accessor)
    }
}

/// The document's buffer views.
struct Views<'a> {
    document: &'a Document,
}

impl<'a> Views<'a> {
    /// Returns the JSON of a buffer view.
    fn json(&self, index: usize) -> Option<Json<'a>> {
        Json::root(&self.document.json).item("bufferViews", index)
    }

    /// Returns the index of the buffer view in `owner.bufferView`, and its bytes from `owner.byteOffset` on.
    /// An offset that is not a multiple of `align` is only a warning, because bytes can be read at any
    /// offset.
    fn bytes(&self, owner: &Json<'a>, align: usize, problems: &mut Problems) -> Option<(usize, &'a [u8])> {
        let count = self.document.view_count();
        let index = owner.require("bufferView", problems)?.index("buffer views", count, problems)?;
        let offset = owner.whole_or("byteOffset", 0, problems)?;
        // A broken view has been reported.
        let bytes = self.document.buffer_view(index)?;
        let view_offset = self.json(index)?.value.get("byteOffset").and_then(Value::as_u64).unwrap_or(0);
        if !offset.is_multiple_of(align) || !view_offset.is_multiple_of(align as u64) {
            let what = format!(
                "begins at byte {offset} of a buffer view at byte {view_offset}, not at a multiple of {align}"
            );
            problems.warning(&owner.path, what, "read anyway");
        }
        match bytes.get(offset..) {
            Some(bytes) => Some((index, bytes)),
            None => {
                let what =
                    format!("begins at byte {offset}, but buffer view {index} has {} bytes", bytes.len());
                problems.error(&owner.path, what);
                None
            }
        }
    }

    /// Returns the bytes from one element to the next: the stride of the view, or `size` if it has no stride.
    fn stride(&self, index: usize, size: usize, align: usize, problems: &mut Problems) -> Option<usize> {
        let view = self.json(index)?;
        let stride = view.whole_or("byteStride", size, problems)?;
        let path = view.path.child("byteStride");
        if stride < size {
            problems.error(path, format!("is {stride}, but the elements take {size} bytes each"));
            return None;
        }
        if view.get("byteStride").is_some() && (!stride.is_multiple_of(align) || !(4..=252).contains(&stride))
        {
            problems.warning(
                path,
                format!("is {stride}, expected a multiple of {align} from 4 to 252"),
                "read anyway",
            );
        }
        Some(stride)
    }
}

impl<'a> Accessor<'a> {
    fn load(json: &Json<'a>, views: &Views<'a>, problems: &mut Problems) -> Option<Self> {
        let component = Component::of(json, problems);
        let shape = json.require("type", problems).and_then(|v| {
            let name = v.text(problems)?;
            let shape = Shape::NAMES.iter().find(|n| n.0 == name).map(|n| n.1);
            if shape.is_none() {
                problems.error(
                    &v.path,
                    format!("is {}, expected SCALAR, VEC2 to VEC4 or MAT2 to MAT4", quoted(name)),
                );
            }
            shape
        });
        let count = json.require("count", problems).and_then(|v| v.whole(problems));
        let (component, shape, count) = (component?, shape?, count?);
        let integer = !matches!(component, Component::U32 | Component::F32);
        let normalized = json.flag("normalized", problems);
        if normalized && !integer {
            let what = format!("{component:?} cannot be normalised");
            problems.warning(&json.path, what, "read as if `normalized` were false");
        }
        if count == 0 {
            problems.warning(&json.path, "`count` is 0, expected at least 1", "treated as empty");
        }
        let mut accessor = Self {
            count,
            path: json.path.clone(),
            format: Format { component, normalized: normalized && integer },
            shape,
            elements: None,
            sparse: None,
        };
        if json.get("bufferView").is_some() {
            let size = accessor.element_size();
            let (view, bytes) = views.bytes(json, component.size(), problems)?;
            let stride = views.stride(view, size, component.size(), problems)?;
            let end =
                count.checked_sub(1).map_or(Some(0), |last| last.checked_mul(stride)?.checked_add(size));
            if end.is_none_or(|end| end > bytes.len()) {
                let what = format!(
                    "{count} elements of {size} bytes, {stride} apart, do not fit the {} bytes \
                     from `byteOffset` to the end of buffer view {view}",
                    bytes.len()
                );
                problems.error(&json.path, what);
                return None;
            }
            accessor.elements = Some(Elements { bytes, stride });
        }
        if let Some(sparse) = json.get("sparse") {
            accessor.sparse = Some(accessor.load_sparse(&sparse, views, problems)?);
        }
        Some(accessor)
    }

    fn load_sparse(&self, json: &Json<'a>, views: &Views<'a>, problems: &mut Problems) -> Option<Sparse<'a>> {
        let count = json.require("count", problems)?.whole(problems)?;
        let (indices, values) = (json.require("indices", problems), json.require("values", problems));
        let (indices, values) = (indices?, values?);
        let index = Component::of(&indices, problems)?;
        if !matches!(index, Component::U8 | Component::U16 | Component::U32) {
            problems.error(&indices.path, format!("indices are {index:?}, expected U8, U16 or U32"));
            return None;
        }
        if count > self.count {
            problems.error(
                &json.path,
                format!("replaces {count} elements of an accessor with only {}", self.count),
            );
            return None;
        }
        let mut packed = |owner: &Json<'a>, size: usize, align| {
            let (view, bytes) = views.bytes(owner, align, problems)?;
            let needed = count.checked_mul(size);
            if needed.is_none_or(|n| n > bytes.len()) {
                let what = format!(
                    "{count} elements of {size} bytes do not fit the {} bytes from `byteOffset` \
                     to the end of buffer view {view}",
                    bytes.len()
                );
                problems.error(&owner.path, what);
                return None;
            }
            Some(bytes)
        };
        let index_bytes = packed(&indices, index.size(), index.size());
        let value_bytes = packed(&values, self.element_size(), self.format.component.size());
        let sparse = Sparse { count, index, indices: index_bytes?, values: value_bytes? };

        problems.afford(&json.path, count.saturating_mul(4))?;
        let (mut outside, mut unsorted, mut last) = (0, 0, None);
        for i in sparse.indices() {
            outside += usize::from(i >= self.count);
            unsorted += usize::from(last.is_some_and(|last| i <= last));
            last = Some(i);
        }
        problems.counted(
            Severity::Warning,
            &indices.path,
            unsorted,
            "an index is not greater than the one before it",
            "applied in the order given",
        );
        if outside > 0 {
            let what = format!("an index is not less than {}, the accessor's count", self.count);
            problems.counted(Severity::Error, &indices.path, outside, what, REFUSED);
            return None;
        }
        Some(sparse)
    }

    /// Returns the bytes from one column of an element to the next. Matrix columns are aligned to four bytes.
    fn column_size(&self) -> usize {
        let (columns, rows) = self.shape.dimensions();
        let size = rows * self.format.component.size();
        if columns > 1 { size.next_multiple_of(4) } else { size }
    }

    fn element_size(&self) -> usize {
        self.shape.dimensions().0 * self.column_size()
    }

    /// Returns the number of components per element.
    pub(crate) fn width(&self) -> usize {
        let (columns, rows) = self.shape.dimensions();
        columns * rows
    }
}

/// Reports an error and returns `None` if any of `values`, decoded from the accessor at `place`, is NaN or
/// infinite.
pub(crate) fn check_finite<'v>(
    values: impl IntoIterator<Item = &'v f32>,
    place: &Json<'_>,
    problems: &mut Problems,
) -> Option<()> {
    let broken = values.into_iter().filter(|v| !v.is_finite()).count();
    problems.counted(Severity::Error, &place.path, broken, "a number is NaN or infinite", REFUSED);
    (broken == 0).then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Builder;
    use crate::value::json;

    const ANY: Usage = Usage {
        shape: Shape::Vec3,
        formats: &[
            Format::plain(Component::F32),
            Format::plain(Component::I8),
            Format::plain(Component::U16),
            Format::normalized(Component::I8),
            Format::normalized(Component::U8),
            Format::normalized(Component::I16),
            Format::normalized(Component::U16),
        ],
        quantized: &[Format::plain(Component::I16)],
    };

    /// Returns the numbers of accessor 0, and the reported problems.
    fn read(builder: &Builder) -> (Option<Vec<f32>>, Vec<(Severity, String)>) {
        let document = builder.document().unwrap();
        let mut problems = Problems::new(1000);
        let accessors = Accessors::load(&document, &mut problems);
        let index = json!(0);
        let accessor =
            accessors.get(&Json { value: &index, path: Path::ROOT.child("use") }, &ANY, &mut problems);
        let numbers = accessor.and_then(|a| a.floats(&mut problems));
        (numbers, problems.list().iter().map(|p| (p.severity, p.place.clone())).collect())
    }

    #[test]
    fn every_component_type() {
        for (code, normalized, bytes, want) in [
            (5120, false, vec![128, 127, 255], [-128.0, 127.0, -1.0]),
            (5120, true, vec![128, 127, 129], [-1.0, 1.0, -1.0]),
            (5121, true, vec![255, 0, 51], [1.0, 0.0, 0.2]),
            (5122, true, vec![0, 128, 255, 127, 1, 128], [-1.0, 1.0, -1.0]),
            (5123, true, vec![255, 255, 0, 0, 51, 51], [1.0, 0.0, 0.2]),
            (5123, false, vec![255, 255, 0, 0, 1, 1], [65535.0, 0.0, 257.0]),
            (
                5126,
                false,
                [1.5f32, -2.0, 0.1].iter().flat_map(|v| v.to_le_bytes()).collect(),
                [1.5, -2.0, 0.1],
            ),
        ] {
            let mut it = Builder::new(json!({}));
            it.accessor("VEC3", code, 1, &bytes);
            it.json["accessors"][0]["normalized"] = json!(normalized);
            assert_eq!(read(&it), (Some(want.to_vec()), vec![]), "{code} {normalized}");
        }
    }

    #[test]
    fn what_does_not_move_is_read_as_it_is_asked_for() {
        let mut it = Builder::new(json!({}));
        it.accessor("VEC2", 5123, 2, &[255, 255, 0, 0, 51, 51, 0, 0]);
        it.json["accessors"][0]["normalized"] = json!(true);
        let document = it.document().unwrap();
        assert_eq!(document.vectors::<2>(0, 2), Some(vec![[1.0, 0.0], [0.2, 0.0]]));
        assert_eq!((document.vectors::<2>(0, 3), document.vectors::<2>(1, 2)), (None, None));
        assert_eq!(document.vectors::<3>(0, 2), None);
    }

    #[test]
    fn strides_and_offsets() {
        let mut it = Builder::new(json!({}));
        let bytes: Vec<u8> = (0..9).flat_map(|i| (i as f32).to_le_bytes()).collect();
        it.accessor("VEC3", 5126, 2, &bytes);
        it.json["bufferViews"][0]["byteStride"] = json!(16);
        it.json["accessors"][0]["byteOffset"] = json!(4);
        // The last element can be shorter than the stride.
        assert_eq!(read(&it), (Some(vec![1.0, 2.0, 3.0, 5.0, 6.0, 7.0]), vec![]));
        it.json["accessors"][0]["byteOffset"] = json!(8);
        assert_eq!(read(&it).0.unwrap()[5], 8.0);
        it.json["accessors"][0]["byteOffset"] = json!(12);
        assert_eq!(read(&it), (None, vec![(Severity::Error, "/accessors/0".into())]));
        it.json["accessors"][0]["byteOffset"] = json!(3);
        let (numbers, problems) = read(&it);
        assert!(numbers.is_some());
        assert_eq!(problems, [(Severity::Warning, "/accessors/0".into())]);
        it.json["accessors"][0]["byteOffset"] = json!(4);
        for stride in [0, 8] {
            it.json["bufferViews"][0]["byteStride"] = json!(stride);
            assert_eq!(read(&it), (None, vec![(Severity::Error, "/bufferViews/0/byteStride".into())]));
        }
        it.json["bufferViews"][0]["byteStride"] = json!(14);
        assert_eq!(read(&it).1, [(Severity::Warning, "/bufferViews/0/byteStride".into())]);
    }

    #[test]
    fn sparse_replacements_with_and_without_a_base() {
        let mut it = Builder::new(json!({}));
        it.floats("VEC3", &[1.0; 9]);
        let indices = it.view(&[2, 0]);
        let values: Vec<u8> = [7.0f32, 8.0, 9.0].iter().flat_map(|v| v.to_le_bytes()).collect();
        let values = it.view(&values);
        it.json["accessors"][0]["sparse"] = json!({
            "count": 1,
            "indices": {"bufferView": indices, "componentType": 5121},
            "values": {"bufferView": values},
        });
        assert_eq!(read(&it).0.unwrap(), [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 7.0, 8.0, 9.0]);
        it.json["accessors"][0].as_object_mut().unwrap().remove("bufferView");
        let (numbers, problems) = read(&it);
        assert_eq!(numbers.unwrap(), [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 7.0, 8.0, 9.0]);
        assert_eq!(problems, []);
        it.json["accessors"][0]["count"] = json!(2);
        assert_eq!(read(&it), (None, vec![(Severity::Error, "/accessors/0/sparse/indices".into())]));
        it.json["accessors"][0]["count"] = json!(3);
        it.json["accessors"][0]["sparse"]["count"] = json!(2);
        assert_eq!(read(&it), (None, vec![(Severity::Error, "/accessors/0/sparse/values".into())]));
        it.json["accessors"][0]["sparse"]["count"] = json!(4);
        assert_eq!(read(&it), (None, vec![(Severity::Error, "/accessors/0/sparse".into())]));
    }

    #[test]
    fn unsorted_sparse_indices_are_warned_of() {
        let mut it = Builder::new(json!({}));
        let (indices, values) = (it.view(&[1, 0]), it.view(&[0; 24]));
        it.accessor("VEC3", 5126, 2, &[0; 24]);
        it.json["accessors"][0]["sparse"] = json!({
            "count": 2,
            "indices": {"bufferView": indices, "componentType": 5121},
            "values": {"bufferView": values},
        });
        assert_eq!(read(&it).1, [(Severity::Warning, "/accessors/0/sparse/indices".into())]);
    }

    #[test]
    fn matrix_columns_begin_at_multiples_of_four() {
        let mut it = Builder::new(json!({}));
        it.accessor("MAT3", 5121, 1, &[1, 2, 3, 0, 4, 5, 6, 0, 7, 8, 9, 0]);
        let document = it.document().unwrap();
        let mut problems = Problems::new(1000);
        let accessors = Accessors::load(&document, &mut problems);
        let accessor = accessors.list[0].clone().unwrap();
        assert_eq!(accessor.integers(&mut problems).unwrap(), [1, 2, 3, 4, 5, 6, 7, 8, 9]);
    }

    #[test]
    fn claims_beyond_the_data_are_refused_before_anything_is_allocated() {
        let mut it = Builder::new(json!({}));
        it.floats("VEC3", &[1.0; 9]);
        for count in [4u64, 1 << 31, u64::MAX] {
            it.json["accessors"][0]["count"] = json!(count);
            assert_eq!(read(&it), (None, vec![(Severity::Error, "/accessors/0".into())]), "{count}");
        }
        // Without a buffer view, no data limits the count.
        it.json["accessors"][0].as_object_mut().unwrap().remove("bufferView");
        assert_eq!(read(&it), (None, vec![(Severity::Error, "/accessors/0".into())]));
    }

    #[test]
    fn what_does_not_fit_its_use_is_an_error_or_read_as_it_should_be() {
        let used = |shape: &str, code: u32, normalized: bool| {
            let mut it = Builder::new(json!({}));
            it.accessor(shape, code, 1, &[1; 16]);
            it.json["accessors"][0]["normalized"] = json!(normalized);
            let (numbers, problems) = read(&it);
            (numbers.is_some(), problems.into_iter().map(|p| p.0).collect::<Vec<_>>())
        };
        assert_eq!(used("VEC2", 5126, false), (false, vec![Severity::Error]));
        assert_eq!(used("VEC3", 5125, false), (false, vec![Severity::Error]));
        assert_eq!(used("VEC3", 5127, false), (false, vec![Severity::Error]));
        assert_eq!(used("VEC9", 5126, false), (false, vec![Severity::Error]));
        // U8 must be normalised, F32 must not be, and I16 requires an extension.
        assert_eq!(used("VEC3", 5121, false), (true, vec![Severity::Warning]));
        assert_eq!(used("VEC3", 5126, true), (true, vec![Severity::Warning]));
        assert_eq!(used("VEC3", 5122, false), (true, vec![Severity::Warning]));
    }
}
