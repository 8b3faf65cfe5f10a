//! Runs all queries on arbitrary meshes in arbitrary poses.
//!
//! Bounds contain every vertex. Queries on all hitboxes match the queries on each one. Silhouettes and shadow
//! volumes are closed. Sparse morph targets equal dense ones. Baked frames decode to the input. Refused calls
//! change nothing.
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
    // If the input ends, the earlier calls still count.
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
