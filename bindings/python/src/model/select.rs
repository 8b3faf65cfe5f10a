//! Selection of a model's clip by index, name or object.

use std::sync::Arc;

use condyle_io::ModelClip;
use pyo3::exceptions::{PyIndexError, PyTypeError};
use pyo3::prelude::*;

use super::Model;
use crate::clip::Clip;
use crate::errors::Error;

impl Model {
    /// Clip of this skeleton, by index, name or object. `None` for None.
    pub(super) fn clip<'py>(&self, clip: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, Clip>>> {
        let py = clip.py();
        if clip.is_none() {
            return Ok(None);
        }
        if let Ok(clip) = clip.cast::<Clip>() {
            self.check(clip.get())?;
            return Ok(Some(clip.clone()));
        }
        let count = self.clips.len();
        let found = if let Ok(name) = clip.extract::<String>() {
            let found = self.clips.iter().find(|clip| clip.get().name == name);
            found.ok_or_else(|| {
                let names: Vec<_> = self.clips.iter().map(|clip| format!("{:?}", clip.get().name)).collect();
                Error::new_err(format!(
                    "{} has no clip {name:?}; available clips: {}",
                    self.name,
                    names.join(", ")
                ))
            })?
        } else if let Ok(index) = clip.extract::<i64>() {
            let at = usize::try_from(if index < 0 { index + count as i64 } else { index });
            let found = at.ok().and_then(|at| self.clips.get(at));
            found.ok_or_else(|| PyIndexError::new_err(format!("no clip {index} of {count}")))?
        } else {
            let kind = clip.get_type().name()?;
            return Err(PyTypeError::new_err(format!(
                "clip must be an index, a name, a Clip or None, got {kind}"
            )));
        };
        Ok(Some(found.bind(py).clone()))
    }

    /// Copies of the selected clips: one, or all for None.
    pub(crate) fn asked(&self, py: Python<'_>, clip: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<Clip>> {
        match clip.map(|clip| self.clip(clip)).transpose()?.flatten() {
            Some(clip) => Ok(vec![clip.get().clone()]),
            None => Ok(self.clips.iter().map(|clip| clip.bind(py).get().clone()).collect()),
        }
    }

    /// Index of one of the model's clips. `None` for None.
    pub(crate) fn own_clip(&self, clip: &Bound<'_, PyAny>) -> PyResult<Option<usize>> {
        let Some(clip) = self.clip(clip)? else { return Ok(None) };
        let found = self.clips.iter().position(|own| own.is(&clip));
        let other = || {
            Error::new_err(format!(
                "{:?} is not one of the clips of {}; pass an index or a name, or use with_clips(...)",
                clip.get().name,
                self.name
            ))
        };
        found.map(Some).ok_or_else(other)
    }

    /// Returns an error if the clip belongs to a different skeleton.
    pub(super) fn check(&self, clip: &Clip) -> PyResult<()> {
        if Arc::ptr_eq(&clip.skeleton, &self.skeleton)
            || clip.skeleton.fingerprint() == self.skeleton.fingerprint()
        {
            return Ok(());
        }
        let name = &clip.name;
        Err(Error::new_err(format!(
            "the clip {name:?} belongs to a different skeleton than {}: joint names or parents differ",
            self.name
        )))
    }

    /// Motion of a clip. `None` for the rest pose.
    pub(super) fn motion(&self, clip: &Bound<'_, PyAny>) -> PyResult<Option<Arc<ModelClip>>> {
        let Some(clip) = self.clip(clip)? else { return Ok(None) };
        Ok(Some(Arc::clone(&clip.get().motion)))
    }
}
