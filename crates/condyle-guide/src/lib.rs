//! Runs the Rust code of the user guide, `docs/guide`.
//!
//! The blocks of a page form one program. `build.rs` makes a test of each page, which runs in a folder with
//! the character that `condyle demo` writes, `condyle-demo/character.glb`.

#[cfg(test)]
#[allow(dead_code, unused_imports, reason = "the command line uses the rest")]
#[path = "../../condyle-cli/src/commands/demo/character/mod.rs"]
mod character;

/// Enters the folder of the examples, which has the character. All tests of the process share it.
#[cfg(test)]
fn enter() {
    use std::sync::LazyLock;
    static FOLDER: LazyLock<()> = LazyLock::new(|| {
        let folder = concat!(env!("OUT_DIR"), "/run");
        std::fs::remove_dir_all(folder).ok();
        std::fs::create_dir_all(format!("{folder}/condyle-demo")).expect("a folder");
        std::env::set_current_dir(folder).expect("the folder is there");
        std::fs::write("condyle-demo/character.glb", character::glb()).expect("a file");
    });
    LazyLock::force(&FOLDER);
}

#[cfg(test)]
mod pages {
    include!(concat!(env!("OUT_DIR"), "/pages.rs"));
}
