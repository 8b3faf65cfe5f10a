//! Jobs: destinations, folders, parts of earlier runs, and outputs of which none is left half written.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use condyle_io::job::{
    DestinationError, Draft, Files, Folder, Mirror, Outcome, PartError, Parts, Product, Reporter, Source,
    Stop, WriteError, make_all, write_file,
};
use serde_json::{Map, Value, json};
use tempfile::TempDir;

/// Counts steps, and ends the job after some.
struct Steps(AtomicUsize, usize);

impl Reporter for Steps {
    fn begin(&self, steps: usize, _: &'static str) {
        assert!(steps > 0);
    }

    fn advance(&self) -> bool {
        self.0.fetch_add(1, Ordering::SeqCst) + 1 < self.1
    }

    fn end(&self) {}
}

fn all_steps() -> Steps {
    Steps(AtomicUsize::new(0), usize::MAX)
}

#[derive(Debug)]
struct Error(String);

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<DestinationError> for Error {
    fn from(error: DestinationError) -> Self {
        Self(error.to_string())
    }
}

impl From<WriteError> for Error {
    fn from(error: WriteError) -> Self {
        Self(error.to_string())
    }
}

/// A folder with the files a.bvh, sub/b.BVH, sub/c.bvh and notes.txt.
fn folder() -> TempDir {
    let root = tempfile::tempdir().expect("a temporary folder");
    fs::create_dir(root.path().join("sub")).expect("a folder");
    for name in ["a.bvh", "sub/b.BVH", "sub/c.bvh", "notes.txt"] {
        fs::write(root.path().join(name), name).expect("a file");
    }
    root
}

fn sources(root: &Path, except: &[&Path]) -> Vec<Source> {
    let (sources, unreadable) = Folder { root, endings: &["bvh"], except }.sources();
    assert!(unreadable.is_empty());
    sources
}

#[test]
fn a_folder_has_its_files_in_the_order_of_their_names() {
    let root = folder();
    let names = |except: &[&Path]| -> Vec<String> {
        sources(root.path(), except).into_iter().map(|source| source.name).collect()
    };
    assert_eq!(names(&[]), ["a.bvh", "sub/b.BVH", "sub/c.bvh"]);
    assert_eq!(names(&[&root.path().join("sub/../sub"), &root.path().join("none")]), ["a.bvh"]);
    assert_eq!(names(&[&root.path().join("a.bvh")]), ["sub/b.BVH", "sub/c.bvh"]);
}

#[test]
fn a_destination_is_no_input() {
    let root = folder();
    let at = |name: &str| root.path().join(name);
    let check = |to: &str| Files::new([&*at("a.bvh")], [&*at(to)], false).map(|_| ());
    assert!(check("new/out.glb").is_ok() && check("notes.txt").is_ok());
    assert!(check("a.bvh").is_err_and(|e| e.to_string().contains("is a file of the input model")));
    assert!(check("sub").is_err_and(|e| e.to_string().contains("is not a file")));
    assert!(check("notes.txt/out.glb").is_err_and(|e| e.is_in_file()));
    assert!(check("sub/..").is_err_and(|e| e.has_no_name()));
    // A file that is read later.
    let mut files = Files::new([&*at("a.bvh")], [&*at("notes.txt")], false).expect("no input");
    assert_eq!(files.byte_count(), 5);
    assert!(files.also_read(at("notes.txt").canonicalize()).is_err());
}

#[test]
fn a_file_is_whole_or_not_there() {
    let root = folder();
    let to = root.path().join("new/folder/out.glb");
    let failed = write_file(to.clone(), |out| {
        out.write_all(b"half")?;
        Err(std::io::Error::other("full"))
    });
    assert!(failed.is_err_and(|e| e.to_string().contains("out.glb cannot be written: full")));
    assert!(!root.path().join("new").exists());
    let draft = Draft::new(to.clone()).expect("a draft");
    assert!(!to.exists());
    assert_eq!(draft.finish().and_then(|it| it.keep()).expect("a file").bytes, 0);
    assert!(to.exists());
}

