//! NumPy's archives: a zip of arrays, each with a header that says what its numbers are.

use std::io::{Cursor, Read};
use std::path::Path;

use zip::ZipArchive;

use crate::refused::Refused;

/// An archive, of which arrays are unpacked as they are asked for.
pub(crate) struct Npz {
    name: String,
    archive: ZipArchive<Cursor<Vec<u8>>>,
    /// How many bytes may still be made of it: what deflate can make of a file is a thousand times its size.
    left: u64,
}

/// An array: the last index changes fastest.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Array {
    pub(crate) shape: Vec<usize>,
    pub(crate) values: Vec<f64>,
}

/// What a header says.
struct Header {
    kind: String,
    is_column_major: bool,
    shape: Vec<usize>,
    /// Where the numbers begin.
    end: usize,
}

impl Npz {
    pub(crate) fn open(path: &Path) -> Result<Self, Refused> {
        let name = path.display().to_string();
        match std::fs::read(path) {
            Ok(bytes) => Self::from_bytes(&name, bytes),
            Err(error) => {
                Err(Refused { name, array: String::new(), what: format!("it cannot be read: {error}") })
            }
        }
    }

    pub(crate) fn from_bytes(name: &str, bytes: Vec<u8>) -> Result<Self, Refused> {
        // Arrays that are zero for the most part are packed well, and whole numbers of a byte become f64.
        let left = (bytes.len() as u64).saturating_mul(256).saturating_add(1 << 24);
        let refused = |what: String| Refused { name: name.into(), array: String::new(), what };
        if !bytes.starts_with(b"PK") {
            return Err(refused(
                "it is no .npz, as numpy.savez writes them; a .pkl has to be saved again as one".into(),
            ));
        }
        let archive = ZipArchive::new(Cursor::new(bytes))
            .map_err(|e| refused(format!("it is a broken archive: {e}")))?;
        Ok(Self { name: name.into(), archive, left })
    }

    pub(crate) fn refused(&self, array: &str, what: impl Into<String>) -> Refused {
        Refused { name: self.name.clone(), array: array.into(), what: what.into() }
    }

    pub(crate) fn has(&self, array: &str) -> bool {
        self.archive.index_for_name(&file_name(array)).is_some()
    }

    /// The numbers of an array of this shape, where 0 stands for any length, whatever kind of numbers they are; all of them finite.
    pub(crate) fn shaped(&mut self, array: &str, wanted: &[usize], words: &str) -> Result<Array, Refused> {
        let bytes = self.unpack(array)?;
        let header = header(&bytes).map_err(|what| self.refused(array, what))?;
        let fits = |(found, wanted): (&usize, &usize)| *wanted == 0 || found == wanted;
        if header.shape.len() != wanted.len() || !header.shape.iter().zip(wanted).all(fits) {
            return Err(
                self.refused(array, format!("its shape is {:?}, where {words} is expected", header.shape))
            );
        }
        let read = reader(&header.kind).map_err(|what| self.refused(array, what))?;
        let data = self.data(array, &bytes, &header, read.size)?;
        // Once more if they have to be put in another order.
        self.take(array, (data.len() / read.size * 2 * size_of::<f64>()) as u64)?;
        let mut values: Vec<f64> = data.chunks_exact(read.size).map(read.value).collect();
        if let Some(at) = values.iter().position(|v| !v.is_finite()) {
            return Err(self.refused(
                array,
                format!("its number {at} is {}, where finite ones are expected", values[at]),
            ));
        }
        if header.is_column_major && header.shape.len() > 1 {
            values = row_major(&header.shape, &values);
        }
        Ok(Array { shape: header.shape, values })
    }

    /// A single number, by itself or in an array of one.
    pub(crate) fn one(&mut self, array: &str) -> Result<f64, Refused> {
        let bytes = self.unpack(array)?;
        let header = header(&bytes).map_err(|what| self.refused(array, what))?;
        let read = reader(&header.kind).map_err(|what| self.refused(array, what))?;
        match self.data(array, &bytes, &header, read.size)? {
            data if data.len() == read.size => Ok((read.value)(data)),
            _ => {
                Err(self
                    .refused(array, format!("its shape is {:?}, where one number is expected", header.shape)))
            }
        }
    }

