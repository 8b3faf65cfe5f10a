//! Distance between two models while their clips play.

use condyle_encode::Shell;
use condyle_io::compare::{
    Difference, Error as Refusal, How, Pairing, Place, Subject, common_shell, moments, pair_clips,
};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::errors::Error;
use crate::frames::thread_count;
use crate::model::Model;
use crate::progress::{Steps, told_elsewhere};

/// Measure the distance between the vertices of two models while their clips play.
///
/// Typically `b` is a compressed or exported version of `a`.
///
/// Parameters
/// ----------
/// `a`, `b` : Model
///     Models to compare.
/// `clip` : int, str, Clip or None
///     Clip of `a`. None compares every clip of `a` that has a counterpart in `b`.
/// `fps` : float, optional
///     Comparisons per second. By default the clips are compared at all keys of both, and at three
///     times between successive keys.
/// `unit` : float, optional
///     Metres per unit of the models. Default: the unit of `a`, else that of `b`, else 1.
/// `shell` : float, optional
///     Radius in metres around each joint, used if joints are compared. Default: the smallest
///     `Clip.shell` of both models, else 0.03.
/// `threads` : int or None
///     Number of threads. None uses all cores.
/// `progress` : object with an `update` method, optional
///     Progress bar with 100 steps for each pair of clips.
///
/// Returns
/// -------
/// list of Difference
///     One per pair of clips. Models without clips are compared at rest: one Difference without a name.
///
/// Notes
/// -----
/// Vertices are paired by order if paired vertices have the same rest position, otherwise by rest
/// position. If less than half of the vertices of each model can be paired, all points within `shell`
/// of each joint are compared. Joints without a counterpart are listed in `Difference.unknown`. Clips
/// are paired by name, or by order if no names match and both models have the same number of clips. A
/// repeated clip name gets a number.
///
/// Examples
/// --------
/// >>> model = condyle.open("two_joints.glb")
/// >>> packed = condyle.from_bytes(model.pack(budget=1e-3))
/// >>> [bend] = condyle.compare(model, packed)
/// >>> bend.name, bend.pairs, bend.paired, bend.worst < 1e-3
/// ('bend', 20, 'order', True)
/// >>> condyle.compare(model, model, "bend", fps=30)
/// [<condyle.Difference "bend": 0 m at 46 moments, 20 vertices paired by order>]
#[pyfunction]
#[pyo3(signature = (a, b, clip=None, *, fps=None, unit=None, shell=None, threads=1, progress=None))]
#[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
pub(crate) fn compare<'py>(
    py: Python<'py>,
    a: &Bound<'py, Model>,
    b: &Bound<'py, Model>,
    clip: Option<&Bound<'py, PyAny>>,
    fps: Option<f64>,
    unit: Option<f64>,
    shell: Option<f64>,
    threads: Option<i64>,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let (a, b) = (a.get(), b.get());
    let unit = unit.or(a.unit().or(b.unit()).map(f64::from)).unwrap_or(1.0);
    if !unit.is_finite() || unit <= 0.0 {
        return Err(Error::new_err(format!("unit must be finite and above 0, got {unit}")));
    }
    let radius = shell.map(|metres| metres / unit);
    if radius.is_some_and(|radius| !radius.is_finite() || radius <= 0.0) {
        return Err(Error::new_err("shell must be finite and above 0"));
    }
    let default = f64::from(Shell::RADIUS) / unit;
    let wanted = clip.map(|clip| a.own_clip(clip)).transpose()?.flatten();
    let pool = thread_count(threads)?.pool()?;
    let found = told_elsewhere(py, progress, |steps| {
        pool.install(|| Comparison::new(a, b, wanted, (fps, radius, default), steps))
    })?;
    let found = found.map_err(Error::new_err)?;
    found.differences.iter().map(|(clip, it)| found.told(py, *clip, it, unit)).collect()
}

/// Progress steps of one pair of clips.
const PERCENT: usize = 100;

/// The pairing, and one difference for each clip of the first model that has a counterpart. A
/// comparison at rest has no clip.
struct Comparison<'a> {
    pairing: Pairing<'a>,
    differences: Vec<(Option<usize>, Difference)>,
}

