//! Skeletons.

use std::ffi::{CString, c_char};

use runtime::{Joint, Skeleton};

use crate::guard::{free, guard};
use crate::status::{CONDYLE_NOT_FOUND, Fault, condyle_error, condyle_status};
use crate::text::c_text;
use crate::types::{CONDYLE_NO_JOINT, condyle_transform, is_shared};

/// Names, parents and rest pose of all joints. Parents come before their children.
///
/// Never changes: any number of threads may use it.
pub struct condyle_skeleton {
    pub(crate) skeleton: Skeleton,
    names: Vec<CString>,
    /// Pointers to `names`.
    pointers: Vec<Name>,
    rest: Vec<condyle_transform>,
}

/// Pointer to a name that lives as long as its owner and never changes.
#[derive(Clone, Copy)]
#[repr(transparent)]
struct Name(*const c_char);

// SAFETY: the text behind the pointer never changes.
unsafe impl Send for Name {}
// SAFETY: the text behind the pointer never changes.
unsafe impl Sync for Name {}

const _: () = is_shared::<condyle_skeleton>();

impl condyle_skeleton {
    pub(crate) fn new(skeleton: Skeleton) -> Self {
        let names: Vec<_> = skeleton.names().iter().map(|name| c_text(name)).collect();
        let pointers = names.iter().map(|name| Name(name.as_ptr())).collect();
        let rest = skeleton.rest().transforms().map(Into::into).collect();
        Self { skeleton, names, pointers, rest }
    }
}

/// Description of a joint for `condyle_skeleton_new`.
#[repr(C)]
pub struct condyle_joint {
    /// Name, UTF-8.
    pub name: *const c_char,
    /// Joint index of the parent, less than the joint's own index; `CONDYLE_NO_JOINT` for a root.
    pub parent: u16,
    /// Transform in the rest pose, relative to the parent.
    pub rest: condyle_transform,
}

/// Properties of a skeleton. The arrays live as long as the skeleton.
#[repr(C)]
pub struct condyle_skeleton_info {
    /// Size of this structure. Set it before the call.
    pub size: usize,
    /// Number of joints: the length of the three arrays.
    pub joint_count: usize,
    /// Name of each joint, UTF-8.
    pub names: *const *const c_char,
    /// Parent of each joint, `CONDYLE_NO_JOINT` for a root.
    pub parents: *const u16,
    /// Local transform of each joint in the rest pose.
    pub rest: *const condyle_transform,
    /// Checksum of names and parents. Clips and meshes of a skeleton with another value are refused.
    pub fingerprint: u32,
}

/// Creates a skeleton from its joints. Free it with `condyle_skeleton_free`.
///
/// `joints` has `joint_count` elements, 1 to 65535.
///
/// Errors: `CONDYLE_INVALID_ARGUMENT` for a parent that is not before its child, and for a rest pose that is
/// not finite or has no unit rotation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_skeleton_new(
    joints: *const condyle_joint,
    joint_count: usize,
    skeleton: *mut *mut condyle_skeleton,
    error: *mut condyle_error,
) -> condyle_status {
    guard(error, || {
        output!(skeleton);
        // Before the first joint is read: a wrong count may be beyond the array.
        let limit = Skeleton::MAX_JOINTS;
        if joint_count > limit {
            return Err(runtime::Error::TooMany { what: "joints", found: joint_count, limit }.into());
        }
        let mut list = Vec::new();
        for joint in elements!(joints, joint_count) {
            let name = text!(joint.name, "joints[].name");
            let parent = (joint.parent != CONDYLE_NO_JOINT).then_some(joint.parent);
            list.push(Joint::new(name, parent, joint.rest.into()));
        }
        give!(skeleton, condyle_skeleton::new(Skeleton::new(list)?));
        Ok(())
    })
}

/// Frees a skeleton of `condyle_skeleton_new`. Null is ignored. A model frees its own skeleton.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_skeleton_free(skeleton: *mut condyle_skeleton) {
    free(skeleton);
}

/// Writes the properties of a skeleton to `info`. Set `info->size` first.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_skeleton_get_info(
    skeleton: *const condyle_skeleton,
    info: *mut condyle_skeleton_info,
    error: *mut condyle_error,
) -> condyle_status {
    guard(error, || {
        let it = shared!(skeleton);
        let found = condyle_skeleton_info {
            size: size_of::<condyle_skeleton_info>(),
            joint_count: it.names.len(),
            names: it.pointers.as_ptr().cast(),
            parents: it.skeleton.parents().as_ptr(),
            rest: it.rest.as_ptr(),
            fingerprint: it.skeleton.fingerprint(),
        };
        put_sized!(info, found);
        Ok(())
    })
}

/// Writes the index of the first joint with this name to `joint`.
///
/// Errors: `CONDYLE_NOT_FOUND`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_skeleton_find_joint(
    skeleton: *const condyle_skeleton,
    name: *const c_char,
    joint: *mut u16,
    error: *mut condyle_error,
) -> condyle_status {
    guard(error, || {
        output!(joint);
        let (it, name) = (shared!(skeleton), text!(name));
        let found = it.skeleton.joint_by_name(name);
        let missing = || Fault::Other(CONDYLE_NOT_FOUND, format!("the skeleton has no joint {name:?}"));
        put!(joint, found.ok_or_else(missing)?);
        Ok(())
    })
}