/// Copies the bytes of each file, except those of `broken`.
fn mirrored(root: &Path, out: &Path, broken: &str, settings: u32) -> Outcome<Value> {
    let mut sources = sources(root, &[out]);
    let mirror = Mirror {
        folder: out,
        ending: "glb",
        stamp: json!({ "settings": settings }),
        shared: &BTreeSet::new(),
        replaces_read_only: false,
        make: |source: &Source| -> Result<Product, Error> {
            if source.name == broken {
                return Err(Error("broken".into()));
            }
            let bytes = fs::read(&source.path).map_err(|error| Error(error.to_string()))?;
            let figures = Map::from_iter([("length".to_owned(), bytes.len().into())]);
            Ok(Product { bytes, files: source.path.canonicalize().into_iter().collect(), figures })
        },
    };
    assert!(mirror.sort(&mut sources).is_none());
    make_all(&mirror, &sources, "copying", &all_steps()).expect("no fatal error")
}

#[test]
fn outputs_of_the_same_inputs_are_not_made_again() {
    let root = folder();
    let out = root.path().join("out");
    let run = |broken: &str, settings: u32| {
        let Outcome { made, left_out } = mirrored(root.path(), &out, broken, settings);
        let made: Vec<_> = made.into_iter().map(|it| (it.source, it.is_kept)).collect();
        let left_out: Vec<_> = left_out.into_iter().map(|it| (it.source, it.why)).collect();
        (made, left_out)
    };
    let named = |kept: bool| ["a.bvh", "sub/b.BVH", "sub/c.bvh"].map(|name| (name.to_owned(), kept)).to_vec();
    let why = vec![("sub/b.BVH".to_owned(), "broken".to_owned())];
    let (made, left_out) = run("sub/b.BVH", 1);
    assert_eq!((made.len(), left_out), (2, why));
    assert_eq!(fs::read(out.join("sub/c.glb")).expect("an output"), b"sub/c.bvh");
    assert_eq!(run("", 1).0.iter().filter(|(_, is_kept)| *is_kept).count(), 2);
    assert_eq!(run("", 1), (named(true), vec![]));
    assert_eq!(run("", 2), (named(false), vec![]));
    // A changed input, a lost output and lost figures.
    fs::write(root.path().join("a.bvh"), "longer than before").expect("a file");
    fs::remove_file(out.join("sub/b.glb")).expect("an output");
    fs::remove_file(out.join("sub/c.glb.json")).expect("figures");
    assert_eq!(run("", 2), (named(false), vec![]));
    let told: Value =
        serde_json::from_slice(&fs::read(out.join("a.glb.json")).expect("figures")).expect("JSON");
    assert_eq!(
        (&told["length"], &told["bytes"], &told["stamp"]["settings"]),
        (&json!(18), &json!(18), &json!(2))
    );
}

#[test]
fn two_files_do_not_become_one() {
    let shared = BTreeSet::new();
    let (folder, stamp) = (Path::new("out"), json!({}));
    let mirror =
        Mirror { folder, ending: "glb", stamp, shared: &shared, replaces_read_only: false, make: () };
    let mut sources = ["a/walk.fbx", "run.bvh", "b/walk.bvh"].map(|path| Source::of_file(path.as_ref()));
    let [one, other] = mirror.sort(&mut sources).expect("two of one name");
    assert_eq!((&*one.name, &*other.name), ("walk.bvh", "walk.fbx"));
}

/// Fails for one file, with an error that ends the job.
struct Fails(&'static str);

impl Parts for Fails {
    type Part = ();
    type Error = Error;

    fn kept(&self, _: &Source) -> Option<()> {
        None
    }

    fn make(&self, source: &Source) -> Result<(), PartError<Error>> {
        match source.name == self.0 {
            true => Err(PartError::Fatal(Error("the disk is full".into()))),
            false => Ok(()),
        }
    }
}

#[test]
fn a_job_ends_where_it_cannot_go_on() {
    let root = folder();
    let sources = sources(root.path(), &[]);
    let run = |name, steps: &Steps| make_all(&Fails(name), &sources, "making", steps);
    assert_eq!(run("", &all_steps()).expect("three parts").made.len(), 3);
    assert!(matches!(run("sub/b.BVH", &all_steps()), Err(Stop::Fatal(Error(why))) if why.contains("full")));
    assert!(matches!(run("", &Steps(AtomicUsize::new(0), 2)), Err(Stop::Ended)));
}
