//! Converts an FBX file to a `.glb` with its textures, and prints what was dropped or approximated.
//!
//! `cargo run --release -p condyle-fbx --example convert -- IN.fbx OUT.glb`

use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let (Some(input), Some(output)) = (arguments.next(), arguments.next()) else {
        return Err("usage: convert IN.fbx OUT.glb".into());
    };
    let folder = Path::new(&input).parent().unwrap_or(Path::new("")).to_path_buf();
    let bytes = std::fs::read(&input)?;
    let name = input.to_string_lossy();
    let document = condyle_fbx::read(&name, &bytes, &mut |path| std::fs::read(folder.join(path)).ok())?;
    document.problems.iter().for_each(|problem| eprintln!("{problem}"));
    std::fs::write(output, document.glb()?)?;
    Ok(())
}
