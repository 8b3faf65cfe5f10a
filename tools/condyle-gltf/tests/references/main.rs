//! Models with reference results from independent programs: tests of importing, posing, and writing and
//! reading again.
//!
//! The repository's models are in `testdata`. The reference characters are in the folder `CONDYLE_MODELS`,
//! with a description of their format. Without that variable their tests are listed as ignored.

#[path = "../common/shown.rs"]
mod shown;
#[path = "../common/suite.rs"]
mod suite;

mod answers;
mod asked;
mod bounded;
mod dual;
mod imported;
mod posed;
mod written;

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut suite = suite::Suite::new();
    suite.each_model("imported_as_the_manifest_says", imported::as_the_manifest_says);
    suite.each_model("imported_and_followed_through_in_f64", imported::followed_through);
    suite.each_model("imported_with_the_known_oddities", imported::with_the_known_oddities);
    suite.each_model("posed_on_every_instruction_set", posed::on_every_instruction_set);
    suite.each_model("posed_into_memory_of_the_caller", posed::into_memory_of_the_caller);
    suite.each_model("dual_quaternions_are_the_formula", dual::skinned_as_the_formula);
    suite.each_model("asked_as_every_triangle_answers", asked::as_every_triangle_answers);
    suite.each_model("read_back_as_posed", written::read_back_as_posed);
    suite.each_model("clips_come_back", written::clips_come_back);
    suite.each_model("comes_back_from_a_container", written::comes_back_from_a_container);
    suite.each_model("bounds_hold_every_vertex", bounded::no_vertex_is_outside);
    suite.each_model("rays_hit_hitboxes", bounded::rays_hit_hitboxes);
    suite.run()
}
