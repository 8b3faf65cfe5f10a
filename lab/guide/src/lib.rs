//! Runs the Rust code of the user guide, `docs/guide`.
//!
//! The blocks of a page form one program. `build.rs` makes a test of each page, which runs in a folder with
//! the character that `condyle demo` writes, `condyle-demo/character.glb`.

/// Enters the folder of the examples, which has the character. All tests of the process share it.
#[cfg(test)]
fn enter() {
    use std::sync::LazyLock;
    static FOLDER: LazyLock<()> = LazyLock::new(|| {
        let folder = concat!(env!("OUT_DIR"), "/run");
        std::fs::create_dir_all(format!("{folder}/condyle-demo")).expect("a folder");
        std::env::set_current_dir(folder).expect("the folder is there");
        // Renamed when complete, because another process may run the same tests.
        let part = format!("condyle-demo/{}.part", std::process::id());
        let character = include_bytes!("../../../tools/condyle-cli/src/commands/demo/character.glb");
        std::fs::write(&part, character).expect("a file");
        std::fs::rename(part, "condyle-demo/character.glb").expect("a file in the same folder");
    });
    LazyLock::force(&FOLDER);
}

#[cfg(test)]
mod pages {
    include!(concat!(env!("OUT_DIR"), "/pages.rs"));
}
