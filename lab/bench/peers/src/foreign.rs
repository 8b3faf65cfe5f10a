//! Peers in shared libraries, with the C interface of `cpp/peer.h`. All unsafe code of the program is here.

use std::ffi::{CString, c_char, c_int, c_void};
use std::path::Path;

use libloading::Library;

use crate::data::{Mesh, WIDTH};
use crate::player::{Cast, Player, Stage};

type Peer = *mut c_void;

/// Functions of one library, with the signatures of `cpp/peer.h`.
struct Functions {
    new: unsafe extern "C" fn(*const c_char, *const c_char, *const c_char) -> Peer,
    bytes: unsafe extern "C" fn(Peer, c_int, c_int) -> c_int,
    sample: unsafe extern "C" fn(Peer, c_int, c_int, *const f32, c_int),
    pose: unsafe extern "C" fn(Peer, c_int, c_int, f32, *mut f32),
    character: unsafe extern "C" fn(Peer, c_int, c_int, c_int, *const f32, *const f32, c_int),
    crowd: unsafe extern "C" fn(Peer, c_int, *const c_int, *const c_int, *const f32, *const f32, c_int),
    stage: unsafe extern "C" fn(Peer, c_int, c_int, c_int),
    palette: unsafe extern "C" fn(Peer, c_int, c_int, *mut f32),
    skinning: Option<Skinning>,
}

#[derive(Clone, Copy)]
struct Skinning {
    mesh: unsafe extern "C" fn(Peer, c_int, *const u16, *const f32, *const f32, *const f32, *const f32),
    skin: unsafe extern "C" fn(Peer, c_int, c_int),
    skinned: unsafe extern "C" fn(Peer, *mut f32, *mut f32),
}

/// Function of the library, if it has one of this name.
///
/// # Safety
/// `F` is the signature of the function in the library.
unsafe fn find<F: Copy>(library: &Library, name: &str) -> Option<F> {
    // SAFETY: the caller's promise.
    unsafe { library.get::<F>(name.as_bytes()) }.ok().map(|function| *function)
}

impl Functions {
    fn load(library: &Library) -> Option<Self> {
        // SAFETY: the fields have the signatures of `cpp/peer.h`, from which all adapters are built.
        unsafe {
            let skinning = || {
                Some(Skinning {
                    mesh: find(library, "peer_mesh")?,
                    skin: find(library, "peer_skin")?,
                    skinned: find(library, "peer_skinned")?,
                })
            };
            Some(Self {
                new: find(library, "peer_new")?,
                bytes: find(library, "peer_bytes")?,
                sample: find(library, "peer_sample")?,
                pose: find(library, "peer_pose")?,
                character: find(library, "peer_character")?,
                crowd: find(library, "peer_crowd")?,
                stage: find(library, "peer_stage")?,
                palette: find(library, "peer_palette")?,
                skinning: skinning(),
            })
        }
    }
}

/// A peer. It lives until the program ends.
pub(crate) struct Foreign {
    functions: Functions,
    peer: Peer,
    joints: usize,
    vertices: usize,
}

fn int(value: usize) -> c_int {
    c_int::try_from(value).expect("a small number")
}

fn index(at: Option<usize>) -> c_int {
    at.map_or(-1, int)
}

fn text(path: &Path) -> CString {
    CString::new(path.to_str().expect("a path in UTF-8")).expect("a path without zeros")
}

impl Foreign {
    /// Loads a library and lets it read `data.bin`, `skeleton.ozz` and `archives` of `folder`.
    ///
    /// # Panics
    /// If a file is missing or the library fails.
    pub(crate) fn open(library: &Path, folder: &Path, joints: usize) -> Self {
        // SAFETY: an adapter built by `build.sh` runs no code when it is loaded, except C++ constructors of
        // constants.
        let loaded = unsafe { Library::new(library) };
        // The functions outlive this call, so the library is never unloaded.
        let loaded: &Library = Box::leak(Box::new(loaded.unwrap_or_else(|error| panic!("{error}"))));
        let functions = Functions::load(loaded).expect("all functions of cpp/peer.h");
        let [data, skeleton, archives] =
            ["data.bin", "skeleton.ozz", "archives"].map(|file| text(&folder.join(file)));
        // SAFETY: three strings that end with a zero and live until the call returns.
        let peer = unsafe { (functions.new)(data.as_ptr(), skeleton.as_ptr(), archives.as_ptr()) };
        assert!(!peer.is_null(), "{} failed", library.display());
        Self { functions, peer, joints, vertices: 0 }
    }

