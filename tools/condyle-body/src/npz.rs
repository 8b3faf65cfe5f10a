//! Reads NumPy's archives: a zip of arrays, each with a header that describes its numbers.

use std::io::{Cursor, Read};
use std::path::Path;

use zip::ZipArchive;

use condyle_base::problem::Refused;

/// An archive; arrays are unpacked on request.
pub(crate) struct Npz {
    name: String,
    archive: ZipArchive<Cursor<Vec<u8>>>,
    /// Remaining budget in bytes for array values. Without a budget, deflate could expand a file a
    /// thousandfold. Reading a motion takes up to 7/3 of the budget, because its rotations are computed from
    /// the rotation vectors.
    left: u64,
}

/// Memory for the arrays of any file, regardless of its size; the same amount as for glTF.
const BASE_ALLOWANCE: u64 = 64 << 20;
/// Memory for each byte of the file. While an array is read, f64 takes 2 bytes per byte and f16 takes 5;
/// column-major order doubles both.
const ALLOWANCE_PER_BYTE: u64 = 16;

/// An array in row-major order: the last index changes fastest.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Array {
    pub(crate) shape: Vec<usize>,
    pub(crate) values: Vec<f64>,
}

/// The fields of an array's header.
struct Header {
    kind: String,
    is_column_major: bool,
    shape: Vec<usize>,
    /// Offset of the array data, which follows the header.
    end: usize,
}

/// Returns the error for an array of a file, or for the whole file if `array` is empty.
pub(crate) fn refused(name: &str, array: &str, what: impl Into<String>) -> Refused {
    let place = if array.is_empty() { String::new() } else { format!("array {array}") };
    Refused::at(name, place, what)
}

impl Npz {
    pub(crate) fn open(path: &Path) -> Result<Self, Refused> {
        let name = path.display().to_string();
        match std::fs::read(path) {
            Ok(bytes) => Self::from_bytes(&name, bytes),
            Err(error) => Err(Refused::because(&name, format!("the file cannot be read: {error}"))),
        }
    }

    pub(crate) fn from_bytes(name: &str, bytes: Vec<u8>) -> Result<Self, Refused> {
        let left = (bytes.len() as u64).saturating_mul(ALLOWANCE_PER_BYTE).saturating_add(BASE_ALLOWANCE);
        let refused = |what: String| Refused::because(name, what);
        if !bytes.starts_with(b"PK") {
            return Err(refused(format!(
                "expected a .npz archive written by numpy.savez, found {}",
                what_else(&bytes)
            )));
        }
        let archive = ZipArchive::new(Cursor::new(bytes))
            .map_err(|e| refused(format!("the archive is damaged: {e}")))?;
        Ok(Self { name: name.into(), archive, left })
    }

    /// Returns whether the bytes are an archive with an array of this name.
    pub(crate) fn holds(bytes: &[u8], array: &str) -> bool {
        bytes.starts_with(b"PK")
            && ZipArchive::new(Cursor::new(bytes))
                .is_ok_and(|archive| archive.index_for_name(&file_name(array)).is_some())
    }

    pub(crate) fn refused(&self, array: &str, what: impl Into<String>) -> Refused {
        refused(&self.name, array, what)
    }