    /// A text, as NumPy keeps a single string.
    pub(crate) fn text(&mut self, array: &str) -> Result<String, Refused> {
        let bytes = self.unpack(array)?;
        let header = header(&bytes).map_err(|what| self.refused(array, what))?;
        let size = header.kind.get(2..).and_then(|digits| digits.parse::<usize>().ok());
        let text = match (header.kind.get(..2), size.filter(|size| *size < 1 << 20)) {
            (Some("<U"), Some(size)) => {
                let data = self.data(array, &bytes, &header, 4 * size)?;
                let code = |c: &[u8; 4]| {
                    char::from_u32(u32::from_le_bytes(*c)).unwrap_or(char::REPLACEMENT_CHARACTER)
                };
                data.as_chunks().0.iter().map(code).collect()
            }
            (Some("|S"), Some(size)) => {
                String::from_utf8_lossy(self.data(array, &bytes, &header, size)?).into_owned()
            }
            _ => {
                return Err(self.refused(
                    array,
                    format!("it is of kind {}, where text is expected", short(&header.kind)),
                ));
            }
        };
        Ok(text.trim_end_matches('\0').to_owned())
    }

    /// What is behind the header, if it is as long as that says.
    fn data<'a>(
        &self,
        array: &str,
        bytes: &'a [u8],
        header: &Header,
        size: usize,
    ) -> Result<&'a [u8], Refused> {
        let data = bytes.get(header.end..).unwrap_or_default();
        let count = header.shape.iter().try_fold(size, |all, n| all.checked_mul(*n));
        if count == Some(data.len()) {
            return Ok(data);
        }
        let (shape, found) = (&header.shape, data.len());
        Err(self.refused(
            array,
            format!("its shape {shape:?} of {} has not its {found} bytes", short(&header.kind)),
        ))
    }

    fn unpack(&mut self, array: &str) -> Result<Vec<u8>, Refused> {
        let Some(index) = self.archive.index_for_name(&file_name(array)) else {
            let mut names: Vec<_> = self
                .archive
                .file_names()
                .filter_map(|name| Some(name.ok()?.strip_suffix(".npy")?.to_owned()))
                .collect();
            names.sort_unstable();
            names.truncate(40);
            let names = names.join(", ");
            return Err(self.refused(array, format!("there is none of this name among {names}")));
        };
        let mut bytes = Vec::new();
        let read = match self.archive.by_index(index) {
            Ok(file) => file.take(self.left + 1).read_to_end(&mut bytes).map_err(|e| e.to_string()),
            Err(error) => Err(error.to_string()),
        };
        read.map_err(|error| self.refused(array, format!("it cannot be unpacked: {error}")))?;
        self.take(array, bytes.len() as u64)?;
        Ok(bytes)
    }

    /// Memory for so many bytes.
    fn take(&mut self, array: &str, bytes: u64) -> Result<(), Refused> {
        match self.left.checked_sub(bytes) {
            Some(left) => self.left = left,
            None => return Err(self.refused(array, "it is out of proportion to the file")),
        }
        Ok(())
    }
}

fn file_name(array: &str) -> String {
    format!("{array}.npy")
}

/// What NumPy writes of a plain array takes some hundred bytes.
const LONGEST: usize = 4096;
/// No array of a model has more than three.
const MOST_AXES: usize = 8;

/// A text of the file as it may stand in a message.
fn short(text: &str) -> String {
    const LONGEST: usize = 60;
    let shown: String = text.chars().take(LONGEST).collect();
    format!("{shown:?}{}", if shown.len() < text.len() { "..." } else { "" })
}

