#!/bin/bash
# Compiles the peers and runs the comparison:
#
#   lab/bench/peers/build.sh OZZ ACL RTM OZZ_RS OUT [RUNS]
#
# The first four are source folders (README.md has the versions), and OUT receives everything that is built.
# Without a nightly compiler, ozz-animation-rs is left out. RUNS is the number of runs, 3 by default.
set -euo pipefail
if [ $# -lt 5 ]; then
  sed -n 's/^# \?//; 2,7p' "$0" >&2
  exit 2
fi
here=$(cd "$(dirname "$0")" && pwd)
ozz=$(realpath "$1") acl=$(realpath "$2") rtm=$(realpath "$3") ozz_rs=$(realpath "$4")
mkdir -p "$5"
out=$(realpath "$5")
runs=${6:-3}
jobs=${JOBS:-2}
# The last core is the quietest on most machines.
core=${CORE:-$(($(nproc) - 1))}
cxx=${CXX:-g++}
mkdir -p "$out/lib" "$out/archives" "$out/results"

# C++: the sources of ozz that the adapter needs, and both adapters.
sources=$(ls "$ozz"/src/base/*.cc "$ozz"/src/base/*/*.cc "$ozz"/src/animation/runtime/*.cc \
  "$ozz"/src/animation/offline/*.cc "$ozz"/src/geometry/runtime/*.cc)
includes="-I$ozz/include -I$ozz/src -I$acl/includes -I$rtm/includes"
for build in baseline native; do
  objects=$out/objects-$build
  mkdir -p "$objects"
  flags="-O3 -DNDEBUG -std=c++17 -fPIC -fvisibility=hidden -w $includes"
  [ $build = native ] && flags="$flags -march=native"
  for source in $sources "$here/cpp/ozz.cc" "$here/cpp/acl.cc"; do
    name=${source#"$ozz/src/"}
    object=$objects/$(echo "${name/#"$here/cpp/"/adapter/}" | tr / _).o
    [ "$object" -nt "$source" ] || echo "$cxx $flags -c $source -o $object"
  done | xargs -r -P "$jobs" -I{} sh -c {}
  # shellcheck disable=SC2046
  $cxx -shared -o "$out/lib/ozz-$build.so" $(ls "$objects"/*.o | grep -v adapter_acl.cc)
  $cxx -shared -o "$out/lib/acl-$build.so" "$objects/adapter_acl.cc.o"
done

# The samples that all convert from.
# shellcheck disable=SC2046
$cxx -O2 -std=c++17 -w $includes "$here/cpp/mkdata.cc" $(ls "$out"/objects-baseline/*.o | grep -v adapter_) \
  -o "$out/mkdata"
"$out/mkdata" "$ozz/media/bin" "$out/data.bin"
cp "$ozz/media/bin/pab_skeleton.ozz" "$out/skeleton.ozz"

# Rust: glam, and ozz-animation-rs as published and repaired.
rust_library() { # MANIFEST TOOLCHAIN CRATE NAME
  for build in baseline native; do
    flags=""
    [ $build = native ] && flags="-C target-cpu=native"
    RUSTFLAGS="$flags --cap-lints=allow" cargo ${2:+"$2"} build -q -j "$jobs" --release --manifest-path "$1" \
      --target-dir "$out/target-$4-$build"
    cp "$out/target-$4-$build/release/lib$3.so" "$out/lib/$4-$build.so"
  done
}
rust_library "$here/glam/Cargo.toml" "" peer_glam glam
if cargo +nightly --version > /dev/null 2>&1; then
  for name in ozz_rs ozz_rs_repaired; do
    copy=$out/$name
    rm -rf "$copy"
    mkdir -p "$copy/ozz-animation-rs"
    cp -r "$ozz_rs/src" "$ozz_rs/Cargo.toml" "$copy/ozz-animation-rs"
    cp -r "$here/ozz-rs" "$copy"
    cp "$here/src/data.rs" "$here/glam/src/interface.rs" "$copy/ozz-rs/src"
    # Current compilers have another name for this method.
    sed -i 's/\.to_int()/.to_simd()/' "$copy"/ozz-animation-rs/src/*.rs
    if [ $name = ozz_rs_repaired ]; then
      # The C++ original clears the flags of keys that it decompresses; the port decompresses all keys again.
      sed -i 's/= args\.outdated\[j\];/= std::mem::take(\&mut args.outdated[j]);/' \
        "$copy/ozz-animation-rs/src/sampling_job.rs"
    fi
    rust_library "$copy/ozz-rs/Cargo.toml" +nightly peer_ozz_rs $name
  done
fi
cargo build -q -j "$jobs" --release --manifest-path "$here/Cargo.toml" --target-dir "$out/target"

version() { git -C "$1" describe --tags --always --abbrev=7; }
condyle=$(git -C "$here" log -1 --format=%h -- :/runtime)
glam=$(sed -n '/^name = "glam"$/{n;s/version = "\(.*\)"/\1/p}' "$here/Cargo.lock")
compilers="$($cxx --version | head -1); $(rustc --version)"
nightly=$(rustc +nightly --version 2> /dev/null || true)
{
  printf 'Compilers\t%s\n' "$compilers${nightly:+; for ozz-animation-rs $nightly}"
  printf 'Versions\t%s, %s, %s, %s, %s, %s\n' "Condyle $condyle" "ozz-animation $(version "$ozz")" \
    "ACL $(version "$acl")" "RTM $(version "$rtm")" "ozz-animation-rs $(version "$ozz_rs")" "glam $glam"
} > "$out/versions.txt"

for run in $(seq "$runs"); do
  taskset -c "$core" "$out/target/release/condyle-peers" measure "$out" "$out/results/$run.tsv"
done
"$out/target/release/condyle-peers" report "$out"/results/*.tsv > "$out/peers.md"
echo "$out/peers.md"
