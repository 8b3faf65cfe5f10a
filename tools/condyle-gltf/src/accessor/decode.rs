//! Numbers of an accessor, from its elements and its sparse ones.

use super::{Accessor, Elements, Sparse};
use crate::format::{Component, Format};
use crate::problem::Problems;

impl Accessor<'_> {
    /// Returns all numbers as floats, element after element; normalised integers become fractions.
    pub(crate) fn floats(&self, problems: &mut Problems) -> Option<Vec<f32>> {
        let i8 = |b: &[u8]| b[0] as i8;
        let i16 = |b: &[u8]| i16::from_le_bytes([b[0], b[1]]);
        let u16 = |b: &[u8]| u16::from_le_bytes([b[0], b[1]]);
        let Format { component, normalized } = self.format;
        match (component, normalized) {
            (Component::I8, false) => self.decode(problems, |b| f32::from(i8(b))),
            (Component::U8, false) => self.decode(problems, |b| f32::from(b[0])),
            (Component::I16, false) => self.decode(problems, |b| f32::from(i16(b))),
            (Component::U16, false) => self.decode(problems, |b| f32::from(u16(b))),
            (Component::I8, true) => self.decode(problems, |b| (f32::from(i8(b)) / 127.0).max(-1.0)),
            (Component::U8, true) => self.decode(problems, |b| f32::from(b[0]) / 255.0),
            (Component::I16, true) => self.decode(problems, |b| (f32::from(i16(b)) / 32767.0).max(-1.0)),
            (Component::U16, true) => self.decode(problems, |b| f32::from(u16(b)) / 65535.0),
            (Component::U32, _) => self.decode(problems, |b| u32_at(b) as f32),
            (Component::F32, _) => self.decode(problems, |b| f32::from_bits(u32_at(b))),
        }
    }

    /// Returns the elements as arrays of `N` floats; `None` if they do not have `N` components.
    pub(crate) fn vectors<const N: usize>(&self, problems: &mut Problems) -> Option<Vec<[f32; N]>> {
        if self.width() != N {
            return None;
        }
        let floats = self.floats(problems)?;
        problems.afford(&self.path, size_of_val(&*floats))?;
        Some(floats.as_chunks().0.to_vec())
    }

    /// Returns the nonzero elements with their indices, in any order. If an index occurs more than once, the
    /// last element counts. Memory is bounded by the bytes present, not by the declared count.
    pub(crate) fn entries<const N: usize>(&self, problems: &mut Problems) -> Option<Vec<(u32, [f32; N])>> {
        if self.width() != N {
            return None;
        }
        let with_place = |list: &mut dyn Iterator<Item = (usize, [f32; N])>| {
            list.map(|(place, vector)| (place as u32, vector)).collect::<Vec<_>>()
        };
        let charge = |count: usize, problems: &mut Problems| {
            problems.afford(&self.path, count.saturating_mul(size_of::<(u32, [f32; N])>()))
        };
        match (&self.elements, self.sparse) {
            (Some(_), _) => {
                let all = self.vectors::<N>(problems)?;
                charge(all.len(), problems)?;
                Some(with_place(&mut all.into_iter().enumerate().filter(|(_, v)| *v != [0.0; N])))
            }
            (None, None) => Some(Vec::new()),
            (None, Some(sparse)) => {
                let elements = Elements { bytes: sparse.values, stride: self.element_size() };
                let values =
                    Self { count: sparse.count, elements: Some(elements), sparse: None, ..self.clone() };
                let values = values.vectors::<N>(problems)?;
                charge(values.len(), problems)?;
                // A zero can replace an earlier vector with the same index.
                Some(with_place(&mut sparse.indices().zip(values)))
            }
        }
    }

    /// Returns the values of an unsigned integer accessor.
    pub(crate) fn integers(&self, problems: &mut Problems) -> Option<Vec<u32>> {
        match self.format.component {
            Component::U8 => self.decode(problems, |b| b[0].into()),
            Component::U16 => self.decode(problems, |b| u16::from_le_bytes([b[0], b[1]]).into()),
            Component::U32 => self.decode(problems, u32_at),
            _ => None,
        }
    }

    fn decode<T: Copy + Default>(
        &self,
        problems: &mut Problems,
        read: impl Fn(&[u8]) -> T,
    ) -> Option<Vec<T>> {
        let width = self.width();
        let length = self.count.saturating_mul(width);
        problems.afford(&self.path, length.saturating_mul(size_of::<T>()))?;
        let mut out = vec![T::default(); length];
        let rows = self.shape.dimensions().1;
        let (size, column_size) = (self.format.component.size(), self.column_size());
        let element = |bytes: &[u8], out: &mut [T]| {
            for (i, out) in out.iter_mut().enumerate() {
                *out = read(&bytes[i / rows * column_size + i % rows * size..]);
            }
        };
        if let Some(Elements { bytes, stride }) = self.elements {
            for (i, out) in out.chunks_exact_mut(width).enumerate() {
                element(&bytes[i * stride..], out);
            }
        }
        if let Some(sparse) = self.sparse {
            let values = sparse.values.chunks_exact(self.element_size());
            for (i, value) in sparse.indices().zip(values) {
                element(value, &mut out[i * width..(i + 1) * width]);
            }
        }
        Some(out)
    }
}

impl Sparse<'_> {
    pub(super) fn indices(&self) -> impl Iterator<Item = usize> + '_ {
        let index = self.index;
        self.indices.chunks_exact(index.size()).take(self.count).map(move |b| match index {
            Component::U8 => b[0].into(),
            Component::U16 => u16::from_le_bytes([b[0], b[1]]).into(),
            _ => u32_at(b) as usize,
        })
    }
}

fn u32_at(bytes: &[u8]) -> u32 {
    u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}