    /// Returns the file name for errors.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn has(&self, array: &str) -> bool {
        self.archive.index_for_name(&file_name(array)).is_some()
    }

    /// Returns the first of these names that the archive contains.
    pub(crate) fn first(&self, arrays: &[&'static str]) -> Option<&'static str> {
        arrays.iter().copied().find(|array| self.has(array))
    }

    /// Reads an array of any numeric type whose shape `fits`; `words` describes that shape.
    pub(crate) fn array(
        &mut self,
        array: &str,
        fits: impl FnOnce(&[usize]) -> bool,
        words: &str,
    ) -> Result<Array, Refused> {
        let bytes = self.unpack(array)?;
        let header = header(&bytes).map_err(|what| self.refused(array, what))?;
        if !fits(&header.shape) {
            let found = &header.shape;
            return Err(self.refused(array, format!("its shape is {found:?}, expected {words}")));
        }
        let read = reader(&header.kind).map_err(|what| self.refused(array, what))?;
        let data = self.data(array, &bytes, &header, read.size)?;
        let is_turned = header.is_column_major && header.shape.len() > 1;
        let copies = if is_turned { 2 } else { 1 };
        self.afford(array, bytes.len() + data.len() / read.size * copies * size_of::<f64>())?;
        let mut values: Vec<f64> = data.chunks_exact(read.size).map(read.value).collect();
        // Only the values stay in memory, not the bytes that they were read from.
        self.left -= size_of_val(&values[..]) as u64;
        if is_turned {
            values = row_major(&header.shape, &values);
        }
        Ok(Array { shape: header.shape, values })
    }

    /// Reads an array of finite numbers; 0 in `wanted` accepts any length.
    pub(crate) fn shaped(&mut self, array: &str, wanted: &[usize], words: &str) -> Result<Array, Refused> {
        let same = |(found, wanted): (&usize, &usize)| *wanted == 0 || found == wanted;
        let fits = |shape: &[usize]| shape.len() == wanted.len() && shape.iter().zip(wanted).all(same);
        let found = self.array(array, fits, words)?;
        if let Some(at) = found.values.iter().position(|v| !v.is_finite()) {
            let value = found.values[at];
            return Err(self.refused(array, format!("its number {at} is {value}, expected a finite number")));
        }
        Ok(found)
    }

    /// Reads a single number, as a scalar or as an array of one element.
    pub(crate) fn one(&mut self, array: &str) -> Result<f64, Refused> {
        let bytes = self.unpack(array)?;
        let header = header(&bytes).map_err(|what| self.refused(array, what))?;
        let read = reader(&header.kind).map_err(|what| self.refused(array, what))?;
        match self.data(array, &bytes, &header, read.size)? {
            data if data.len() == read.size => Ok((read.value)(data)),
            _ => {
                Err(self.refused(array, format!("its shape is {:?}, expected a single number", header.shape)))
            }
        }
    }

    /// Reads a single string, as text, as bytes or as a Python object.
    pub(crate) fn text(&mut self, array: &str) -> Result<String, Refused> {
        let bytes = self.unpack(array)?;
        let header = header(&bytes).map_err(|what| self.refused(array, what))?;
        if header.shape.iter().any(|length| *length != 1) {
            let shape = &header.shape;
            return Err(self.refused(array, format!("its shape is {shape:?}, expected a single string")));
        }
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
            (Some("|O"), _) => pickled_word(bytes.get(header.end..).unwrap_or_default())
                .ok_or_else(|| self.refused(array, "it is a Python object, expected a string"))?,
            _ => {
                return Err(
                    self.refused(array, format!("its type is {}, expected a string", short(&header.kind)))
                );
            }
        };
        Ok(text.trim_end_matches('\0').to_owned())
    }

    /// Returns the bytes after the header, if their number matches the header.
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
            format!(
                "its shape {shape:?} of type {} does not match its size of {found} bytes",
                short(&header.kind)
            ),
        ))
    }

    /// Returns the names of the first few arrays, for messages.
    pub(crate) fn names(&self) -> String {
        let names = self.archive.file_names();
        let mut names: Vec<_> =
            names.filter_map(|name| Some(name.ok()?.strip_suffix(".npy")?.to_owned())).collect();
        names.sort_unstable();
        names.truncate(40);
        names.join(", ")
    }

    fn unpack(&mut self, array: &str) -> Result<Vec<u8>, Refused> {
        let Some(index) = self.archive.index_for_name(&file_name(array)) else {
            let names = self.names();
            return Err(self.refused(array, format!("the array is missing; the file has {names}")));
        };
        let mut bytes = Vec::new();
        let most = self.left;
        let read = match self.archive.by_index(index) {
            Ok(file) => file.take(most + 1).read_to_end(&mut bytes).map_err(|e| e.to_string()),
            Err(error) => Err(error.to_string()),
        };
        read.map_err(|error| self.refused(array, format!("it cannot be decompressed: {error}")))?;
        self.afford(array, bytes.len())?;
        Ok(bytes)
    }

    /// Checks that the budget allows this many bytes in memory at the same time.
    fn afford(&self, array: &str, bytes: usize) -> Result<(), Refused> {
        if bytes as u64 <= self.left {
            return Ok(());
        }
        Err(self.refused(array, "it is too large for the size of the file"))
    }
}

/// Returns the format of a file that is not an archive, by its first bytes.
fn what_else(bytes: &[u8]) -> &'static str {
    match bytes {
        [] => "an empty file",
        [0x93, b'N', b'U', b'M', b'P', b'Y', ..] => {
            "a single NumPy array (.npy), which does not name its columns"
        }
        [0x80, 2..=5, ..] => {
            "a Python pickle (.pkl), which can run any program when it is loaded; save its arrays with numpy.savez"
        }
        _ => "a file of another format",
    }
}

