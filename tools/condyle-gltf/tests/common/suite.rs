//! A test program with one trial for each model and check, so that each model has a name in the listing. A
//! missing model is listed as ignored.

mod shared;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

/// The reference characters in the folder `CONDYLE_MODELS`, which are too large for the repository.
const SHARED: [&str; 22] = [
    "CesiumMan.gltf",
    "Fox.glb",
    "Knight.glb",
    "RiggedSimple.gltf",
    "SimpleSkin.gltf",
    "fox_gltfpack_meshopt.glb",
    "greenman.glb",
    "mocap_body_60k.glb",
    "mocap_cmu_01_01.glb",
    "robot.glb",
    "syn_8influences.glb",
    "syn_ancestors.glb",
    "syn_cubic_step.glb",
    "syn_joints130.glb",
    "syn_morph.glb",
    "syn_multiprim.gltf",
    "syn_multiskin.glb",
    "syn_noibm.glb",
    "syn_quantized.glb",
    "syn_scale.glb",
    "syn_sparse.glb",
    "syn_tails.glb",
];

const ABSENT: &str = "needs CONDYLE_MODELS, the folder of the reference characters";

/// The trials of one test program.
pub(crate) struct Suite {
    /// The folder of the reference characters, if `CONDYLE_MODELS` is set.
    shared: Option<PathBuf>,
    /// The models of this repository.
    own: Vec<PathBuf>,
    trials: Vec<Trial>,
}

impl Suite {
    /// Makes a suite with one trial, which fails if `SHARED` does not list every reference character.
    pub(crate) fn new() -> Self {
        let own = models(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata"));
        assert!(!own.is_empty(), "testdata has no models");
        let mut suite = Self { shared: shared::folder(), own, trials: Vec::new() };
        suite.characters("every_shared_model_is_listed", |folder| {
            let found = models(folder);
            let found: Vec<_> = found.iter().filter_map(|path| path.file_name()?.to_str()).collect();
            assert_eq!(found, SHARED);
        });
        suite
    }

    /// Adds `check` for every model of this repository and every reference character. It receives the path of
    /// the model.
    pub(crate) fn each_model(&mut self, name: &str, check: fn(&Path)) {
        for path in self.own.clone() {
            let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            self.trials.push(Trial::test(format!("{name}/testdata/{stem}"), move || {
                check(&path);
                Ok(())
            }));
        }
        for model in SHARED {
            let stem = model.rsplit_once('.').map_or(model, |(stem, _)| stem);
            self.characters(&format!("{name}/shared/{stem}"), move |folder| check(&folder.join(model)));
        }
    }

    /// Adds a check of reference characters. It receives their folder.
    pub(crate) fn characters(&mut self, name: &str, check: impl FnOnce(&Path) + Send + 'static) {
        self.trials.push(match self.shared.clone() {
            Some(folder) => Trial::test(name, move || {
                check(&folder);
                Ok(())
            }),
            // Runs only on request, and then fails.
            None => Trial::test(name, || Err(ABSENT.into())).with_kind(ABSENT).with_ignored_flag(true),
        });
    }

    /// Runs the trials that the command line selects.
    pub(crate) fn run(self) -> ExitCode {
        libtest_mimic::run(&Arguments::from_args(), self.trials).exit_code()
    }
}

/// Returns the models in a folder, sorted by name.
fn models(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let is_model = |path: &PathBuf| path.extension().is_some_and(|e| e == "glb" || e == "gltf");
    let mut models: Vec<_> = entries.flatten().map(|entry| entry.path()).filter(is_model).collect();
    models.sort();
    models
}
