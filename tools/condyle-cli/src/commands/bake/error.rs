//! Errors of the written file compared with the clip.

use serde_json::{Value, json};

use super::film::{Film, Frame};
use crate::failure::Failure;
use crate::output::progress;
use crate::text::{millimetres, printable};

/// Maximum distance of a vertex, in units of the model.
#[derive(Clone, Copy, Default)]
pub(super) struct Worst {
    pub(super) distance: f64,
    /// Number of a frame, or the middle between two.
    frame: f64,
    vertex: usize,
}

impl Worst {
    fn look(&mut self, frame: f64, got: &[[f32; 3]], want: &[[f32; 3]]) {
        for (vertex, (got, want)) in got.iter().zip(want).enumerate() {
            let distance = distance(got, want);
            if distance > self.distance {
                *self = Self { distance, frame, vertex };
            }
        }
    }
}

pub(super) fn distance(a: &[f32; 3], b: &[f32; 3]) -> f64 {
    let square = |axis: usize| (f64::from(a[axis]) - f64::from(b[axis])).powi(2);
    (square(0) + square(1) + square(2)).sqrt()
}

/// Errors of the written file at its frames, and half-way between frames, where readers interpolate linearly.
#[derive(Default)]
pub(super) struct Off {
    pub(super) frames: Worst,
    pub(super) between: Worst,
    /// Maximum angle between two normals at a frame, in radians, if normals are compared.
    normals: Option<f64>,
}

impl Off {
    /// Measures the errors. `read` returns the vertices of the file at a frame or between two, with or
    /// without normals.
    pub(super) fn measure(
        film: &mut Film<'_>,
        mut read: impl FnMut(f64, &mut Frame) -> Result<(), Failure>,
    ) -> Result<Self, Failure> {
        let mut off = Self::default();
        let (mut got, mut want) = (Frame::default(), Frame::default());
        let halves = 2 * film.timing.frames - 1;
        let bar = progress(halves, "measuring");
        for half in 0..halves {
            let at = half as f64 / 2.0;
            read(at, &mut got)?;
            film.vertices(at, &mut want)?;
            let is_frame = half.is_multiple_of(2);
            let worst = if is_frame { &mut off.frames } else { &mut off.between };
            worst.look(at, &got.positions, &want.positions);
            if is_frame && !got.normals.is_empty() {
                let apart = got.normals.iter().zip(&want.normals).map(|(got, want)| distance(got, want));
                off.normals = Some(apart.fold(off.normals.unwrap_or(0.0), f64::max));
            }
            bar.inc(1);
        }
        bar.finish_and_clear();
        Ok(off)
    }

    pub(super) fn to_json(&self, film: &Film<'_>, metres: f64) -> Value {
        let worst = |worst: &Worst| {
            let (part, vertex) = place(film, worst.vertex);
            json!({
                "mm": 1e3 * metres * worst.distance,
                "seconds": film.timing.since_start(worst.frame),
                "frame": worst.frame,
                "primitive": part,
                "vertex": vertex,
            })
        };
        let mut json = json!({ "frames": worst(&self.frames), "between": worst(&self.between) });
        if let Some(normals) = self.normals {
            json["normals_degrees"] = normals.to_degrees().into();
        }
        json
    }

    pub(super) fn to_text(&self, film: &Film<'_>, metres: f64) -> String {
        let worst = |what: &str, worst: &Worst| match worst.distance {
            0.0 => format!("{what}: no error\n"),
            distance => {
                let (part, vertex) = place(film, worst.vertex);
                let (mm, seconds) = (millimetres(metres * distance), film.timing.since_start(worst.frame));
                format!(
                    "{what}: error up to {mm} mm, at {seconds:.3} s, vertex {vertex} of {}\n",
                    printable(&part)
                )
            }
        };
        let mut text = worst("frames", &self.frames);
        if film.timing.frames > 1 {
            text += &worst("half-way between frames", &self.between);
        }
        text += &match self.normals {
            // Normals along an axis are exact to the last bit, because the numbers of a PNG include 0 and 1.
            Some(0.0) => "normals: no error\n".to_owned(),
            Some(normals) => format!("normals: error up to {:.1e} degrees\n", normals.to_degrees()),
            None => String::new(),
        };
        text
    }
}

/// Returns the name of a vertex's primitive, and the index there.
fn place(film: &Film<'_>, vertex: usize) -> (String, usize) {
    let part = film.parts.iter().find(|part| (part.first..part.first + part.count).contains(&vertex));
    part.map_or((String::new(), vertex), |part| (film.part_name(part), vertex - part.first))
}