/// `\x93NUMPY`, a version, the length of a Python dictionary, and that.
fn header(bytes: &[u8]) -> Result<Header, String> {
    let wrong = || "it is no array as NumPy writes them".to_owned();
    let version = bytes.strip_prefix(b"\x93NUMPY").and_then(|rest| rest.first()).ok_or_else(wrong)?;
    let (begin, length): (usize, usize) = match (version, &bytes[7..]) {
        (1, [_, a, b, ..]) => (10, usize::from(u16::from_le_bytes([*a, *b]))),
        (2 | 3, [_, a, b, c, d, ..]) => (12, u32::from_le_bytes([*a, *b, *c, *d]) as usize),
        _ => return Err(wrong()),
    };
    let end = begin.checked_add(length).filter(|end| *end <= bytes.len()).ok_or_else(wrong)?;
    if length > LONGEST {
        return Err(format!("its header has {length} bytes, where at most {LONGEST} are expected"));
    }
    let text = String::from_utf8_lossy(&bytes[begin..end]);
    let after = |key: &str| text.split_once(&format!("'{key}':")).map(|(_, rest)| rest.trim_start());
    let kind = after("descr").and_then(|rest| {
        // A record of several kinds begins with a bracket.
        let quote = rest.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
        Some(rest[1..].split_once(quote)?.0.to_owned())
    });
    let is_column_major = after("fortran_order").map(|rest| rest.starts_with("True"));
    let shape = after("shape").and_then(|rest| {
        let (inside, _) = rest.strip_prefix('(')?.split_once(')')?;
        let numbers = inside.split(',').map(str::trim).filter(|number| !number.is_empty());
        numbers.map(|number| number.parse().ok()).collect::<Option<Vec<usize>>>()
    });
    match (kind, is_column_major, shape) {
        (Some(kind), Some(is_column_major), Some(shape)) if shape.len() <= MOST_AXES => {
            Ok(Header { kind, is_column_major, shape, end })
        }
        _ => Err(format!(
            "its header {} is not one of plain numbers in at most {MOST_AXES} axes",
            short(&text)
        )),
    }
}

/// How the numbers of a kind are read.
struct Reader {
    size: usize,
    value: fn(&[u8]) -> f64,
}

fn reader(kind: &str) -> Result<Reader, String> {
    macro_rules! reader {
        ($number:ty, $from:ident) => {{
            const SIZE: usize = size_of::<$number>();
            // Chunks have this size.
            Reader { size: SIZE, value: |b| <$number>::$from(b.try_into().unwrap_or([0; SIZE])) as f64 }
        }};
    }
    Ok(match kind {
        "<f4" => reader!(f32, from_le_bytes),
        "<f8" => reader!(f64, from_le_bytes),
        ">f4" => reader!(f32, from_be_bytes),
        ">f8" => reader!(f64, from_be_bytes),
        "|u1" | "|b1" => reader!(u8, from_le_bytes),
        "|i1" => reader!(i8, from_le_bytes),
        "<u2" => reader!(u16, from_le_bytes),
        "<i2" => reader!(i16, from_le_bytes),
        "<u4" => reader!(u32, from_le_bytes),
        "<i4" => reader!(i32, from_le_bytes),
        "<u8" => reader!(u64, from_le_bytes),
        "<i8" => reader!(i64, from_le_bytes),
        "|O" => {
            return Err("it holds Python objects; save it again as an array of numbers, a sparse matrix by .toarray()".into());
        }
        other => return Err(format!("it is of kind {}, where numbers are expected", short(other))),
    })
}

/// With the first index changing fastest, made to have the last one do so.
fn row_major(shape: &[usize], values: &[f64]) -> Vec<f64> {
    let mut index = vec![0; shape.len()];
    let mut strides = vec![1; shape.len()];
    for axis in 1..shape.len() {
        strides[axis] = strides[axis - 1] * shape[axis - 1];
    }
    let mut out = Vec::with_capacity(values.len());
    for _ in 0..values.len() {
        out.push(values[index.iter().zip(&strides).map(|(at, stride)| at * stride).sum::<usize>()]);
        for axis in (0..shape.len()).rev() {
            index[axis] += 1;
            if index[axis] < shape[axis] {
                break;
            }
            index[axis] = 0;
        }
    }
    out
}