impl<'a> Comparison<'a> {
    fn new(
        a: &'a Model,
        b: &'a Model,
        wanted: Option<usize>,
        (fps, radius, default): (Option<f64>, Option<f64>, f64),
        steps: &Steps,
    ) -> Result<Self, String> {
        let refused = |e: Refusal| e.to_string();
        let (a, b) = (a.subject().map_err(refused)?, b.subject().map_err(refused)?);
        let clips = clips(&a, &b, wanted)?;
        let radius = radius.or(common_shell([&a, &b]).map(|(radius, _)| radius.into())).unwrap_or(default);
        let pairing = Pairing::within(a, b, radius).map_err(refused)?;
        let mut differences = Vec::with_capacity(clips.len());
        for (at, pair) in clips.into_iter().enumerate() {
            let [this, that] = pairing.subjects();
            let (this, that) = (&this.clips()[pair.0], &that.clips()[pair.1]);
            let of = moments(this, that, fps).map_err(refused)?.len();
            let mut done = 0;
            let tick = |more: usize| {
                done += more;
                steps.set(PERCENT * at + PERCENT * done / of)
            };
            differences.push((Some(pair.0), pairing.measure(pair, fps, tick).map_err(refused)?));
        }
        if differences.is_empty() {
            differences.push((None, pairing.measure_rest().map_err(refused)?));
        }
        Ok(Self { pairing, differences })
    }

    /// Builds a `condyle.Difference`.
    fn told<'py>(
        &self,
        py: Python<'py>,
        clip: Option<usize>,
        it: &Difference,
        unit: f64,
    ) -> PyResult<Bound<'py, PyAny>> {
        let condyle = py.import("condyle")?;
        let (times, distances): (Vec<f64>, Vec<f64>) =
            it.over_time.iter().map(|(seconds, distance)| (*seconds, unit * distance)).unzip();
        let place = PyDict::new(py);
        match self.pairing.place(&it.worst) {
            Place::Vertex { mesh, primitive, vertex } => {
                place.set_item("mesh", mesh)?;
                place.set_item("primitive", primitive)?;
                place.set_item("vertex", vertex)?;
            }
            Place::Joint { name } => place.set_item("joint", name)?,
        }
        let unpaired = self.pairing.unpaired();
        let fields = PyDict::new(py);
        let clips = self.pairing.subjects()[0].clips();
        fields.set_item("name", clip.map_or("", |clip| clips[clip].name()))?;
        fields.set_item("worst", unit * it.worst.distance)?;
        fields.set_item("where", condyle.getattr("Place")?.call((it.seconds,), Some(&place))?)?;
        fields.set_item("percentile_99", unit * it.percentile_99)?;
        fields.set_item("mean_of_max", unit * it.mean_of_max)?;
        fields.set_item("times", PyArray1::from_vec(py, times))?;
        fields.set_item("distances", PyArray1::from_vec(py, distances))?;
        fields.set_item("paired", self.pairing.how().name())?;
        fields.set_item("pairs", self.pairing.paired())?;
        let reach = matches!(self.pairing.how(), How::Joints(_)).then(|| unit * self.pairing.reach());
        fields.set_item("reach", reach)?;
        fields.set_item("unpaired", (unpaired[0], unpaired[1]))?;
        let [these, those] = self.pairing.unknown_joints();
        fields.set_item("unknown", (PyTuple::new(py, these)?, PyTuple::new(py, those)?))?;
        condyle.getattr("Difference")?.call((), Some(&fields))
    }
}

/// Requested pairs of clips: at least one, or none if neither model has clips.
fn clips(a: &Subject<'_>, b: &Subject<'_>, wanted: Option<usize>) -> Result<Vec<(usize, usize)>, String> {
    if let (true, true, None) = (a.clips().is_empty(), b.clips().is_empty(), wanted) {
        return Ok(Vec::new());
    }
    if let Some(empty) = [a, b].into_iter().find(|it| it.clips().is_empty()) {
        return Err(format!(
            "{} has no clips; it can only be compared with a model without clips",
            empty.name()
        ));
    }
    let mut pairs = pair_clips(a, b);
    pairs.retain(|pair| wanted.is_none_or(|wanted| pair.0 == wanted));
    if pairs.is_empty() {
        let names = |it: &Subject<'_>, clips: &[condyle_io::compare::Clip<'_>]| {
            let names: Vec<_> =
                clips.iter().take(MOST_NAMES).map(|clip| format!("{:?}", clip.name())).collect();
            format!("{} has {}", it.name(), names.join(", "))
        };
        let these = wanted.map_or(a.clips(), |at| &a.clips()[at..=at]);
        return Err(format!("no clips match: {}, {}", names(a, these), names(b, b.clips())));
    }
    Ok(pairs)
}

/// Maximum number of names in a message.
const MOST_NAMES: usize = 20;