    fn skinning(&self) -> Skinning {
        self.functions.skinning.expect("a library that skins")
    }
}

/// Each call passes the peer of this library. The library uses it only during the call, on this thread, and
/// `&mut self` excludes a second call.
impl Player for Foreign {
    fn bytes(&self, form: usize, clip: usize) -> usize {
        // SAFETY: only reads the peer.
        unsafe { (self.functions.bytes)(self.peer, int(form), int(clip)) as usize }
    }

    fn sample(&mut self, form: usize, clip: usize, times: &[f32]) {
        // SAFETY: reads as many times as there are.
        unsafe {
            (self.functions.sample)(self.peer, int(form), int(clip), times.as_ptr(), int(times.len()));
        }
    }

    fn pose(&mut self, form: usize, clip: usize, time: f32) -> Vec<f32> {
        let mut pose = vec![0.0; self.joints * WIDTH];
        // SAFETY: writes ten values per joint.
        unsafe { (self.functions.pose)(self.peer, int(form), int(clip), time, pose.as_mut_ptr()) };
        pose
    }

    fn character(&mut self, form: usize, clips: [usize; 2], times: [&[f32]; 2]) {
        let [clip_a, clip_b] = clips.map(int);
        let [a, b] = times;
        assert_eq!(a.len(), b.len());
        // SAFETY: reads as many times of each clip as there are.
        unsafe {
            let call = self.functions.character;
            call(self.peer, int(form), clip_a, clip_b, a.as_ptr(), b.as_ptr(), int(a.len()));
        }
    }

    fn crowd(&mut self, form: usize, cast: &Cast) {
        let Cast { clips: [clips_a, clips_b], times: [a, b] } = cast;
        assert!([clips_a.len(), clips_b.len(), b.len()] == [a.len(); 3]);
        // SAFETY: reads as many clips and times as there are.
        unsafe {
            let (clips_a, clips_b) = (clips_a.as_ptr(), clips_b.as_ptr());
            let call = self.functions.crowd;
            call(self.peer, int(form), clips_a, clips_b, a.as_ptr(), b.as_ptr(), int(a.len()));
        }
    }

    fn stage(&mut self, form: usize, stage: Stage, count: usize) {
        // SAFETY: works on the buffers of the peer.
        unsafe { (self.functions.stage)(self.peer, int(form), stage as c_int, int(count)) };
    }

    fn palette(&mut self, form: usize, at: Option<usize>) -> Vec<f32> {
        let mut matrices = vec![0.0; self.joints * 16];
        // SAFETY: writes sixteen values per joint.
        unsafe { (self.functions.palette)(self.peer, int(form), index(at), matrices.as_mut_ptr()) };
        matrices
    }

    fn skins(&self) -> bool {
        self.functions.skinning.is_some()
    }

    fn set_mesh(&mut self, mesh: &Mesh) {
        let Mesh { joints, weights, positions, normals, tangents } = mesh;
        self.vertices = positions.len();
        assert!([joints.len(), weights.len(), normals.len(), tangents.len()] == [self.vertices; 4]);
        // SAFETY: reads four joints and weights and three values of each attribute per vertex.
        unsafe {
            (self.skinning().mesh)(
                self.peer,
                int(self.vertices),
                joints.as_flattened().as_ptr(),
                weights.as_flattened().as_ptr(),
                positions.as_flattened().as_ptr(),
                normals.as_flattened().as_ptr(),
                tangents.as_flattened().as_ptr(),
            );
        }
    }

    fn skin(&mut self, attributes: usize, count: usize) {
        // SAFETY: works on the buffers of the peer.
        unsafe { (self.skinning().skin)(self.peer, int(attributes), int(count)) };
    }

    fn skinned(&mut self) -> [Vec<f32>; 2] {
        let [mut positions, mut normals] = [(); 2].map(|()| vec![0.0; 3 * self.vertices]);
        // SAFETY: writes three values per vertex to each.
        unsafe { (self.skinning().skinned)(self.peer, positions.as_mut_ptr(), normals.as_mut_ptr()) };
        [positions, normals]
    }
}
