//! Any mesh on any joints in any pose, to all that asks where it is: bounds hold every vertex, hitboxes answer as each of them alone, silhouettes and
//! shadow volumes are closed, sparse morph targets are what dense ones are, baked frames come back, and what is refused changes nothing.
#![no_main]

mod baked;
mod bounds;
mod case;
mod hitboxes;
mod skinned;
mod surface;

use arbitrary::{Result, Unstructured};

use case::Case;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    // An input that runs out has made all of its calls.
    exercise(&mut Unstructured::new(bytes)).ok();
});

fn exercise(input: &mut Unstructured<'_>) -> Result<()> {
    let Some(case) = Case::new(input)? else { return Ok(()) };
    while !input.is_empty() {
        match input.int_in_range(0..=4)? {
            0 => bounds::exercise(&case, input)?,
            1 => hitboxes::exercise(&case, input)?,
            2 => skinned::exercise(&case, input)?,
            3 => surface::exercise(&case, input)?,
            _ => baked::exercise(&case, input)?,
        }
    }
    Ok(())
}
