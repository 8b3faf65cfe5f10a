//! NumPy's arrays in and out: taken as they are where they can be, named in the error where they cannot.

use std::ops::Range;

use numpy::{
    Element, PyArrayDyn, PyArrayMethods, PyReadonlyArrayDyn, PyReadwriteArrayDyn, PyUntypedArrayMethods,
};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyTuple;

use crate::errors::Error;

/// An argument: numbers in the order of its last axis first.
pub(crate) struct Input<'py, T: Element = f32> {
    name: String,
    array: PyReadonlyArrayDyn<'py, T>,
}

/// Moments in seconds. In f32, those of a long clip would be off by a part of a frame.
pub(crate) type Times<'py> = Input<'py, f64>;

impl<'py, T: Element> Input<'py, T> {
    /// An array of such numbers in C order is taken where it lies, read-only or not; other real numbers are converted.
    pub(crate) fn new(name: impl Into<String>, value: &Bound<'py, PyAny>) -> PyResult<Self> {
        let name = name.into();
        if let Ok(array) = value.cast::<PyArrayDyn<T>>()
            && let Some(array) = as_it_is(&name, array)?
        {
            return Ok(Self { name, array });
        }
        let numpy = value.py().import("numpy")?;
        let unfit = |what: &str| Error::new_err(format!("{name} {what}, real numbers are wanted"));
        let array = numpy.call_method1("asarray", (value,)).map_err(|_| unfit("is no array of one shape"))?;
        let dtype = array.getattr("dtype")?;
        if !matches!(dtype.getattr("kind")?.extract::<String>()?.as_str(), "f" | "i" | "u") {
            return Err(unfit(&format!("holds {}", dtype.str()?)));
        }
        let kind = numpy::dtype::<T>(value.py());
        let converted = numpy.call_method1("require", (array, &kind, "CA"))?;
        match as_it_is(&name, converted.cast()?)? {
            Some(array) => Ok(Self { name, array }),
            None => Err(unfit(&format!("cannot be converted to {kind}"))),
        }
    }

    pub(crate) fn shape(&self) -> &[usize] {
        self.array.shape()
    }

    /// The addresses of its numbers.
    fn reach(&self) -> Range<usize> {
        self.values().map_or(0..0, addresses)
    }

    pub(crate) fn values(&self) -> PyResult<&[T]> {
        self.array.as_slice().map_err(|_| Error::new_err(format!("{} is not contiguous", self.name)))
    }

    /// The axes before the last ones, which must be `tail`.
    pub(crate) fn leading(&self, tail: &[usize]) -> PyResult<&[usize]> {
        self.shape().strip_suffix(tail).ok_or_else(|| {
            let tail: Vec<String> = tail.iter().map(usize::to_string).collect();
            self.unfit(&format!("(..., {})", tail.join(", ")))
        })
    }

    /// The exception for a shape that is none of the wanted ones.
    pub(crate) fn unfit(&self, wanted: &str) -> PyErr {
        Error::new_err(format!(
            "{} has the shape {}, {wanted} is wanted",
            self.name,
            shape_text(self.shape())
        ))
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
                Err(Error::new_err(format!("{place} is {found}, a finite number is wanted")))
            }
        }
    }

    /// Checks that the last axis holds unit quaternions, as nearly as keys must be.
    pub(crate) fn check_unit(&self) -> PyResult<()> {
        let lengths = self.values()?.chunks_exact(4).map(|q| q.iter().map(|v| v * v).sum::<f32>().sqrt());
        match lengths.enumerate().find(|(_, length)| !(0.98..=1.02).contains(length)) {
            None => Ok(()),
            Some((row, length)) => {
                let place = self.place(4 * row);
                let place = place.rsplit_once([',', '[']).map_or(&*place, |(row, _)| row);
                let close = if place.contains('[') { "]" } else { "" };
                Err(Error::new_err(format!(
                    "{place}{close} has the length {length}, a unit quaternion is wanted"
                )))
            }
        }
    }

    /// As Python writes a number of it, by the number's place in memory.
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
                Err(Error::new_err(format!("{name}[{at}] is {found}, a finite number is wanted")))
            }
        }
    }
}

