//! `condyle blend`: images and animations of a blend of clips.

use std::path::PathBuf;

use crate::commands::render::{self, Picture};
use crate::failure::Failure;
use crate::model::playable::Playable;
use crate::options::source::{Which, find_clip};

/// Draw a blend of clips: an image, a contact sheet, or an animation
#[derive(clap::Args)]
#[command(mut_arg("time", |arg| arg.help(
    "Draw one image, at so many seconds into the blend [default: 0; a .gif or .webp shows all of it]"
)))]
#[command(after_help = "\
Examples:
  condyle blend fox.glb --clip Walk --clip Run -o fox.gif                  half of each
  condyle blend fox.glb --clip Walk --clip Run --weight 0.2 --weight 0.8 -o fox.gif
  condyle blend fox.condyle --clip Walk --clip Run --weight 0.5 --time 0.3 -o fox.png

Clips of different lengths are kept in step: each is sampled at the same fraction of its own duration, and the blend
lasts as long as their weighted average. A single weight for two clips is that of the second; otherwise give one
weight for each clip, in their order.")]
pub(crate) struct Args {
    /// The character: .glb, .gltf or .condyle
    model: PathBuf,
    #[command(flatten)]
    which: Which,
    /// A clip, by name or index; give two or more
    #[arg(long = "clip", value_name = "NAME|INDEX", required = true)]
    clips: Vec<String>,
    /// The weight of a clip; weights need not sum to 1 [default: equal weights]
    #[arg(long = "weight", value_name = "N", value_delimiter = ',', value_parser = parse_weight)]
    weights: Vec<f32>,
    #[command(flatten)]
    picture: Picture,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let weights = weights(&args.weights, args.clips.len()).map_err(Failure::Usage)?;
    render::draw(&args.model, args.which.name(), &args.picture, |model| {
        let file = model.asset.document.name();
        let mut parts = Vec::new();
        for (wanted, weight) in args.clips.iter().zip(weights) {
            let mut clips = model.clips();
            let index = find_clip(file, &clips, wanted)?;
            parts.push((clips.swap_remove(index), weight));
        }
        Ok(Some(Playable::mix(parts)))
    })
}

/// The weight of each clip, not normalised.
fn weights(asked: &[f32], clips: usize) -> Result<Vec<f32>, String> {
    if clips < 2 {
        return Err("a blend takes two clips or more: add another --clip".into());
    }
    let weights = match asked {
        [] => vec![1.0; clips],
        [second] if clips == 2 && *second <= 1.0 => vec![1.0 - second, *second],
        all if all.len() == clips => all.to_vec(),
        all => {
            return Err(format!(
                "{clips} clips take {clips} weights, or one from 0 to 1 for the second of two; {} given",
                all.len()
            ));
        }
    };
    match weights.iter().sum::<f32>() > 0.0 {
        true => Ok(weights),
        false => Err("all weights are 0; raise one of them".into()),
    }
}

fn parse_weight(text: &str) -> Result<f32, String> {
    match text.parse::<f32>() {
        Ok(weight) if (0.0..=1e6).contains(&weight) => Ok(weight),
        _ => Err("a weight is a number from 0 to 1000000, such as 0.5".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_fit_their_clips() {
        assert_eq!(weights(&[], 3), Ok(vec![1.0; 3]));
        assert_eq!(weights(&[0.25], 2), Ok(vec![0.75, 0.25]));
        assert_eq!(weights(&[3.0, 0.0], 2), Ok(vec![3.0, 0.0]));
        for (wrong, clips) in
            [(vec![], 1), (vec![1.5], 2), (vec![0.5], 3), (vec![0.0, 0.0], 2), (vec![1.0; 3], 2)]
        {
            assert!(weights(&wrong, clips).is_err(), "{wrong:?} for {clips}");
        }
    }
}
