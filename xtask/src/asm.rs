//! `cargo xtask asm`: checks the machine code of every kernel.
//!
//! `dispatch!` compiles a kernel as a closure inside `vectorize_avx2` and similar functions: one function per
//! instruction set and numeric mode, with everything inlined. A helper that is not inlined is compiled
//! without the instruction set. All tests still pass, but the kernel runs many times slower. The check
//! therefore requires: no calls, no panics in loops, registers as wide as before, and fused multiply-add only
//! in kernels of the fast mode. With the same compiler, the number of instructions may change by 20 % at
//! most.
//!
//! SSE2 is not checked. Every x86-64 function may use it, so the compiler merges these kernels with their
//! callers, and a function that is not inlined costs only a call.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::step::{Log, Outcome, Step, Stop, build_dir, cargo, need_target};

const TARGET: &str = "x86_64-unknown-linux-gnu";
const TABLE: &str = "xtask/asm.md";

/// Maximum relative change of the number of instructions with the same compiler. Counts of other compilers
/// are not compared.
const DRIFT: f64 = 0.2;

pub(crate) fn steps() -> Vec<Step> {
    vec![Step::new("asm", check).apart("asm")]
}

/// Compares the machine code with the committed table.
pub(crate) fn check(log: &mut Log) -> Outcome {
    let kernels = measure(log)?;
    let path = crate::root().join(TABLE);
    let text = std::fs::read_to_string(path)?;
    let committed = read_table(&text);
    let compiler = compiler()?;
    let same_compiler = text.contains(&written_by(&compiler));
    let mut faults: Vec<String> = kernels
        .iter()
        .flat_map(|(name, k)| k.faults().into_iter().map(move |f| format!("{name}: {f}")))
        .collect();
    for (name, row) in &committed {
        match kernels.get(name) {
            None => faults.push(format!("{name}: is in {TABLE} but not in the machine code")),
            Some(found) => {
                if found.width < row.width {
                    faults.push(format!("{name}: at most {} bits wide, {} expected", found.width, row.width));
                }
                let ratio = found.instructions as f64 / row.instructions as f64;
                if same_compiler && !(1.0 - DRIFT..=1.0 + DRIFT).contains(&ratio) {
                    let (was, is) = (row.instructions, found.instructions);
                    faults.push(format!("{name}: {is} instructions, {was} expected"));
                }
            }
        }
    }
    let new = kernels.keys().filter(|name| !committed.contains_key(*name));
    faults.extend(new.map(|name| format!("{name}: is not in {TABLE}; `cargo xtask asm --update` adds it")));
    for fault in &faults {
        log.note(fault);
    }
    match faults.len() {
        0 if same_compiler => Ok(format!("{} kernels", kernels.len())),
        0 => Ok(format!(
            "{} kernels; instruction counts are not compared, because this is {compiler}",
            kernels.len()
        )),
        count => Err(Stop::Failed(format!("{count} problems in the machine code of the kernels"))),
    }
}

/// Rewrites the table. Calls, panics and misplaced fused multiply-adds are still errors.
pub(crate) fn update(log: &mut Log) -> Outcome {
    let kernels = measure(log)?;
    std::fs::write(crate::root().join(TABLE), write_table(&kernels, &compiler()?))?;
    check(log)
}

/// Properties of the machine code of one kernel.
#[derive(Default)]
struct Kernel {
    instructions: usize,
    /// Width in bits of the widest vector register in an arithmetic instruction.
    width: usize,
    fused: bool,
    fast: bool,
    /// Functions called anywhere except on a path to a panic.
    calls: Vec<String>,
    /// Panics that a loop branches to.
    panics: Vec<String>,
}

impl Kernel {
    fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        faults.extend(self.calls.iter().map(|callee| format!("calls {callee}")));
        faults.extend(self.panics.iter().map(|callee| format!("a loop can panic in {callee}")));
        if self.width == 0 {
            faults.push("no vector arithmetic".into());
        }
        if self.fused && !self.fast {
            faults.push("a fused multiply-add in portable mode".into());
        }
        faults
    }
}

/// Libraries with kernels, and the prefix of their kernel names.
const KRATES: [(&str, &str); 3] = [("condyle", ""), ("condyle_query", ""), ("condyle_solve", "solve::")];

