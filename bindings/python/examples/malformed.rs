//! The malformed documents of the library's own tests, for those of the package to open: `malformed FOLDER MOST` writes at most so many of each
//! family, spread over it evenly, and always the same ones.

use std::error::Error;
use std::fs;
use std::path::Path;

#[path = "../../../crates/condyle-gltf/tests/hostile/mod.rs"]
#[expect(dead_code, reason = "what has to become of a document is for the library's own tests")]
mod hostile;
#[path = "../../../crates/condyle-gltf/tests/tiny/mod.rs"]
mod tiny;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, most] = arguments.as_slice() else {
        return Err("FOLDER MOST are wanted".into());
    };
    let most: usize = most.parse()?;
    for (name, family) in hostile::FAMILIES {
        let mut count = 0;
        family(&mut |_| count += 1);
        let (mut at, mut result) = (0, Ok(()));
        family(&mut |document| {
            // As many of the first `at` are kept as their share of all is.
            let kept = most.min(count);
            if at * kept / count < (at + 1) * kept / count && result.is_ok() {
                let ending = if document.bytes.starts_with(b"glTF") { "glb" } else { "gltf" };
                result = fs::write(Path::new(folder).join(format!("{name}-{at}.{ending}")), &document.bytes);
            }
            at += 1;
        });
        result?;
    }
    Ok(())
}
