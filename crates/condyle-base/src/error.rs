//! The one error type of the crate.

use core::fmt;

/// Why data was refused. A variant carries what was wrong, what was found and what was needed.
///
/// ```
/// use condyle::{Error, Joint, Skeleton, Transform};
///
/// let hand = Joint::new("hand", Some(1), Transform::IDENTITY);
/// let refused = Skeleton::new([hand, Joint::new("arm", None, Transform::IDENTITY)]);
/// let Err(error) = refused else { panic!("the hand comes before its parent") };
/// assert_eq!(error, Error::ParentOrder { joint: 0, parent: 1 });
/// assert!(error.to_string().ends_with("store parents before children"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Error {
    /// `what` has `found` elements, at least `needed` are expected.
    TooShort {
        /// The argument or field.
        what: &'static str,
        /// Its length.
        found: usize,
        /// The least length that would do.
        needed: usize,
    },
    /// `what` has `found` elements, exactly `needed` are expected.
    Length {
        /// The argument or field.
        what: &'static str,
        /// Its length.
        found: usize,
        /// The length that is required.
        needed: usize,
    },
    /// `what` has `found` elements, more than the `limit` that its index type can address.
    TooMany {
        /// The field.
        what: &'static str,
        /// Its length.
        found: usize,
        /// The greatest length allowed.
        limit: usize,
    },
    /// Element `at` of `what` refers to `found`, but only `count` exist.
    Index {
        /// The field.
        what: &'static str,
        /// The place in it.
        at: usize,
        /// The reference that leads nowhere.
        found: usize,
        /// How many there are.
        count: usize,
    },
    /// `what` was made for a skeleton with other joints than this one: their names or parents differ.
    Skeleton {
        /// The argument.
        what: &'static str,
        /// The fingerprint of the skeleton that it was made for (`Skeleton::fingerprint`).
        found: u32,
        /// That of this one.
        needed: u32,
    },
    /// `what` is relative to another rest pose than that of the skeleton.
    RestPose {
        /// The argument.
        what: &'static str,
        /// The fingerprint of the rest pose that it was made for (`Skeleton::rest_fingerprint`).
        found: u32,
        /// That of this one.
        needed: u32,
    },
    /// Joint `joint` names `parent` as its parent, which is not stored before it.
    ParentOrder {
        /// The joint.
        joint: usize,
        /// Its parent.
        parent: usize,
    },
    /// Element `at` of `what` is NaN or infinite.
    NotFinite {
        /// The field.
        what: &'static str,
        /// The place in it.
        at: usize,
    },
    /// Element `at` of `what` is a number, but none that would do.
    OutOfRange {
        /// The argument or field.
        what: &'static str,
        /// The place in it; 0 for a single number.
        at: usize,
        /// What it must be.
        needed: &'static str,
    },
    /// Element `at` of `what` does not pass the same sync markers in the same cyclic order as what it is to keep step with.
    MarkerOrder {
        /// The argument.
        what: &'static str,
        /// The place in it; 0 for a single track.
        at: usize,
    },
    /// None of the `joints` joints touches the ground at any moment of a clip.
    NoContacts {
        /// How many joints were asked for.
        joints: usize,
    },
    /// Timeline `timeline` of a clip has no keys.
    NoKeys {
        /// The timeline.
        timeline: usize,
    },
    /// Key time `key` of timeline `timeline` is not a number greater than the one before it.
    KeyOrder {
        /// The timeline.
        timeline: usize,
        /// The key.
        key: usize,
    },
    /// Track `track` has `found` numbers, its keys need `needed`.
    TrackLength {
        /// The track.
        track: usize,
        /// How many numbers it holds.
        found: usize,
        /// How many it must hold; for morph weights the least number.
        needed: usize,
    },
    /// Element `at` of `what` holds a rotation that is not near unit length.
    NotUnit {
        /// The field.
        what: &'static str,
        /// The place in it.
        at: usize,
    },
    /// Matrix `at` of `what` has no inverse, or none that f32 can hold.
    NotInvertible {
        /// The argument.
        what: &'static str,
        /// The place in it.
        at: usize,
    },
    /// `what` has no length, or none that is finite, and so no direction.
    NoDirection {
        /// The argument.
        what: &'static str,
    },
    /// Two tracks drive the same property: `track` is the second one.
    DuplicateTrack {
        /// The track.
        track: usize,
    },
    /// The bytes of `what` end too early: `needed` are wanted where `found` are left.
    Truncated {
        /// What is being read.
        what: &'static str,
        /// How many bytes are left.
        found: usize,
        /// How many it takes.
        needed: usize,
    },
    /// Bytes do not begin as `what` does.
    Magic {
        /// What they should be.
        what: &'static str,
    },
    /// `what`, or its element `at`, is of a version that is not known.
    Version {
        /// What is being read.
        what: &'static str,
        /// Where, if there are several of it.
        at: Option<usize>,
        /// Its version.
        found: u16,
        /// The newest that is known.
        newest: u16,
    },
    /// The bytes of `what`, or of its element `at`, are not those that were written.
    Checksum {
        /// The field.
        what: &'static str,
        /// The place in it, if it is a list.
        at: Option<usize>,
    },
    /// Element `at` of `what` is the number `found`.
    Value {
        /// The field.
        what: &'static str,
        /// The place in it.
        at: usize,
        /// The number.
        found: u64,
        /// What would do.
        expected: &'static str,
    },
    /// Element `at` of `what` is not UTF-8, or begins or ends inside a character.
    NotText {
        /// The field.
        what: &'static str,
        /// The place in it.
        at: usize,
    },
    /// Pair `pair` names joint `joint`, which another pair names already.
    PairedTwice {
        /// The pair.
        pair: usize,
        /// The joint.
        joint: usize,
    },
    /// The parents of the two joints of pair `pair` do not mirror each other.
    PairParents {
        /// The pair.
        pair: usize,
    },
    /// A word stands where one of `expected` must.
    UnknownName {
        /// All that would do.
        expected: &'static str,
    },
    /// The environment variable `variable` does not hold one of `expected`, or not one that this machine has.
    Environment {
        /// Its name.
        variable: &'static str,
        /// All that would do.
        expected: &'static str,
    },
}

