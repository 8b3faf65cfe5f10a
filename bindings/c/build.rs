//! Name of the dynamic library in programs that link it: with the version of the binary interface.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let system = std::env::var("CARGO_CFG_TARGET_OS").unwrap_or_default();
    match system.as_str() {
        "macos" => println!("cargo::rustc-cdylib-link-arg=-Wl,-install_name,@rpath/libcondyle.1.dylib"),
        "windows" => {}
        _ => println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libcondyle.so.1"),
    }
}
