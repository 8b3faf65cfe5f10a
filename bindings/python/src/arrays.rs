//! NumPy arrays as arguments and results. Suitable arrays are used without a copy; errors name the argument.

use std::ops::Range;

use numpy::{
    Element, PyArrayDyn, PyArrayMethods, PyReadonlyArrayDyn, PyReadwriteArrayDyn, PyUntypedArrayMethods,
};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyTuple;

use crate::errors::Error;

/// Array argument in C order.
pub(crate) struct Input<'py, T: Element = f32> {
    name: String,
    array: PyReadonlyArrayDyn<'py, T>,
}

/// Times in seconds. With f32 the times of a long clip would be off by a fraction of a frame.
pub(crate) type Times<'py> = Input<'py, f64>;

impl<'py, T: Element> Input<'py, T> {
    /// Uses a C-contiguous array of this type without a copy, read-only or not, and converts other real
    /// numbers.
    pub(crate) fn new(name: impl Into<String>, value: &Bound<'py, PyAny>) -> PyResult<Self> {
        let name = name.into();
        if let Ok(array) = value.cast::<PyArrayDyn<T>>()
            && let Some(array) = as_it_is(&name, array)?
        {
            return Ok(Self { name, array });
        }
        let numpy = value.py().import("numpy")?;
        let unfit = |what: &str| Error::new_err(format!("{name} must be an array of real numbers, {what}"));
        let array = numpy
            .call_method1("asarray", (value,))
            .map_err(|_| unfit("got values that do not form a regular array"))?;
        let dtype = array.getattr("dtype")?;
        if !matches!(dtype.getattr("kind")?.extract::<String>()?.as_str(), "f" | "i" | "u") {
            return Err(unfit(&format!("got dtype {}", dtype.str()?)));
        }
        let kind = numpy::dtype::<T>(value.py());
        let converted = numpy.call_method1("require", (array, &kind, "CA"))?;
        match as_it_is(&name, converted.cast()?)? {
            Some(array) => Ok(Self { name, array }),
            None => Err(unfit(&format!("got values that cannot be converted to {kind}"))),
        }
    }

    pub(crate) fn shape(&self) -> &[usize] {
        self.array.shape()
    }

    /// Address range of the values.
    fn reach(&self) -> Range<usize> {
        self.values().map_or(0..0, addresses)
    }

    pub(crate) fn values(&self) -> PyResult<&[T]> {
        self.array.as_slice().map_err(|_| Error::new_err(format!("{} is not contiguous", self.name)))
    }

    /// Axes before the last ones, which must equal `tail`.
    pub(crate) fn leading(&self, tail: &[usize]) -> PyResult<&[usize]> {
        self.shape().strip_suffix(tail).ok_or_else(|| {
            let tail: Vec<String> = tail.iter().map(usize::to_string).collect();
            self.unfit(&format!("(..., {})", tail.join(", ")))
        })
    }

    /// Exception for an unsuitable shape. `wanted` describes the expected shape.
    pub(crate) fn unfit(&self, wanted: &str) -> PyErr {
        Error::new_err(format!("{} must have shape {wanted}, got {}", self.name, shape_text(self.shape())))
    }
}

impl Input<'_> {
    /// Checks that all numbers are finite.
    pub(crate) fn check_finite(&self) -> PyResult<()> {
        let values = self.values()?;
        match values.iter().position(|value| !value.is_finite()) {
            None => Ok(()),
            Some(at) => {
                let (place, found) = (self.place(at), values[at]);
                Err(Error::new_err(format!("{place} must be finite, got {found}")))
            }
        }
    }

    /// Checks that the last axis holds unit quaternions, with the tolerance that keys have.
    pub(crate) fn check_unit(&self) -> PyResult<()> {
        let lengths = self.values()?.chunks_exact(4).map(|q| q.iter().map(|v| v * v).sum::<f32>().sqrt());
        match lengths.enumerate().find(|(_, length)| !(0.98..=1.02).contains(length)) {
            None => Ok(()),
            Some((row, length)) => {
                let place = self.place(4 * row);
                let place = place.rsplit_once([',', '[']).map_or(&*place, |(row, _)| row);
                let close = if place.contains('[') { "]" } else { "" };
                Err(Error::new_err(format!("{place}{close} must be a unit quaternion, got length {length}")))
            }
        }
    }

    /// Python expression for the element at a flat index, such as `times[3]`.
    fn place(&self, at: usize) -> String {
        let mut indices = Vec::new();
        let mut left = at;
        for length in self.shape().iter().rev() {
            indices.push((left % length).to_string());
            left /= length;
        }
        indices.reverse();
        if indices.is_empty() { self.name.clone() } else { format!("{}[{}]", self.name, indices.join(", ")) }
    }
}