/// Compiles the libraries in release mode and reads the assembly text.
fn measure(log: &mut Log) -> Result<BTreeMap<String, Kernel>, Stop> {
    need_target(TARGET)?;
    let folder = build_dir("asm");
    let packages = KRATES.iter().flat_map(|(krate, _)| ["-p".to_owned(), krate.replace('_', "-")]);
    let mut command = cargo("build", packages);
    command.args(["--lib", "--release", "--target", TARGET]);
    // One codegen unit, so that one file holds all kernels of a library.
    command.args(["--config", "profile.release.codegen-units=1"]);
    command.env("RUSTFLAGS", "--emit=asm -Csymbol-mangling-version=v0");
    log.run(command.env("CARGO_TARGET_DIR", &folder))?;
    let deps = folder.join(TARGET).join("release/deps");
    let mut all = BTreeMap::new();
    for (krate, _) in KRATES {
        all.append(&mut kernels(&std::fs::read_to_string(assembly(&deps, krate)?)?));
    }
    Ok(all)
}

/// Newest assembly file of a library. Other compilers and features leave separate files.
fn assembly(deps: &Path, krate: &str) -> Result<PathBuf, Stop> {
    let mut found = None;
    for entry in std::fs::read_dir(deps)? {
        let entry = entry?;
        let written = entry.metadata().and_then(|m| m.modified())?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_its = name.strip_prefix(krate).is_some_and(|rest| rest.starts_with('-'));
        if is_its && name.ends_with(".s") && found.as_ref().is_none_or(|(t, _)| *t < written) {
            found = Some((written, entry.path()));
        }
    }
    found
        .map(|(_, path)| path)
        .ok_or(Stop::Failed(format!("the compiler wrote no assembly text for {krate}")))
}

/// All kernels of an assembly text, by name. `skinning::skin 2 avx2 fast` is the third kernel that the
/// function `skin` of the module `skinning` dispatches to.
fn kernels(text: &str) -> BTreeMap<String, Kernel> {
    // (function, instruction set) -> closure number -> code.
    let mut found: BTreeMap<(String, String), BTreeMap<usize, Vec<&str>>> = BTreeMap::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let Some(symbol) = line.strip_suffix(':').filter(|s| s.starts_with("_R")) else { continue };
        let demangled = format!("{:#}", rustc_demangle::demangle(symbol));
        let Some((isa, function, closure)) = dispatched(&demangled) else { continue };
        let body = lines.by_ref().take_while(|l| !l.starts_with(".Lfunc_end")).collect();
        found.entry((function, isa)).or_default().insert(closure, body);
    }
    let mut kernels = BTreeMap::new();
    for ((function, isa), closures) in found {
        // `dispatch!` names the fast mode first, then the portable one. Without fused multiply-add they are
        // the same, and AVX-512 has no copies in the portable mode.
        let modes: &[&str] = match isa.as_str() {
            "sse42" => &["both"],
            "avx512" => &["fast"],
            _ => &["fast", "portable"],
        };
        for (index, body) in closures.into_values().enumerate() {
            let mode = modes[index % modes.len()];
            let name = format!("{function} {} {isa} {mode}", index / modes.len());
            kernels.insert(name, Kernel { fast: mode == "fast", ..examine(&function, &body) });
        }
    }
    kernels
}

/// Instruction set, function and closure number of
/// `<…>::vectorize::vectorize_avx2::<condyle::skinning::skinning::{closure#7}, ()>`. The function of a method
/// starts with `<condyle::interpolation::Uniform>::`. Returns `None` for SSE2, whose kernels are merged with
/// their callers.
fn dispatched(symbol: &str) -> Option<(String, String, usize)> {
    let (_, rest) = symbol.split_once("::vectorize_")?;
    let (isa, rest) = rest.split_once("::<").filter(|(isa, _)| *isa != "sse2")?;
    let (function, rest) = rest.split_once("::{closure#")?;
    let (closure, _) = rest.split_once('}')?;
    let function = match function.strip_prefix('<') {
        Some(method) => method.replacen(">::", "::", 1),
        None => function.to_owned(),
    };
    let mut of = KRATES.iter().filter_map(|(krate, before)| {
        Some(format!("{before}{}", function.strip_prefix(krate)?.strip_prefix("::")?))
    });
    Some((isa.replace('_', ""), of.next()?, closure.parse().ok()?))
}

/// Basic block: only its last instruction may jump.
#[derive(Default)]
struct Block<'a> {
    /// Mnemonics and operands.
    code: Vec<(&'a str, &'a str)>,
    next: Vec<usize>,
}