/// Returns the text of a pickled string, if it is one of the possible words of `gender`. Pickles are not read
/// otherwise.
fn pickled_word(data: &[u8]) -> Option<String> {
    // The length of a string precedes it, in one byte or in four.
    let holds = |word: &&&str| {
        let length = word.len() as u8;
        let [short, long] =
            [[&[length][..], word.as_bytes()].concat(), [&[length, 0, 0, 0], word.as_bytes()].concat()];
        data.windows(short.len()).any(|it| it == short) || data.windows(long.len()).any(|it| it == long)
    };
    ["female", "male", "neutral"].iter().find(holds).map(|word| (*word).into())
}

fn file_name(array: &str) -> String {
    format!("{array}.npy")
}

/// Maximum length of a header; NumPy writes about a hundred bytes for a plain array.
const LONGEST: usize = 4096;
/// Maximum number of axes; no array of a model has more than three.
const MOST_AXES: usize = 8;

/// Returns text from the file for use in a message, at most 60 characters long.
fn short(text: &str) -> String {
    const LONGEST: usize = 60;
    let shown: String = text.chars().take(LONGEST).collect();
    format!("{shown:?}{}", if shown.len() < text.len() { "..." } else { "" })
}

/// Parses a header: `\x93NUMPY`, a version, the length of a Python dictionary, and the dictionary.
fn header(bytes: &[u8]) -> Result<Header, String> {
    let wrong = || "it is not a valid NumPy array".to_owned();
    let version = bytes.strip_prefix(b"\x93NUMPY").and_then(|rest| rest.first()).ok_or_else(wrong)?;
    let (begin, length): (usize, usize) = match (version, &bytes[7..]) {
        (1, [_, a, b, ..]) => (10, usize::from(u16::from_le_bytes([*a, *b]))),
        (2 | 3, [_, a, b, c, d, ..]) => (12, u32::from_le_bytes([*a, *b, *c, *d]) as usize),
        _ => return Err(wrong()),
    };
    let end = begin.checked_add(length).filter(|end| *end <= bytes.len()).ok_or_else(wrong)?;
    if length > LONGEST {
        return Err(format!("its header has {length} bytes, expected at most {LONGEST}"));
    }
    let text = String::from_utf8_lossy(&bytes[begin..end]);
    let after = |key: &str| text.split_once(&format!("'{key}':")).map(|(_, rest)| rest.trim_start());
    let kind = after("descr").and_then(|rest| {
        // A record of several types starts with a bracket.
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
        _ => {
            Err(format!("its header is {}, expected plain numbers in at most {MOST_AXES} axes", short(&text)))
        }
    }
}

/// Size and decoder of a number type.
struct Reader {
    size: usize,
    value: fn(&[u8]) -> f64,
}

fn reader(kind: &str) -> Result<Reader, String> {
    macro_rules! reader {
        ($number:ty, $from:ident) => {{
            const SIZE: usize = size_of::<$number>();
            // Each chunk has this size.
            Reader { size: SIZE, value: |b| <$number>::$from(b.try_into().unwrap_or([0; SIZE])) as f64 }
        }};
    }
    Ok(match kind {
        "<f2" => Reader { size: 2, value: |b| half(u16::from_le_bytes(b.try_into().unwrap_or_default())) },
        ">f2" => Reader { size: 2, value: |b| half(u16::from_be_bytes(b.try_into().unwrap_or_default())) },
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
        ">u2" => reader!(u16, from_be_bytes),
        ">i2" => reader!(i16, from_be_bytes),
        ">u4" => reader!(u32, from_be_bytes),
        ">i4" => reader!(i32, from_be_bytes),
        ">u8" => reader!(u64, from_be_bytes),
        ">i8" => reader!(i64, from_be_bytes),
        "|O" => {
            return Err("it holds Python objects; save it as an array of numbers (convert a sparse matrix with .toarray())".into());
        }
        other => return Err(format!("its type is {}, expected numbers", short(other))),
    })
}

/// Decodes an IEEE 754 binary16: 5 bits of exponent, 10 of mantissa.
fn half(bits: u16) -> f64 {
    let [exponent, mantissa] = [i32::from(bits >> 10 & 31), i32::from(bits & 1023)];
    let size = match (exponent, mantissa) {
        (31, 0) => f64::INFINITY,
        (31, _) => f64::NAN,
        (0, _) => f64::from(mantissa) * 2_f64.powi(-24),
        _ => f64::from(1024 + mantissa) * 2_f64.powi(exponent - 25),
    };
    if bits >> 15 == 1 { -size } else { size }
}

/// Converts values from column-major to row-major order.
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
