//! Writes the character of `condyle demo` for the tests of the user guide: `character FILE`.

#[allow(dead_code, unused_imports, reason = "the command line uses the rest")]
#[path = "../../../tools/condyle-cli/src/commands/demo/character/mod.rs"]
mod character;

fn main() -> std::io::Result<()> {
    let path = std::env::args().nth(1).unwrap_or_else(|| "character.glb".to_owned());
    std::fs::write(path, character::glb())
}
