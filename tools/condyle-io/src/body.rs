//! Body models, with the skeleton of the mean shape, and their motion in the AMASS layout. Units are metres.

use std::borrow::Cow;
use std::collections::BTreeSet;

use condyle_base::problem::{Problem, Refused, Severity};
use condyle_body::{BodyClip, BodyModel, BodyMotion};

use crate::error::{Misfit, OpenError};
use crate::format::Format;
use crate::input::{Input, Options, Person};
use crate::model::Model;

pub(crate) fn read(input: Input<'_>, options: &Options<'_>) -> Result<Model, OpenError> {
    let unfit = |error: condyle::Error| Refused::at(input.name, "the body", error.to_string());
    let bytes = input.bytes()?.into_owned();
    let mut model = Model {
        name: input.name.into(),
        format: Format::Body,
        skeleton: condyle::Skeleton::new([]).map_err(unfit)?,
        #[cfg(feature = "gltf")]
        asset: None,
        clips: Vec::new(),
        unit: None,
        is_turned: false,
        problems: Vec::new(),
        files: BTreeSet::new(),
        has_bare_meshes: false,
    };
    let Some(person) = options.person else {
        if !BodyModel::recognise(&bytes) {
            // Reports other errors of the file first.
            BodyMotion::from_bytes(input.name, bytes)?;
            return Err(input.misfit(Misfit::PersonMissing));
        }
        let body = BodyModel::from_bytes(input.name, bytes)?.shaped(&[]).map_err(unfit)?;
        model.skeleton = body.skeleton().clone();
        return Ok(model);
    };
    if BodyModel::recognise(&bytes) {
        let what = "it is a body model, expected the motion of a body: array poses is missing";
        return Err(input.refused(what));
    }
    let motion = BodyMotion::from_bytes(input.name, bytes)?;
    let body = match person {
        Person::Is(body) => Cow::Borrowed(body),
        Person::Of(of) => {
            let body = of.shaped(motion.betas()).map_err(unfit)?;
            if body.unused_betas() > 0 {
                let (all, has) = (motion.betas().len(), of.shape_count());
                let what = format!("the motion has {all} shape coefficients, the body model has {has}");
                let action = format!("only the first {has} are used");
                model.problems.push(Problem::new(Severity::Note, "", what, action));
            }
            Cow::Owned(body)
        }
    };
    let BodyClip { clip, problems, .. } = motion.clip(&body)?;
    model.skeleton = body.skeleton().clone();
    model.clips.push(clip.with_name(input.stem()).into());
    model.problems.splice(0..0, problems);
    Ok(model)
}