/// `None` unless it can be read where it lies.
fn as_it_is<'py, T: Element>(
    name: &str,
    array: &Bound<'py, PyArrayDyn<T>>,
) -> PyResult<Option<PyReadonlyArrayDyn<'py, T>>> {
    if !array.is_c_contiguous() {
        return Ok(None);
    }
    let read = array
        .try_readonly()
        .map_err(|_| Error::new_err(format!("{name} is being written by another call; wait for its end")))?;
    Ok(read.as_slice().is_ok().then_some(read))
}

/// A result: the caller's array, or a new one.
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
                // Uninitialised, and an exception where there is no memory for it.
                static EMPTY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
                EMPTY
                    .import(py, "numpy", "empty")?
                    .call1((PyTuple::new(py, shape)?, numpy::dtype::<T>(py)))?
            }
        };
        let kind = numpy::dtype::<T>(py);
        let wanted = || format!("a {kind} array of the shape {} in C order is wanted", shape_text(shape));
        let array = array
            .cast::<PyArrayDyn<T>>()
            .map_err(|_| Error::new_err(format!("{name} is {}, {}", kind_text(&array), wanted())))?;
        if array.shape() != shape {
            let found = shape_text(array.shape());
            return Err(Error::new_err(format!("{name} has the shape {found}, {}", wanted())));
        }
        if !array.is_c_contiguous() {
            return Err(Error::new_err(format!("{name} is strided, {}", wanted())));
        }
        let mut array = array.try_readwrite().map_err(|e| {
            let why = match e {
                numpy::BorrowError::NotWriteable => "is read-only",
                _ => "shares its memory with an argument or with another call's",
            };
            Error::new_err(format!("{name} {why}; give it an array of its own"))
        })?;
        if array.as_slice_mut().is_err() {
            return Err(Error::new_err(format!("{name} is not aligned, {}", wanted())));
        }
        Ok(Self(array))
    }

    /// The same, if it has no memory in common with these: views of one buffer may be arrays that know nothing of each other.
    pub(crate) fn apart_from<U: Element>(mut self, inputs: &[&Input<'_, U>]) -> PyResult<Self> {
        let own = self.reach()?;
        match inputs.iter().find(|input| overlap(&own, &input.reach())) {
            None => Ok(self),
            Some(input) => {
                let name = &input.name;
                Err(Error::new_err(format!("out shares its memory with {name}; give it an array of its own")))
            }
        }
    }

    /// The addresses of its numbers.
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

/// Results that are written together are apart from each other.
pub(crate) fn apart(outs: &mut [Output<'_>]) -> PyResult<()> {
    let reach = outs.iter_mut().map(Output::reach).collect::<PyResult<Vec<_>>>()?;
    let shared = |(at, own): (usize, &Range<usize>)| reach[..at].iter().any(|other| overlap(own, other));
    match reach.iter().enumerate().any(shared) {
        false => Ok(()),
        true => Err(Error::new_err("the arrays of out share memory; give each one of its own")),
    }
}

fn overlap(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start < b.end && b.start < a.end
}

/// What something is that should be an array.
fn kind_text(value: &Bound<'_, PyAny>) -> String {
    let dtype = value.getattr("dtype").and_then(|dtype| Ok(format!("an array of {}", dtype.str()?)));
    dtype.unwrap_or_else(|_| {
        value.get_type().name().map_or_else(|_| "something else".into(), |n| format!("a {n}"))
    })
}

/// As Python writes a tuple.
pub(crate) fn shape_text(shape: &[usize]) -> String {
    match shape {
        [one] => format!("({one},)"),
        _ => format!("({})", shape.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")),
    }
}