impl Times<'_> {
    pub(crate) fn times(&self) -> PyResult<&[f64]> {
        if self.shape().len() != 1 {
            return Err(self.unfit("(T,)"));
        }
        let times = self.values()?;
        match times.iter().position(|time| !time.is_finite()) {
            None => Ok(times),
            Some(at) => {
                let (name, found) = (&self.name, times[at]);
                Err(Error::new_err(format!("{name}[{at}] must be finite, got {found}")))
            }
        }
    }
}

/// Returns `None` if the array cannot be read without a copy.
fn as_it_is<'py, T: Element>(
    name: &str,
    array: &Bound<'py, PyArrayDyn<T>>,
) -> PyResult<Option<PyReadonlyArrayDyn<'py, T>>> {
    if !array.is_c_contiguous() {
        return Ok(None);
    }
    let read = array
        .try_readonly()
        .map_err(|_| Error::new_err(format!("another call is writing {name}; wait for it")))?;
    Ok(read.as_slice().is_ok().then_some(read))
}

/// Array for the result: the caller's, or a new one.
pub(crate) struct Output<'py, T: Element = f32>(PyReadwriteArrayDyn<'py, T>);

impl<'py, T: Element> Output<'py, T> {
    pub(crate) fn new(
        py: Python<'py>,
        name: &str,
        out: Option<&Bound<'py, PyAny>>,
        shape: &[usize],
    ) -> PyResult<Self> {
        let array = match out {
            Some(out) => out.clone(),
            None => {
                // The array is uninitialised. If memory runs out, NumPy raises an exception.
                static EMPTY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
                EMPTY
                    .import(py, "numpy", "empty")?
                    .call1((PyTuple::new(py, shape)?, numpy::dtype::<T>(py)))?
            }
        };
        let kind = numpy::dtype::<T>(py);
        let wanted = || format!("must be a C-contiguous {kind} array of shape {}", shape_text(shape));
        let array = array
            .cast::<PyArrayDyn<T>>()
            .map_err(|_| Error::new_err(format!("{name} {1}, got {0}", kind_text(&array), wanted())))?;
        if array.shape() != shape {
            let found = shape_text(array.shape());
            return Err(Error::new_err(format!("{name} {}, got shape {found}", wanted())));
        }
        if !array.is_c_contiguous() {
            return Err(Error::new_err(format!("{name} {}, got a strided array", wanted())));
        }
        let mut array = array.try_readwrite().map_err(|e| {
            let why = match e {
                numpy::BorrowError::NotWriteable => "is read-only",
                _ => "shares memory with an argument or with an array in use by another call",
            };
            Error::new_err(format!("{name} {why}; pass a separate array"))
        })?;
        if array.as_slice_mut().is_err() {
            return Err(Error::new_err(format!("{name} {}, got an unaligned array", wanted())));
        }
        Ok(Self(array))
    }

    /// Returns an error if the array overlaps one of these inputs. NumPy's borrow check does not see
    /// two views of one buffer.
    pub(crate) fn apart_from<U: Element>(mut self, inputs: &[&Input<'_, U>]) -> PyResult<Self> {
        let own = self.reach()?;
        match inputs.iter().find(|input| overlap(&own, &input.reach())) {
            None => Ok(self),
            Some(input) => {
                let name = &input.name;
                Err(Error::new_err(format!("out shares memory with {name}; pass a separate array")))
            }
        }
    }

    /// Address range of the values.
    fn reach(&mut self) -> PyResult<Range<usize>> {
        Ok(addresses(self.values()?))
    }

    pub(crate) fn values(&mut self) -> PyResult<&mut [T]> {
        self.0.as_slice_mut().map_err(|_| Error::new_err("out is not contiguous"))
    }

    pub(crate) fn into_array(self) -> Bound<'py, PyArrayDyn<T>> {
        (**self.0).clone()
    }
}

fn addresses<T>(values: &[T]) -> Range<usize> {
    let range = values.as_ptr_range();
    range.start as usize..range.end as usize
}

/// Checks that arrays written by one call do not overlap.
pub(crate) fn apart(outs: &mut [Output<'_>]) -> PyResult<()> {
    let reach = outs.iter_mut().map(Output::reach).collect::<PyResult<Vec<_>>>()?;
    let shared = |(at, own): (usize, &Range<usize>)| reach[..at].iter().any(|other| overlap(own, other));
    if reach.iter().enumerate().any(shared) {
        Err(Error::new_err("the arrays of out share memory; pass separate arrays"))
    } else {
        Ok(())
    }
}

fn overlap(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start < b.end && b.start < a.end
}

/// Description of a value that is not a suitable array.
fn kind_text(value: &Bound<'_, PyAny>) -> String {
    let dtype = value.getattr("dtype").and_then(|dtype| Ok(format!("an array of {}", dtype.str()?)));
    dtype.unwrap_or_else(|_| {
        value.get_type().name().map_or_else(|_| "something else".into(), |n| format!("a {n}"))
    })
}

/// Shape in the form of a Python tuple.
pub(crate) fn shape_text(shape: &[usize]) -> String {
    match shape {
        [one] => format!("({one},)"),
        _ => format!("({})", shape.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")),
    }
}
