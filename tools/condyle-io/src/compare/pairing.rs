//! Two models with paired vertices or joints, and queries on them.

use condyle_encode::Shell;

use crate::compare::clip::Clip;
use crate::compare::cluster::{Cluster, clusters};
use crate::compare::error::{Error, NoMeshes};
use crate::compare::measure::{Difference, measure};
use crate::compare::moments::moments;
use crate::compare::pairs::{How, Pairs, pairs};
use crate::compare::subject::{Place, Subject, Worst};

/// Two models, with the pairing of their vertices or joints. Distances are in units of the models.
pub struct Pairing<'a> {
    subjects: [Subject<'a>; 2],
    pairs: Pairs,
    clusters: Vec<Cluster>,
}

/// Returns the smallest radius of the clips of two models ([`Clip::within`]), in units of the models, and the
/// index of the model that has it: 0 or 1. The bounds of all clips hold within it.
#[must_use]
pub fn common_shell(models: [&Subject<'_>; 2]) -> Option<(f32, usize)> {
    let shells = models
        .into_iter()
        .enumerate()
        .flat_map(|(at, it)| it.clips().iter().map(move |clip| (clip.shell(), at)));
    shells.filter_map(|(shell, at)| Some((shell?, at))).reduce(|a, b| if b.0 < a.0 { b } else { a })
}

/// A primitive of a mesh of the first model, and its distance from the second model at rest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Part<'a> {
    /// Name of the node with the mesh; may be empty.
    pub mesh: &'a str,
    /// Index among the primitives of the mesh.
    pub primitive: usize,
    /// Number of vertices.
    pub vertices: usize,
    /// Number of vertices without a counterpart.
    pub unpaired: usize,
    /// Largest distance of a vertex from its counterpart at rest.
    pub distance: f64,
}

impl<'a> Pairing<'a> {
    /// Pairs the vertices of two models by order, if that pairs equal positions in the rest poses, else by
    /// their positions there. Of several vertices at one position, those with the same joints and morph
    /// targets are paired.
    ///
    /// If less than half of the vertices of each model can be paired, joints are paired instead: by name, or
    /// by order if the models share no name and all parents are the same. A joint of one model may also be
    /// paired with a node of the other that has its name and no keys.
    ///
    /// Joints are compared by the whole ball around them, as the encoder bounds it. The radius is
    /// [`common_shell`], or [`Shell::radius`] if no clip has one: 3 cm in the known unit of the first model,
    /// else in that of the second, else in metres.
    ///
    /// # Errors
    /// [`Error::Different`] if no joints can be paired either, [`Error::TooLarge`] if the pairs would take
    /// too much memory.
    pub fn new(a: Subject<'a>, b: Subject<'a>) -> Result<Self, Error> {
        let metres = a.unit().or(b.unit()).unwrap_or(1.0);
        let radius =
            common_shell([&a, &b]).map_or_else(|| Shell::radius(metres).into(), |(radius, _)| radius.into());
        Self::within(a, b, radius)
    }

    /// Pairs like [`new`](Self::new), with balls of another radius around joints, in units of the models.
    ///
    /// # Errors
    /// The errors of [`new`](Self::new).
    pub fn within(mut a: Subject<'a>, mut b: Subject<'a>, radius: f64) -> Result<Self, Error> {
        let mut pairs = pairs(&mut a, &mut b, radius)?;
        let clusters = clusters(&a, &b, &std::mem::take(&mut pairs.links))?;
        Ok(Self { subjects: [a, b], pairs, clusters })
    }

    /// Returns the first and the second model.
    #[must_use]
    pub fn subjects(&self) -> &[Subject<'a>; 2] {
        &self.subjects
    }

    /// Returns the kind of pairing.
    #[must_use]
    pub fn how(&self) -> How {
        self.pairs.how
    }

    /// Returns the reason why joints were paired instead of vertices; `None` if vertices were paired.
    #[must_use]
    pub fn why(&self) -> Option<&NoMeshes> {
        self.pairs.why.as_ref()
    }

    /// Returns the radius of the balls around compared joints; 0 if vertices were paired.
    #[must_use]
    pub fn reach(&self) -> f64 {
        self.pairs.reach
    }

    /// Returns the number of vertices, or joints, of each model.
    #[must_use]
    pub fn counts(&self) -> [usize; 2] {
        self.pairs.counts
    }

    /// Returns the number of vertices, or joints, of each model without a counterpart.
    #[must_use]
    pub fn unpaired(&self) -> [usize; 2] {
        self.pairs.unpaired
    }

    /// Returns the names of joints without a counterpart in each model, whose distance is unknown. Empty if
    /// vertices were paired.
    #[must_use]
    pub fn unknown_joints(&self) -> &[Vec<String>; 2] {
        &self.pairs.unknown
    }

    /// Returns the number of vertices, or joints, of the first model with a counterpart.
    #[must_use]
    pub fn paired(&self) -> usize {
        self.pairs.counts[0] - self.pairs.unpaired[0]
    }

    /// Returns the primitives of the first model, in the order of its nodes. Empty if joints were paired.
    pub fn parts(&self) -> impl Iterator<Item = Part<'_>> {
        let parts = if self.pairs.why.is_none() { &self.subjects[0].parts[..] } else { &[] };
        parts.iter().zip(&self.pairs.rest).map(|(part, rest)| Part {
            mesh: &part.name,
            primitive: part.primitive,
            vertices: part.rest.len(),
            unpaired: rest.unpaired,
            distance: rest.worst,
        })
    }

    /// Returns the vertex, or joint, with the largest distance from its counterpart at rest.
    #[must_use]
    pub fn worst_at_rest(&self) -> Worst {
        self.pairs.worst_at_rest()
    }

    /// Returns the vertex or joint that a distance belongs to.
    ///
    /// # Panics
    /// Panics if this pairing has no such part or joint.
    #[must_use]
    pub fn place(&self, of: &Worst) -> Place<'_> {
        self.subjects[0].place(of.part, of.vertex)
    }

    /// Plays a clip of each model, and measures the distance of each vertex from its counterpart at each of
    /// the [`moments`], on all threads of the current rayon pool.
    ///
    /// `clips` has the indices of the clips, as returned by [`pair_clips`](crate::compare::pair_clips). The
    /// result does not depend on the number of threads. `tick` receives the number of moments completed since
    /// the last call, and returns whether to continue.
    ///
    /// # Errors
    /// The errors of [`moments`], [`Error::Clip`] if there is no such clip, [`Error::Moment`] if a model
    /// leaves the range of f32, and [`Error::Stopped`] if `tick` returned false.
    pub fn measure(
        &self,
        clips: (usize, usize),
        fps: Option<f64>,
        tick: impl FnMut(usize) -> bool,
    ) -> Result<Difference, Error> {
        let [a, b] = &self.subjects;
        let (this, that) = (a.clip(clips.0)?, b.clip(clips.1)?);
        measure([(a, this), (b, that)], &self.clusters, &moments(this, that, fps)?, tick)
    }
    /// Measures the distance of each vertex from its counterpart in the rest poses, as a clip with a single
    /// moment.
    ///
    /// # Errors
    /// [`Error::Moment`] if a model leaves the range of f32.
    pub fn measure_rest(&self) -> Result<Difference, Error> {
        let [a, b] = &self.subjects;
        let rest = Clip::rest();
        measure([(a, &rest), (b, &rest)], &self.clusters, &[0.0], |_| true)
    }
}
