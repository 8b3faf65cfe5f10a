//! Writes the files that `condyle demo` contains: the character, and its walk up stairs.
//!
//! `cargo run -p condyle-yardsticks --bin demo_files -- tools/condyle-cli/src/commands/demo`

mod character;

use std::path::Path;

use condyle::{Dispatch, Isa, Numeric};

type Failed = Box<dyn std::error::Error>;

fn main() -> Result<(), Failed> {
    let folder = std::env::args_os().nth(1).ok_or("usage: demo_files FOLDER")?;
    for (name, bytes) in files()? {
        std::fs::write(Path::new(&folder).join(name), bytes)?;
    }
    Ok(())
}

/// Names and bytes of the files. They are the same on every machine.
fn files() -> Result<[(&'static str, Vec<u8>); 2], Failed> {
    let dispatch = Dispatch::new(Isa::best(), Numeric::Portable).ok_or("no portable mode")?;
    dispatch.scope(|| Ok([("character.glb", character::glb()), ("stairs.glb", character::stairs()?)]))
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_command_line_contains_these_files() {
        for (name, bytes) in super::files().unwrap() {
            let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tools/condyle-cli/src/commands/demo/");
            let shipped = std::fs::read(format!("{folder}{name}")).unwrap();
            assert!(shipped == bytes, "{name} differs: run `demo_files` again");
        }
    }
}