/// Arguments that are one number, so that no place in them is worth telling.
const SINGLE: [&str; 21] = [
    "factor",
    "seconds",
    "duration",
    "phase",
    "amount",
    "sample_rate",
    "dt",
    "elapsed",
    "cycles",
    "clock",
    "speed",
    "budget",
    "rate",
    "shell",
    "track_budget",
    "weight",
    "soft",
    "step",
    "tolerance",
    "radius",
    "fps",
];

/// Element `at` of `what`, or `what` itself where it is one number.
struct Place(&'static str, usize);

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(what, at) = self;
        if *at == 0 && SINGLE.contains(what) { write!(f, "`{what}`") } else { write!(f, "{what}[{at}]") }
    }
}

/// What `what` is counted in: poses and what goes with them in joints.
fn counted(what: &str) -> &'static str {
    match what {
        "pose" | "layer" | "difference" | "over" | "reference" | "rest" | "mask" => "joints",
        _ => "found",
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::TooShort { what, found, needed } => {
                write!(f, "{what}: {found} {}, at least {needed} expected", counted(what))
            }
            Self::Length { what, found, needed } => {
                write!(f, "{what}: {found} {}, {needed} expected", counted(what))
            }
            Self::TooMany { what, found, limit } => {
                write!(f, "{what}: {found} {}, at most {limit} allowed", counted(what))
            }
            Self::Index { what, at, found, count } => {
                write!(f, "{what}[{at}] refers to {found}, but there are only {count}")
            }
            Self::Skeleton { what, found, needed } => {
                write!(
                    f,
                    "{what} was made for another skeleton (fingerprint {found:08x}, not {needed:08x}): \
                     match the joints by their names with `JointMap`"
                )
            }
            Self::RestPose { what, found, needed } => {
                write!(
                    f,
                    "{what} was made for another rest pose (fingerprint {found:08x}, not {needed:08x}): \
                     encode it for this skeleton"
                )
            }
            Self::ParentOrder { joint, parent } => {
                write!(
                    f,
                    "joint {joint} does not come after its parent, joint {parent}: \
                     store parents before children"
                )
            }
            Self::NotFinite { what, at } => write!(f, "{} is not finite", Place(what, at)),
            Self::OutOfRange { what, at, needed } => write!(f, "{} must be {needed}", Place(what, at)),
            Self::NotUnit { what, at } => {
                write!(f, "the rotation of {what}[{at}] is more than 2 % from unit length: normalise it")
            }
            Self::NotInvertible { what, at } => {
                write!(f, "{what}[{at}] has no inverse: a scale is 0, or too close to it")
            }
            Self::NoDirection { what } => {
                write!(f, "`{what}` has no direction: its length is 0, or not finite")
            }
            Self::PairedTwice { pair, joint } => {
                write!(f, "pairs[{pair}] names joint {joint}, which another pair names already: name it once")
            }
            Self::PairParents { pair } => {
                write!(
                    f,
                    "the joints of pairs[{pair}] have parents that are neither a pair nor the same joint in none"
                )
            }
            Self::UnknownName { expected } => write!(f, "unknown name, one of {expected} expected"),
            Self::Environment { variable, expected } => {
                write!(f, "set {variable} to one of {expected}, and one that this machine has")
            }
            Self::MarkerOrder { .. }
            | Self::NoContacts { .. }
            | Self::NoKeys { .. }
            | Self::KeyOrder { .. }
            | Self::TrackLength { .. }
            | Self::DuplicateTrack { .. } => self.fmt_of_clips(f),
            Self::Truncated { .. }
            | Self::Magic { .. }
            | Self::Version { .. }
            | Self::Checksum { .. }
            | Self::Value { .. }
            | Self::NotText { .. } => self.fmt_of_bytes(f),
        }
    }
}