impl<'a> Block<'a> {
    /// Paths of called functions. A jump out of the function counts as a call.
    fn callees(&self) -> impl Iterator<Item = String> + '_ {
        let calls = self.code.iter().filter(|(name, operands)| {
            name.starts_with("call") || name.starts_with('j') && !operands.starts_with(['.', '*'])
        });
        calls.map(|(_, operands)| demangle(operands))
    }

    /// Splits the assembly text of a function into blocks.
    fn split(body: &[&'a str]) -> Vec<Self> {
        let mut labels = BTreeMap::new();
        let mut blocks = vec![Self::default()];
        for line in body {
            if let Some(label) = line.strip_suffix(':').filter(|l| l.starts_with(".L")) {
                labels.insert(label, blocks.len());
                blocks.push(Self::default());
            } else if let Some(text) = line.strip_prefix('\t').filter(|t| !t.starts_with(['.', '#'])) {
                let (name, operands) = text.split_once('\t').unwrap_or((text, ""));
                let last = blocks.len() - 1;
                blocks[last].code.push((name, operands));
                if name.starts_with('j') {
                    blocks.push(Self::default());
                }
            }
        }
        let count = blocks.len();
        for (index, block) in blocks.iter_mut().enumerate() {
            let (name, operands) = *block.code.last().unwrap_or(&("", ""));
            if name.starts_with('j') {
                block.next.extend(labels.get(operands));
            }
            if !["jmp", "ret", "ud2"].iter().any(|end| name.starts_with(end)) && index + 1 < count {
                block.next.push(index + 1);
            }
        }
        blocks
    }
}

