//! `condyle blend`: pictures of several clips at once.

use std::path::PathBuf;

use crate::commands::render::{self, Picture};
use crate::failure::Failure;
use crate::model::playable::Playable;
use crate::options::source::{Which, find_clip};

/// Draw a mix of clips: a picture, a contact sheet, or a moving picture
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  condyle blend fox.glb --clip Walk --clip Run -o fox.gif                  half of each
  condyle blend fox.glb --clip Walk --clip Run --weight 0.2 --weight 0.8 -o fox.gif
  condyle blend fox.condyle --clip Walk --clip Run --weight 0.5 --time 0.3 -o fox.png

Clips of different length are kept in step: each is shown at the same part of its own time, and the mix takes as long as they
do on average, by weight. One weight for two clips is that of the second; otherwise there is one for each, in their order.")]
pub(crate) struct Args {
    /// The character: .glb, .gltf or .condyle
    model: PathBuf,
    #[command(flatten)]
    which: Which,
    /// A clip, by name or index; two or more of them
    #[arg(long = "clip", value_name = "NAME|INDEX", required = true)]
    clips: Vec<String>,
    /// How much of a clip is shown; the sum does not matter [default: as much of each]
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

/// The weight of each clip.
fn weights(asked: &[f32], clips: usize) -> Result<Vec<f32>, String> {
    if clips < 2 {
        return Err("a mix takes two clips or more: name another with --clip".into());
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
        false => Err("all weights are 0: nothing is left to show".into()),
    }
}

fn parse_weight(text: &str) -> Result<f32, String> {
    match text.parse::<f32>() {
        Ok(weight) if (0.0..=1e6).contains(&weight) => Ok(weight),
        _ => Err("a weight is a number from 0 on, such as 0.5".into()),
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
