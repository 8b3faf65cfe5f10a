//! C interface of a peer in Rust, as declared in `cpp/peer.h`. Both adapters in Rust include this file and
//! provide `adapter::Peer`.

use std::ffi::{CStr, c_char, c_int};
use std::path::{Path, PathBuf};
use std::slice::from_raw_parts;

use crate::adapter::Peer;

/// Path from a C string.
///
/// # Safety
/// `text` points to a string that ends with a zero.
unsafe fn path(text: *const c_char) -> PathBuf {
    // SAFETY: the caller's promise.
    let text = unsafe { CStr::from_ptr(text) };
    Path::new(text.to_str().expect("a path in UTF-8")).into()
}

/// # Safety
/// The arguments point to strings that end with a zero.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn peer_new(
    data: *const c_char,
    skeleton: *const c_char,
    archives: *const c_char,
) -> *mut Peer {
    // SAFETY: the caller's promise.
    let [data, skeleton, archives] = [data, skeleton, archives].map(|text| unsafe { path(text) });
    Box::into_raw(Box::new(Peer::new(&data, &skeleton, &archives)))
}

/// # Safety
/// `peer` is from `peer_new` and used by one thread.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn peer_bytes(peer: *mut Peer, form: c_int, clip: c_int) -> c_int {
    // SAFETY: the caller's promise.
    let peer = unsafe { &mut *peer };
    peer.bytes(form as usize, clip as usize) as c_int
}

/// # Safety
/// The pointer is valid as for `peer_bytes`. `times` points to `count` values.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn peer_sample(
    peer: *mut Peer,
    form: c_int,
    clip: c_int,
    times: *const f32,
    count: c_int,
) {
    // SAFETY: the caller's promise.
    let (peer, times) = unsafe { (&mut *peer, from_raw_parts(times, count as usize)) };
    times.iter().for_each(|&time| peer.sample(form as usize, clip as usize, time, 0));
}

/// # Safety
/// The pointer is valid as for `peer_bytes`. `transforms` has room for ten values per joint.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn peer_pose(
    peer: *mut Peer,
    form: c_int,
    clip: c_int,
    time: f32,
    transforms: *mut f32,
) {
    // SAFETY: the caller's promise.
    let peer = unsafe { &mut *peer };
    peer.sample(form as usize, clip as usize, time, 0);
    let pose = peer.pose();
    // SAFETY: the caller's promise; `pose` has ten values per joint.
    unsafe { transforms.copy_from_nonoverlapping(pose.as_ptr(), pose.len()) };
}

/// # Safety
/// The pointer is valid as for `peer_bytes`. Both arrays of times have `count` values.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn peer_character(
    peer: *mut Peer,
    form: c_int,
    clip_a: c_int,
    clip_b: c_int,
    times_a: *const f32,
    times_b: *const f32,
    count: c_int,
) {
    // SAFETY: the caller's promise.
    let peer = unsafe { &mut *peer };
    // SAFETY: the caller's promise.
    let [times_a, times_b] = [times_a, times_b].map(|times| unsafe { from_raw_parts(times, count as usize) });
    for (&a, &b) in times_a.iter().zip(times_b) {
        peer.sample(form as usize, clip_a as usize, a, 0);
        peer.sample(form as usize, clip_b as usize, b, 1);
        peer.blend(form as usize);
        peer.model_space();
        peer.write_palette();
    }
}

/// # Safety
/// The pointer is valid as for `peer_bytes`. All arrays have `count` values.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn peer_crowd(
    peer: *mut Peer,
    form: c_int,
    clips_a: *const c_int,
    clips_b: *const c_int,
    times_a: *const f32,
    times_b: *const f32,
    count: c_int,
) {
    let count = count as usize;
    // SAFETY: the caller's promise.
    let peer = unsafe { &mut *peer };
    // SAFETY: the caller's promise.
    let [clips_a, clips_b] = [clips_a, clips_b].map(|clips| unsafe { from_raw_parts(clips, count) });
    // SAFETY: the caller's promise.
    let [times_a, times_b] = [times_a, times_b].map(|times| unsafe { from_raw_parts(times, count) });
    peer.crowd_of(count);
    for at in 0..count {
        let plays = [(clips_a[at] as usize, times_a[at]), (clips_b[at] as usize, times_b[at])];
        peer.crowd_character(form as usize, at, plays);
    }
}

/// # Safety
/// The pointer is valid as for `peer_bytes`.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn peer_stage(peer: *mut Peer, form: c_int, stage: c_int, count: c_int) {
    // SAFETY: the caller's promise.
    let peer = unsafe { &mut *peer };
    for _ in 0..count {
        match stage {
            0 => peer.blend(form as usize),
            1 => peer.model_space(),
            _ => peer.write_palette(),
        }
        std::hint::black_box(&mut *peer);
    }
}

/// # Safety
/// The pointer is valid as for `peer_bytes`. `matrices` has room for sixteen values per joint.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn peer_palette(peer: *mut Peer, _form: c_int, at: c_int, matrices: *mut f32) {
    // SAFETY: the caller's promise.
    let peer = unsafe { &mut *peer };
    let palette = peer.palette(usize::try_from(at).ok());
    // SAFETY: the caller's promise; `palette` has sixteen values per joint.
    unsafe { matrices.copy_from_nonoverlapping(palette.as_ptr(), palette.len()) };
}

/// # Safety
/// The pointer is valid as for `peer_bytes`. The arrays have four joints, four weights, and three values of
/// each attribute per vertex.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn peer_mesh(
    peer: *mut Peer,
    vertices: c_int,
    joints: *const u16,
    weights: *const f32,
    positions: *const f32,
    normals: *const f32,
    tangents: *const f32,
) {
    let vertices = vertices as usize;
    // SAFETY: the caller's promise.
    let peer = unsafe { &mut *peer };
    // SAFETY: the caller's promise.
    let (joints, weights) =
        unsafe { (from_raw_parts(joints, 4 * vertices), from_raw_parts(weights, 4 * vertices)) };
    // SAFETY: the caller's promise.
    let attributes =
        [positions, normals, tangents].map(|values| unsafe { from_raw_parts(values, 3 * vertices) });
    peer.set_mesh(joints, weights, attributes);
}

/// # Safety
/// The pointer is valid as for `peer_bytes`, and `peer_mesh` was called.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn peer_skin(peer: *mut Peer, attributes: c_int, count: c_int) {
    // SAFETY: the caller's promise.
    let peer = unsafe { &mut *peer };
    for _ in 0..count {
        peer.skin(attributes as usize);
        std::hint::black_box(&mut *peer);
    }
}

/// # Safety
/// The pointer is valid as for `peer_skin`. Both arrays have room for three values per vertex.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn peer_skinned(peer: *mut Peer, positions: *mut f32, normals: *mut f32) {
    // SAFETY: the caller's promise.
    let peer = unsafe { &mut *peer };
    for (to, values) in [positions, normals].into_iter().zip(peer.skinned()) {
        // SAFETY: the caller's promise; `values` has three values per vertex.
        unsafe { to.copy_from_nonoverlapping(values.as_ptr(), values.len()) };
    }
}
