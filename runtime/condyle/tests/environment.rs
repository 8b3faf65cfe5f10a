//! Environment variables select the instruction set and the numeric mode. `cargo xtask ci` runs this test for
//! each instruction set.

use condyle::{Dispatch, Isa, Numeric};

#[test]
fn the_environment_is_honoured() {
    let asked = |name, default: &str| std::env::var(name).unwrap_or_else(|_| default.to_owned());
    // Set for a known processor, for example in an emulator.
    let best = asked("CONDYLE_EXPECTED_BEST", Isa::best().name());
    assert_eq!(Isa::best().name(), best);
    let dispatch = Dispatch::current();
    assert_eq!(dispatch.isa().name(), asked("CONDYLE_ISA", &best));
    assert_eq!(dispatch.numeric().name(), asked("CONDYLE_NUMERIC", Numeric::default().name()));
}