/// Whether each block is part of a loop.
fn loops(blocks: &[Block<'_>]) -> Vec<bool> {
    let comes_back = |block: usize| {
        let mut seen = vec![false; blocks.len()];
        let mut open = blocks[block].next.clone();
        while let Some(next) = open.pop() {
            if !std::mem::replace(&mut seen[next], true) {
                open.extend(&blocks[next].next);
            }
        }
        seen[block]
    };
    (0..blocks.len()).map(comes_back).collect()
}

/// Functions whose addresses a kernel keeps in registers, by register. A register that holds several
/// functions lists all of them.
fn held_functions(blocks: &[Block<'_>]) -> BTreeMap<String, String> {
    let mut held = BTreeMap::new();
    for (name, operands) in blocks.iter().flat_map(|block| &block.code) {
        if let Some((symbol, register)) = operands.split_once("@GOTPCREL(%rip), ")
            && *name == "movq"
        {
            let function = demangle(symbol);
            let known = held.entry(register.to_owned()).or_insert_with(|| function.clone());
            if *known != function {
                *known = format!("{known} or {function}");
            }
        }
    }
    held
}

/// Examines the assembly text of one kernel. `function` dispatches to it.
fn examine(function: &str, body: &[&str]) -> Kernel {
    let blocks = Block::split(body);
    let held = held_functions(&blocks);
    let in_loop = loops(&blocks);
    let mut kernel = Kernel::default();
    for (block, &in_loop) in blocks.iter().zip(&in_loop) {
        for callee in block.callees().filter(|callee| !is_panic(callee)) {
            let callee = held.get(&callee).cloned().unwrap_or(callee);
            let wanted = WANTED.iter().any(|(f, prefix)| function == *f && callee.starts_with(prefix));
            if !wanted && (in_loop || !BYTES.contains(&callee.as_str())) {
                kernel.calls.push(callee);
            }
        }
        if in_loop {
            let beyond = block.next.iter().flat_map(|&next| blocks[next].callees());
            kernel.panics.extend(beyond.filter(|callee| is_panic(callee)));
        }
        kernel.instructions += block.code.len();
        for (name, operands) in &block.code {
            let name = name.strip_prefix('v').unwrap_or(name);
            let arithmetic =
                ["add", "sub", "mul", "fm", "fnm", "min", "max", "cmp"].iter().any(|a| name.starts_with(a));
            // Solvers compute in f64.
            if arithmetic && (name.ends_with("ps") || name.ends_with("pd")) {
                let registers = [("%zmm", 512), ("%ymm", 256), ("%xmm", 128)];
                let width = registers.iter().find(|(r, _)| operands.contains(r)).map_or(0, |(_, bits)| *bits);
                kernel.width = kernel.width.max(width);
            }
            kernel.fused |= name.starts_with("fm") || name.starts_with("fnm");
        }
    }
    for callees in [&mut kernel.calls, &mut kernel.panics] {
        callees.sort();
        callees.dedup();
    }
    kernel
}

/// Compiler calls for copying and clearing, harmless outside loops.
const BYTES: [&str; 3] = ["memcpy", "memmove", "memset"];

/// Intended calls, by the function that dispatches. Sampling gathers the keys of sixteen joints one track
/// after another before it interpolates them, which does not vectorise. Eight baked vertices are copied once.
/// The sums of dual quaternions of eight vertices exceed the registers. Rare cases of root motion are apart.
const WANTED: [(&str, &str); 12] = [
    ("clip::Clip::motion_at", "condyle::motion::clip::slerp"),
    ("clip::Clip::motion_at", "condyle_base::math::quats::exp_far"),
    ("clip::Clip::motion_at", "condyle_base::math::quats::normalized"),
    ("clip::Clip::motion_over", "condyle::motion::clip::slerp"),
    ("clip::Clip::motion_over", "condyle_base::math::quats::exp_far"),
    ("clip::Clip::motion_over", "condyle_base::math::quats::normalized"),
    ("sampling::raw::run", "<condyle::sampling::raw::BlockKeys<"),
    ("sampling::raw::run", "memcpy"),
    ("skinning::runs::skin_dual_batch", "memcpy"),
    ("skinning::runs::skin_dual_batch", "memset"),
    ("baked::BakedClip::unpack_positions", "memcpy"),
    ("baked::BakedClip::unpack_normals", "memcpy"),
];

fn is_panic(callee: &str) -> bool {
    callee.contains("panic") || callee.contains("_fail") || callee.contains("unwrap_failed")
}

/// Path of the function in an operand such as `*_RNv…@GOTPCREL(%rip)` or `_RNv…@PLT`.
fn demangle(operand: &str) -> String {
    let symbol = operand.trim_start_matches('*').split(['@', '(']).next().unwrap_or(operand);
    format!("{:#}", rustc_demangle::demangle(symbol))
}

const HEAD: &str = "\
# The machine code of the kernels

Written by `cargo xtask asm --update` and compared by `cargo xtask asm`, see docs/dev/kernels.md: instructions of each kernel's
whole function, the widest vector register of its arithmetic, and whether multiply-adds are fused. x86-64, release profile.
";

const COLUMNS: &str = "
| kernel | instructions | bits | fused |
|---|---|---|---|
";

/// Version of the compiler, which determines the instruction counts.
fn compiler() -> Result<String, Stop> {
    let output = Command::new("rustc").arg("--version").env_remove("RUSTUP_TOOLCHAIN").output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let version = text.split(' ').nth(1).ok_or(Stop::Failed("rustc does not print its version".into()))?;
    Ok(format!("rustc {version}"))
}

fn written_by(compiler: &str) -> String {
    format!("Numbers of instructions by {compiler}.\n")
}

fn write_table(kernels: &BTreeMap<String, Kernel>, compiler: &str) -> String {
    let mut text = format!("{HEAD}{}{COLUMNS}", written_by(compiler));
    for (name, k) in kernels {
        let fused = if k.fused { "yes" } else { "no" };
        writeln!(text, "| {name} | {} | {} | {fused} |", k.instructions, k.width).ok();
    }
    text
}

struct Row {
    instructions: usize,
    width: usize,
}

fn read_table(text: &str) -> BTreeMap<String, Row> {
    let rows = text.lines().filter_map(|line| {
        let mut cells = line.strip_prefix("| ")?.split(" | ");
        let name = cells.next()?.to_owned();
        let instructions = cells.next()?.parse().ok()?;
        Some((name, Row { instructions, width: cells.next()?.parse().ok()? }))
    });
    rows.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_and_methods_are_found() {
        let level = "<fearless_simd::Avx2 as fearless_simd::Simd>::vectorize::vectorize_avx2";
        let found = |function| dispatched(&format!("{level}::<{function}::{{closure#3}}, ()>"));
        let named = |function: &str| Some(("avx2".to_owned(), function.to_owned(), 3));
        assert_eq!(found("condyle::skinning::skin"), named("skinning::skin"));
        assert_eq!(found("condyle::blending::few<1>"), named("blending::few<1>"));
        assert_eq!(
            found("<condyle::interpolation::plan::Uniform>::blocks"),
            named("interpolation::plan::Uniform::blocks")
        );
        assert_eq!(found("condyle_query::hits::ray"), named("hits::ray"));
        assert_eq!(found("other::kernel"), None);
    }
}
