//! The types of accessors, and the types that each use of an accessor allows.

use std::fmt;

use crate::json::Json;
use crate::problem::Problems;

/// The type of a single component.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Component {
    I8,
    U8,
    I16,
    U16,
    U32,
    F32,
}

impl Component {
    /// Reads the component type of an accessor, or of the indices of a sparse accessor.
    pub(crate) fn of(owner: &Json<'_>, problems: &mut Problems) -> Option<Self> {
        let json = owner.require("componentType", problems)?;
        let code = json.whole(problems)?;
        let component = Self::from_code(code);
        if component.is_none() {
            problems.error(&json.path, format!("is {code}, expected one of 5120 to 5123, 5125 and 5126"));
        }
        component
    }

    pub(crate) fn from_code(code: usize) -> Option<Self> {
        Some(match code {
            5120 => Self::I8,
            5121 => Self::U8,
            5122 => Self::I16,
            5123 => Self::U16,
            5125 => Self::U32,
            5126 => Self::F32,
            _ => return None,
        })
    }

    pub(crate) fn size(self) -> usize {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 => 2,
            Self::U32 | Self::F32 => 4,
        }
    }
}

/// The number and arrangement of components in an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    Scalar,
    Vec2,
    Vec3,
    Vec4,
    Mat2,
    Mat3,
    Mat4,
}

impl Shape {
    pub(crate) const NAMES: [(&'static str, Self); 7] = [
        ("SCALAR", Self::Scalar),
        ("VEC2", Self::Vec2),
        ("VEC3", Self::Vec3),
        ("VEC4", Self::Vec4),
        ("MAT2", Self::Mat2),
        ("MAT3", Self::Mat3),
        ("MAT4", Self::Mat4),
    ];

    pub(crate) fn name(self) -> &'static str {
        Self::NAMES.iter().find(|n| n.1 == self).map_or("", |n| n.0)
    }

    /// Returns `(columns, rows)`.
    pub(crate) fn dimensions(self) -> (usize, usize) {
        match self {
            Self::Scalar => (1, 1),
            Self::Vec2 => (1, 2),
            Self::Vec3 => (1, 3),
            Self::Vec4 => (1, 4),
            Self::Mat2 => (2, 2),
            Self::Mat3 => (3, 3),
            Self::Mat4 => (4, 4),
        }
    }
}

/// The type of an accessor's components. Normalised integers are fractions of their maximum value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Format {
    pub(crate) component: Component,
    /// True only for integers of at most 16 bits.
    pub(crate) normalized: bool,
}

impl Format {
    pub(crate) const fn plain(component: Component) -> Self {
        Self { component, normalized: false }
    }

    pub(crate) const fn normalized(component: Component) -> Self {
        Self { component, normalized: true }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{:?}", if self.normalized { "normalised " } else { "" }, self.component)
    }
}

/// The accessor types that a place in the document allows.
#[derive(Debug)]
pub(crate) struct Usage {
    pub(crate) shape: Shape,
    pub(crate) formats: &'static [Format],
    /// Formats that `KHR_mesh_quantization` allows in addition.
    pub(crate) quantized: &'static [Format],
}
