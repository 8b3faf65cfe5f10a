//! Writes the JavaScript of a module: `condyle-bindgen MODULE.wasm FOLDER`.

use std::env::args_os;
use std::path::Path;
use std::process::ExitCode;

use wasm_bindgen_cli_support::Bindgen;

fn main() -> ExitCode {
    let [_, module, folder] = &args_os().collect::<Vec<_>>()[..] else {
        eprintln!("usage: condyle-bindgen MODULE.wasm FOLDER");
        return ExitCode::from(2);
    };
    let mut bindgen = Bindgen::new();
    bindgen.input_path(Path::new(module)).out_name("condyle_wasm").typescript(false);
    let written = bindgen.web(true).and_then(|it| it.generate(Path::new(folder)));
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("condyle-bindgen: {error:?}");
            ExitCode::FAILURE
        }
    }
}
