//! Rows of the tables: all libraries, builds and forms.

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;

use condyle::{Dispatch, Isa, Numeric};

use crate::data::Data;
use crate::foreign::Foreign;
use crate::player::{Player, Stage};
use crate::runtime::{OnIsa, Runtime};

/// Row of the tables: a library in one build and one form.
#[derive(Clone)]
pub(crate) struct Entrant {
    pub(crate) name: &'static str,
    /// Instruction set, or build of a peer.
    pub(crate) target: &'static str,
    pub(crate) form: usize,
    /// The same with clips of a smaller error, for the check.
    pub(crate) exact: usize,
    /// Stage in which this form differs from the first one of the library. `None` if in the clips.
    pub(crate) variant_of: Option<Stage>,
    pub(crate) player: Rc<RefCell<dyn Player>>,
}

pub(crate) const PACKED: &str = "Condyle, packed clips";
pub(crate) const FRAMES: &str = "Condyle, frames";
pub(crate) const INTERPOLATION: &str = "Condyle, `interpolation::poses`";
pub(crate) const ROWS: &str = "Condyle, `palette_rows`";
pub(crate) const OZZ: &str = "ozz-animation";
pub(crate) const OZZ_IFRAMES: &str = "ozz-animation, iframes";
pub(crate) const ACL: &str = "ACL + RTM";
pub(crate) const ACL_QVV: &str = "ACL + RTM, `qvv_mul`";
pub(crate) const ACL_NO_SCALE: &str = "ACL + RTM, `qvv_mul_no_scale`";
pub(crate) const OZZ_RS: &str = "ozz-animation-rs";
pub(crate) const OZZ_RS_REPAIRED: &str = "ozz-animation-rs, repaired";
pub(crate) const GLAM_KEYS: &str = "glam, timelines and slerp";
pub(crate) const GLAM_FRAMES: &str = "glam, whole frames and nlerp";

/// Row of the tables without a build. [`Entrant`] documents the fields.
#[derive(Clone, Copy)]
struct Form {
    name: &'static str,
    form: usize,
    exact: usize,
    variant_of: Option<Stage>,
}

const fn form(name: &'static str, form: usize, exact: usize) -> Form {
    Form { name, form, exact, variant_of: None }
}

const fn variant(stage: Stage, name: &'static str, form: usize, exact: usize) -> Form {
    Form { name, form, exact, variant_of: Some(stage) }
}

const CONDYLE_FORMS: [Form; 4] = [
    form(PACKED, 1, 0),
    form(FRAMES, 3, 2),
    variant(Stage::Blend, INTERPOLATION, 5, 4),
    variant(Stage::Palette, ROWS, 7, 6),
];
const ACL_FORMS: [Form; 3] =
    [form(ACL, 3, 0), variant(Stage::Model, ACL_QVV, 4, 1), variant(Stage::Model, ACL_NO_SCALE, 5, 2)];

/// Shared libraries. The one of ozz-animation comes first, because it writes the archives of the others.
const LIBRARIES: [(&str, &[Form]); 5] = [
    ("ozz", &[form(OZZ, 1, 0), form(OZZ_IFRAMES, 2, 0)]),
    ("acl", &ACL_FORMS),
    ("ozz_rs", &[form(OZZ_RS, 1, 0)]),
    ("ozz_rs_repaired", &[form(OZZ_RS_REPAIRED, 1, 0)]),
    ("glam", &[form(GLAM_KEYS, 0, 0), form(GLAM_FRAMES, 1, 1)]),
];
pub(crate) const BUILDS: [&str; 2] = ["native", "baseline"];
pub(crate) const ISAS: [Isa; 4] = [Isa::Avx512, Isa::Avx2, Isa::Sse42, Isa::Sse2];

/// All entrants that were built and that this machine supports, Condyle first.
pub(crate) fn all(data: &Data, folder: &Path) -> Vec<Entrant> {
    let runtime = Rc::new(RefCell::new(Runtime::new(data)));
    let mut all = Vec::new();
    for isa in ISAS {
        let Some(dispatch) = Dispatch::new(isa, Numeric::Fast) else { continue };
        let player = Rc::new(RefCell::new(OnIsa { dispatch, runtime: runtime.clone() }));
        all.extend(CONDYLE_FORMS.iter().map(|&form| entrant(form, isa.name(), player.clone())));
    }
    for (library, forms) in LIBRARIES {
        for build in BUILDS {
            let path = folder.join(format!("lib/{library}-{build}.so"));
            if !path.exists() {
                eprintln!("not built: {}", path.display());
                continue;
            }
            let start = std::time::Instant::now();
            let player = Rc::new(RefCell::new(Foreign::open(&path, folder, data.joints())));
            eprintln!("{library} {build}: ready in {:.1?}", start.elapsed());
            all.extend(forms.iter().map(|&form| entrant(form, build, player.clone())));
        }
    }
    all
}

fn entrant(form: Form, target: &'static str, player: Rc<RefCell<dyn Player>>) -> Entrant {
    let Form { name, form, exact, variant_of } = form;
    Entrant { name, target, form, exact, variant_of, player }
}
