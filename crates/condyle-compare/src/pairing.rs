//! Two models whose vertices or joints are paired, and what can be asked about them.

use condyle_encode::Shell;

use crate::clip::Clip;
use crate::cluster::{Cluster, clusters};
use crate::error::{Error, NoMeshes};
use crate::measure::{Difference, measure};
use crate::moments::moments;
use crate::pairs::{How, Pairs, pairs};
use crate::subject::{Place, Subject, Worst};

/// Two models, and which vertex or joint of the first is which of the second. Distances are in units of the models.
pub struct Pairing<'a> {
    subjects: [Subject<'a>; 2],
    pairs: Pairs,
    clusters: Vec<Cluster>,
}

/// The smallest radius that the clips of two models have ([`Clip::within`]), in units of the models, and
/// which model has it: 0 or 1. All of their bounds hold within it.
#[must_use]
pub fn common_shell(models: [&Subject<'_>; 2]) -> Option<(f32, usize)> {
    let shells = models
        .into_iter()
        .enumerate()
        .flat_map(|(at, it)| it.clips().iter().map(move |clip| (clip.shell(), at)));
    shells.filter_map(|(shell, at)| Some((shell?, at))).reduce(|a, b| if b.0 < a.0 { b } else { a })
}

/// A primitive of a mesh of the first model, and how close its vertices are to their counterparts at rest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Part<'a> {
    /// The name of the node that shows the mesh, which may be empty.
    pub mesh: &'a str,
    /// The place among the primitives of the mesh.
    pub primitive: usize,
    /// How many vertices it has.
    pub vertices: usize,
    /// How many of these have no counterpart.
    pub unpaired: usize,
    /// The greatest distance of a vertex from its counterpart at rest.
    pub distance: f64,
}

impl<'a> Pairing<'a> {
    /// Pairs vertices by their order where that leads to one place in the rest poses, else by their places there: of several
    /// in one place those that the same joints and morph targets move. Where less than half of the vertices of each model can
    /// be paired, joints are: by their names, or by their order if none is in both and all have the same parents. A joint of one model
    /// is paired with a node of the other that has its name and no keys.
    ///
    /// Of a joint the whole ball around it is compared, as the encoder bounds it. Its radius is
    /// [`common_shell`]; where no clip has one, [`Shell::radius`]: 3 cm in the units that one of the models,
    /// the first if both, is known to have, else in metres.
    ///
    /// # Errors
    /// [`Error::Different`] if no joints can be paired either, [`Error::TooLarge`] if the pairs would take too much memory.
    pub fn new(a: Subject<'a>, b: Subject<'a>) -> Result<Self, Error> {
        let metres = a.unit().or(b.unit()).unwrap_or(1.0);
        let radius =
            common_shell([&a, &b]).map_or_else(|| Shell::radius(metres).into(), |(radius, _)| radius.into());
        Self::within(a, b, radius)
    }

    /// [`new`](Self::new) with balls of another radius around joints, in units of the models.
    ///
    /// # Errors
    /// Those of [`new`](Self::new).
    pub fn within(mut a: Subject<'a>, mut b: Subject<'a>, radius: f64) -> Result<Self, Error> {
        let mut pairs = pairs(&mut a, &mut b, radius)?;
        let clusters = clusters(&a, &b, &std::mem::take(&mut pairs.links))?;
        Ok(Self { subjects: [a, b], pairs, clusters })
    }

    /// The first model and the second.
    #[must_use]
    pub fn subjects(&self) -> &[Subject<'a>; 2] {
        &self.subjects
    }

    /// What was paired, and how.
    #[must_use]
    pub fn how(&self) -> How {
        self.pairs.how
    }

    /// Why joints were paired and not vertices; `None` if vertices were.
    #[must_use]
    pub fn why(&self) -> Option<&NoMeshes> {
        self.pairs.why.as_ref()
    }

    /// The radius of the balls around joints that are compared; 0 where vertices were paired.
    #[must_use]
    pub fn reach(&self) -> f64 {
        self.pairs.reach
    }

    /// The vertices, or joints, of each model.
    #[must_use]
    pub fn counts(&self) -> [usize; 2] {
        self.pairs.counts
    }

    /// Those of each model without a counterpart.
    #[must_use]
    pub fn unpaired(&self) -> [usize; 2] {
        self.pairs.unpaired
    }

    /// The names of joints without a counterpart, of each model: nothing is known of their distance. Empty where vertices were
    /// paired.
    #[must_use]
    pub fn unknown_joints(&self) -> &[Vec<String>; 2] {
        &self.pairs.unknown
    }

    /// Those of the first model that have one.
    #[must_use]
    pub fn paired(&self) -> usize {
        self.pairs.counts[0] - self.pairs.unpaired[0]
    }

    /// The primitives of the first model, in the order of its nodes. Empty where joints were paired.
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

    /// The vertex, or joint, that is furthest from its counterpart at rest.
    #[must_use]
    pub fn worst_at_rest(&self) -> Worst {
        self.pairs.worst_at_rest()
    }

    /// What the vertex of a distance is called.
    ///
    /// # Panics
    /// If the distance is not one of this pairing.
    #[must_use]
    pub fn place(&self, of: &Worst) -> Place<'_> {
        self.subjects[0].place(of.part, of.vertex)
    }

    /// Plays a clip of each model, by their numbers, as [`pair_clips`](crate::pair_clips) has them, and measures the distance of
    /// each vertex from its counterpart at each of the [`moments`], on all threads of the current pool of rayon. The numbers do
    /// not depend on how many there are. `tick` is told how many moments more are done, and says whether to go on.
    ///
    /// # Errors
    /// Those of [`moments`], [`Error::Clip`] if there is no such clip, [`Error::Moment`] if a model leaves the range of f32, and
    /// [`Error::Stopped`] if `tick` said so.
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
    /// The distance of each vertex from its counterpart in the rest poses, as if a clip held both there for one moment.
    ///
    /// # Errors
    /// [`Error::Moment`] if a model leaves the range of f32.
    pub fn measure_rest(&self) -> Result<Difference, Error> {
        let [a, b] = &self.subjects;
        let rest = Clip::rest();
        measure([(a, &rest), (b, &rest)], &self.clusters, &[0.0], |_| true)
    }
}