impl Error {
    /// Writes the message of an error about clips as authored.
    fn fmt_of_clips(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::MarkerOrder { what, at } => {
                write!(
                    f,
                    "{what}[{at}] passes other sync markers, or in another order, \
                     than what it keeps step with"
                )
            }
            Self::NoContacts { joints } => {
                write!(
                    f,
                    "none of the {joints} joints touches the ground in this clip: check that they are the joints of \
                     its feet, and the thresholds of `ContactOptions`"
                )
            }
            Self::NoKeys { timeline } => write!(f, "timelines[{timeline}] has no keys, at least 1 expected"),
            Self::KeyOrder { timeline, key } => {
                write!(
                    f,
                    "timelines[{timeline}][{key}] is not after the key before it: \
                     times must be finite and rise"
                )
            }
            Self::TrackLength { track, found, needed } => {
                write!(f, "tracks[{track}]: {found} numbers, {needed} expected for its keys")
            }
            Self::DuplicateTrack { track } => {
                write!(f, "tracks[{track}] drives what an earlier track drives already: keep one of them")
            }
            _ => Ok(()),
        }
    }

    /// Writes the message of an error about bytes.
    fn fmt_of_bytes(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Truncated { what, found, needed } => {
                write!(f, "{what} ends too early: {found} bytes left, {needed} expected")
            }
            Self::Magic { what } => write!(f, "the bytes do not begin as {what} does"),
            Self::Version { what, at, found, newest } => {
                let newer = "written by a newer version of condyle, which reads it";
                let way = if found > newest { newer } else { "make it again" };
                write!(f, "{what}")?;
                at.map_or(Ok(()), |at| write!(f, "[{at}]"))?;
                write!(f, " is of version {found}, {newest} is the one that is known: {way}")
            }
            Self::Checksum { what, at } => {
                write!(f, "{what}")?;
                at.map_or(Ok(()), |at| write!(f, "[{at}]"))?;
                f.write_str(" is damaged: its bytes are not those that were written")
            }
            Self::Value { what, at, found, expected } => {
                write!(f, "{what}[{at}] is {found}, {expected} is expected")
            }
            Self::NotText { what, at } => write!(f, "{what}[{at}] is not UTF-8"),
            _ => Ok(()),
        }
    }
}

