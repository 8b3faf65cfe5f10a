//! Residuals of the requests, as a table and as JSON.

use condyle::{Error, Skeleton};
use serde_json::{Value, json};

use super::asked::joint_name;
use super::clip::Residuals;
use super::request::{Kind, Request};
use super::solver::Solved;
use crate::text::{millimetres, table};

/// Figures of one request: at one of its times, or the worst of many moments.
pub(crate) struct Row {
    joint: String,
    asked: &'static str,
    turns: bool,
    /// Whether the joint must stay where the clip has it.
    stays: bool,
    /// Whether the request has weight at that moment.
    counts: bool,
    /// Index of the request.
    pub index: usize,
    /// Time of the moment.
    pub seconds: f64,
    span: Span,
    /// Residual in metres or radians: of the original clip, and of the solved clip.
    before: f64,
    pub after: f64,
    /// Largest residual between keys, if the row covers many moments.
    pub between: Option<f64>,
    iterations: u32,
    microseconds: f64,
}

/// Moments that a row covers.
#[derive(Clone, Copy)]
enum Span {
    One,
    /// Time range from the first to the last time of a request.
    Way(f64, f64),
    Whole,
}

/// Residuals of each request at one moment, before and after.
struct Moment {
    seconds: f64,
    residuals: Vec<[f64; 2]>,
    /// Iterations and microseconds of the key; `None` between keys.
    solved: Option<(u32, f64)>,
}

/// Returns the rows for a clip that was solved at these moments, with the metres per unit.
pub(crate) fn rows(
    measured: &Residuals<'_, '_>,
    moments: &[f64],
    solved: &[Solved],
    metres: f64,
) -> Result<Vec<Row>, Error> {
    let at = |seconds: f64, solved: Option<&Solved>| {
        let residuals = measured.at(seconds)?;
        Ok(Moment {
            seconds,
            residuals,
            solved: solved.map(|it| (it.iterations, it.time.as_secs_f64() * 1e6)),
        })
    };
    let mut all = Vec::new();
    for (index, (&seconds, own)) in moments.iter().zip(solved).enumerate() {
        all.push(at(seconds, Some(own))?);
        if let Some(&next) = moments.get(index + 1) {
            all.push(at(seconds + (next - seconds) / 2.0, None)?);
        }
    }
    let of = |(index, request): (usize, &Request)| {
        rows_of(index, request, (measured.skeleton, measured.solver.ease), &all, metres)
    };
    Ok(measured.solver.requests.iter().enumerate().flat_map(of).collect())
}

fn rows_of(
    index: usize,
    request: &Request,
    (skeleton, ease): (&Skeleton, f32),
    all: &[Moment],
    metres: f64,
) -> Vec<Row> {
    let unit = if request.turns() { 1.0 } else { metres };
    let row = |span: Span, moment: &Moment, between: Option<f64>| {
        let [before, after] = moment.residuals[index].map(|residual| residual * unit);
        let (iterations, microseconds) = moment.solved.unwrap_or_default();
        Row {
            joint: joint_name(skeleton, request.joint),
            asked: match request.kind {
                Kind::Place(_) => "goal",
                Kind::Offset(_) => "move",
                Kind::Turn(_) => "orientation",
                Kind::Stay => "pin",
                Kind::StayTurned => "pin, turned",
            },
            turns: request.turns(),
            stays: request.stays(),
            counts: request.share(moment.seconds, ease) > 0.0,
            index,
            seconds: moment.seconds,
            span,
            before,
            after,
            between: between.map(|residual| residual * unit),
            iterations,
            microseconds,
        }
    };
    let worst = |span: Span, within: &dyn Fn(&Moment) -> bool| {
        let after = |moment: &&Moment| moment.residuals[index][1];
        let keys = all.iter().filter(|moment| within(moment) && moment.solved.is_some());
        let found = keys.max_by(|a, b| after(a).total_cmp(&after(b)))?;
        let others = all.iter().filter(|moment| within(moment) && moment.solved.is_none());
        Some(row(span, found, others.map(|moment| after(&moment)).reduce(f64::max)))
    };
    match *request.times() {
        _ if all.len() == 1 => vec![row(Span::One, &all[0], None)],
        [] => worst(Span::Whole, &|_| true).into_iter().collect(),
        ref times @ [first, .., last] => {
            let way = worst(Span::Way(first, last), &|moment| (first..=last).contains(&moment.seconds));
            times
                .iter()
                .filter_map(|&time| moment(all, time))
                .map(|it| row(Span::One, it, None))
                .chain(way)
                .collect()
        }
        [time] => moment(all, time).map(|it| row(Span::One, it, None)).into_iter().collect(),
    }
}

/// Returns the key at a requested time.
fn moment(all: &[Moment], time: f64) -> Option<&Moment> {
    all.iter().find(|moment| moment.seconds == time && moment.solved.is_some())
}

impl Row {
    /// Names the request in messages.
    pub(crate) fn name(&self) -> String {
        format!("the {} of {}", self.asked, self.joint)
    }

    /// Whether the request is about a rotation.
    pub(crate) fn turns(&self) -> bool {
        self.turns
    }

    /// Formats a residual with its unit.
    pub(crate) fn shown(&self, residual: f64) -> String {
        if self.turns {
            format!("{:.3} deg", residual.to_degrees())
        } else {
            format!("{} mm", millimetres(residual))
        }
    }

    /// Whether the request is missed at a key.
    pub(crate) fn is_missed(&self) -> bool {
        self.after > if self.turns { 2e-3 } else { 2e-4 }
    }

    fn to_cells(&self) -> Vec<String> {
        let when = match self.span {
            Span::One => format!("{:.3}", self.seconds),
            Span::Way(from, to) => format!("{from:.3} to {to:.3}"),
            Span::Whole => "all".into(),
        };
        vec![
            self.joint.clone(),
            self.asked.into(),
            when,
            if self.stays || !self.counts { String::new() } else { self.shown(self.before) },
            if self.counts { self.shown(self.after) } else { "inactive".into() },
            self.between.map_or(String::new(), |between| self.shown(between)),
            self.iterations.to_string(),
            format!("{:.0}", self.microseconds),
        ]
    }

    pub(crate) fn to_json(&self) -> Value {
        let unit = if self.turns { "rad" } else { "m" };
        let mut it = json!({ "joint": self.joint, "asked": self.asked, "at_s": self.seconds });
        match self.span {
            Span::One => {}
            Span::Way(from, to) => it["span_s"] = json!([from, to]),
            Span::Whole => it["span_s"] = json!("all"),
        }
        let counts = |value: f64| self.counts.then_some(value);
        it[format!("before_{unit}")] = json!(counts(self.before));
        it[format!("residual_{unit}")] = json!(counts(self.after));
        if let Some(between) = self.between {
            it[format!("between_keys_{unit}")] = json!(between);
        }
        it["iterations"] = json!(self.iterations);
        it["microseconds"] = json!(self.microseconds);
        it
    }
}

pub(crate) fn table_of(rows: &[Row]) -> String {
    let headings = ["joint", "request", "time, s", "before", "residual", "between keys", "iterations", "us"];
    let mut lines = vec![headings.map(String::from).to_vec()];
    lines.extend(rows.iter().map(Row::to_cells));
    table("<<>>>>>>", lines)
}
