//! Writes the malformed documents of the library's tests for the tests of the Python package.
//!
//! Usage: `malformed FOLDER MOST`. Writes at most `MOST` documents of each family, evenly spread over the
//! family, and the same ones in every run.

use std::error::Error;
use std::fs;
use std::path::Path;

#[path = "../../../tools/condyle-gltf/tests/hostile/mod.rs"]
#[expect(dead_code, reason = "the library's tests check the expected results")]
mod hostile;
#[path = "../../../tools/condyle-gltf/tests/tiny/mod.rs"]
mod tiny;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, most] = arguments.as_slice() else {
        return Err("usage: malformed FOLDER MOST".into());
    };
    let most: usize = most.parse()?;
    for (name, family) in hostile::FAMILIES {
        let mut count = 0;
        family(&mut |_| count += 1);
        let (mut at, mut result) = (0, Ok(()));
        family(&mut |document| {
            // Keeps a share of the documents, evenly spread.
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