impl core::error::Error for Error {}

impl Error {
    /// `Ok` if `found == needed`.
    #[inline]
    pub fn check_len(what: &'static str, found: usize, needed: usize) -> Result<(), Self> {
        if found == needed { Ok(()) } else { Err(Self::Length { what, found, needed }) }
    }

    /// `Ok` if `found >= needed`.
    #[inline]
    pub fn check_room(what: &'static str, found: usize, needed: usize) -> Result<(), Self> {
        if found >= needed { Ok(()) } else { Err(Self::TooShort { what, found, needed }) }
    }

    /// `Ok` if the number is finite.
    #[inline]
    pub fn check_number(what: &'static str, value: f32) -> Result<(), Self> {
        Self::check_finite(what, &[value], 1)
    }

    /// `Ok` if every number is finite; the error names the first that is not, counted in groups of `width`.
    #[inline]
    pub fn check_finite(what: &'static str, values: &[f32], width: usize) -> Result<(), Self> {
        match values.iter().position(|v| !v.is_finite()) {
            None => Ok(()),
            Some(at) => Err(Self::NotFinite { what, at: at / width }),
        }
    }
}

/// Asserts what no input can make false: in this crate's tests, where the compiler's own debug assertions are off, as in fuzzing and
/// in debug builds. Elsewhere it costs nothing.
#[macro_export]
#[doc(hidden)]
macro_rules! invariant {
    ($holds:expr, $($why:tt)+) => {
        if cfg!(any(test, debug_assertions)) {
            assert!($holds, $($why)+);
        }
    };
}
pub use crate::invariant;

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    #[test]
    fn errors_say_what_was_found_and_what_was_expected() {
        for (error, want) in [
            (Error::Length { what: "pose", found: 21, needed: 20 }, "pose: 21 joints, 20 expected"),
            (Error::Length { what: "positions", found: 3, needed: 4 }, "positions: 3 found, 4 expected"),
            (
                Error::TooShort { what: "palette", found: 3, needed: 4 },
                "palette: 3 found, at least 4 expected",
            ),
            (Error::NotFinite { what: "seconds", at: 0 }, "`seconds` is not finite"),
            (Error::NotFinite { what: "weights", at: 0 }, "weights[0] is not finite"),
            (
                Error::OutOfRange { what: "duration", at: 0, needed: "greater than 0" },
                "`duration` must be greater than 0",
            ),
            (
                Error::Skeleton { what: "the clip", found: 0xA5, needed: 0xFFFF_FFFF },
                "the clip was made for another skeleton (fingerprint 000000a5, not ffffffff): match the joints by their \
                 names with `JointMap`",
            ),
            (
                Error::RestPose { what: "the clip", found: 0xA5, needed: 0xFFFF_FFFF },
                "the clip was made for another rest pose (fingerprint 000000a5, not ffffffff): encode it for this skeleton",
            ),
            (
                Error::ParentOrder { joint: 1, parent: 2 },
                "joint 1 does not come after its parent, joint 2: store parents before children",
            ),
            (
                Error::TrackLength { track: 5, found: 8, needed: 9 },
                "tracks[5]: 8 numbers, 9 expected for its keys",
            ),
        ] {
            assert_eq!(error.to_string(), want);
        }
    }
}
