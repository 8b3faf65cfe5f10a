//! The error type of the crate.

use core::fmt;

/// Reason why data was rejected. A variant has the argument, the value found and the value needed.
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
    /// `what` has `found` elements, but at least `needed` are expected.
    TooShort {
        /// Name of the argument or field.
        what: &'static str,
        /// Number of elements.
        found: usize,
        /// Minimum length.
        needed: usize,
    },
    /// `what` has `found` elements, but exactly `needed` are expected.
    Length {
        /// Name of the argument or field.
        what: &'static str,
        /// Number of elements.
        found: usize,
        /// Required length.
        needed: usize,
    },
    /// `what` has `found` elements, more than the `limit` that its index type can address.
    TooMany {
        /// Name of the field.
        what: &'static str,
        /// Number of elements.
        found: usize,
        /// Maximum length.
        limit: usize,
    },
    /// Element `at` of `what` refers to `found`, but only `count` exist.
    Index {
        /// Name of the field.
        what: &'static str,
        /// Index of the element.
        at: usize,
        /// Index that does not exist.
        found: usize,
        /// Number of existing elements.
        count: usize,
    },
    /// `what` belongs to a skeleton with different joints: names or parents differ.
    Skeleton {
        /// Name of the argument.
        what: &'static str,
        /// Fingerprint of the skeleton that the argument belongs to (`Skeleton::fingerprint`).
        found: u32,
        /// Fingerprint of this skeleton.
        needed: u32,
    },
    /// `what` is relative to a rest pose that differs from the skeleton's.
    RestPose {
        /// Name of the argument.
        what: &'static str,
        /// Fingerprint of the rest pose that the argument belongs to (`Skeleton::rest_fingerprint`).
        found: u32,
        /// Fingerprint of this skeleton's rest pose.
        needed: u32,
    },
    /// Joint `joint` has the parent `parent`, which is not stored before it.
    ParentOrder {
        /// Joint index.
        joint: usize,
        /// Joint index of its parent.
        parent: usize,
    },
    /// Element `at` of `what` is NaN or infinite.
    NotFinite {
        /// Name of the field.
        what: &'static str,
        /// Index of the element.
        at: usize,
    },
    /// Element `at` of `what` is out of range.
    OutOfRange {
        /// Name of the argument or field.
        what: &'static str,
        /// Index of the element; 0 for a single number.
        at: usize,
        /// Accepted values.
        needed: &'static str,
    },
    /// Element `at` of `what` does not have the same sync markers, in the same cyclic order, as the track to
    /// synchronise with.
    MarkerOrder {
        /// Name of the argument.
        what: &'static str,
        /// Index of the element; 0 for a single track.
        at: usize,
    },
    /// An internal check failed because of a bug in this library. The output is incomplete.
    Internal {
        /// Invariant that does not hold.
        what: &'static str,
    },
    /// A clip in which the `joints` queried joints never touch the ground.
    NoContacts {
        /// Number of queried joints.
        joints: usize,
    },
    /// Frames of a clip exceed their error budget at every rate.
    OverBudget {
        /// Error of the most accurate frames, in percent of the budget.
        percent: usize,
    },
    /// Timeline `timeline` of a clip has no keys.
    NoKeys {
        /// Timeline index.
        timeline: usize,
    },
    /// Key time `key` of timeline `timeline` is not a number greater than the previous one.
    KeyOrder {
        /// Timeline index.
        timeline: usize,
        /// Key index.
        key: usize,
    },
    /// Track `track` has `found` numbers, but its keys need `needed`.
    TrackLength {
        /// Track index.
        track: usize,
        /// Number of values in the track.
        found: usize,
        /// Required number of values; for morph weights, the minimum.
        needed: usize,
    },
    /// Element `at` of `what` has a rotation that is not near unit length.
    NotUnit {
        /// Name of the field.
        what: &'static str,
        /// Index of the element.
        at: usize,
    },
    /// Matrix `at` of `what` has no inverse, or none within the range of f32.
    NotInvertible {
        /// Name of the argument.
        what: &'static str,
        /// Index of the element.
        at: usize,
    },
    /// `what` has no direction, because its length is 0 or not finite.
    NoDirection {
        /// Name of the argument.
        what: &'static str,
    },
    /// Two tracks drive the same property: `track` is the second one.
    DuplicateTrack {
        /// Track index.
        track: usize,
    },
    /// The bytes of `what` end too early: `needed` bytes are expected, but only `found` remain.
    Truncated {
        /// Data that is read.
        what: &'static str,
        /// Number of remaining bytes.
        found: usize,
        /// Number of required bytes.
        needed: usize,
    },
    /// The bytes do not begin with the signature of `what`.
    Magic {
        /// Expected kind of data.
        what: &'static str,
    },
    /// `what`, or its element `at`, has an unknown version.
    Version {
        /// Data that is read.
        what: &'static str,
        /// Index, if there are several.
        at: Option<usize>,
        /// Version of the data.
        found: u16,
        /// Newest known version.
        newest: u16,
    },
    /// The bytes of `what`, or of its element `at`, do not match their checksum.
    Checksum {
        /// Name of the field.
        what: &'static str,
        /// Index of the element, if `what` is a list.
        at: Option<usize>,
    },
    /// Element `at` of `what` has the invalid value `found`.
    Value {
        /// Name of the field.
        what: &'static str,
        /// Index of the element.
        at: usize,
        /// Invalid value.
        found: u64,
        /// Valid values.
        expected: &'static str,
    },
    /// Element `at` of `what` is not UTF-8, or begins or ends inside a character.
    NotText {
        /// Name of the field.
        what: &'static str,
        /// Index of the element.
        at: usize,
    },
    /// Pair `pair` has joint `joint`, which is already in another pair.
    PairedTwice {
        /// Pair index.
        pair: usize,
        /// Joint index.
        joint: usize,
    },
    /// The parents of the two joints of pair `pair` do not mirror each other.
    PairParents {
        /// Pair index.
        pair: usize,
    },
    /// A name is not one of `expected`.
    UnknownName {
        /// All valid names.
        expected: &'static str,
    },
    /// The environment variable `variable` is not one of `expected`, or not supported by this machine.
    Environment {
        /// Name of the variable.
        variable: &'static str,
        /// All valid names.
        expected: &'static str,
    },
}

/// Arguments that are a single number. Their messages omit the index.
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

/// Element `at` of `what`, or `what` itself if it is a single number.
struct Place(&'static str, usize);

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(what, at) = self;
        if *at == 0 && SINGLE.contains(what) { write!(f, "`{what}`") } else { write!(f, "{what}[{at}]") }
    }
}

/// Returns the word that follows the length of `what` in messages.
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
            Self::Internal { what } => {
                write!(f, "bug in condyle, please report it: not true that {what}")
            }
            Self::NotFinite { what, at } => write!(f, "{} is not finite", Place(what, at)),
            Self::OutOfRange { what, at, needed } => write!(f, "{} must be {needed}", Place(what, at)),
            Self::NotUnit { what, at } => {
                write!(f, "the rotation of {what}[{at}] is more than 2 % from unit length: normalise it")
            }
            Self::NotInvertible { what, at } => {
                write!(f, "{what}[{at}] has no inverse: a scale is 0 or nearly 0")
            }
            Self::NoDirection { what } => {
                write!(f, "`{what}` has no direction: its length is 0 or not finite")
            }
            Self::PairedTwice { pair, joint } => {
                write!(
                    f,
                    "pairs[{pair}] names joint {joint}, which is already in another pair: list each joint once"
                )
            }
            Self::PairParents { pair } => {
                write!(
                    f,
                    "the parents of the joints of pairs[{pair}] are neither a pair nor the same unpaired joint"
                )
            }
            Self::UnknownName { expected } => write!(f, "unknown name, expected one of {expected}"),
            Self::Environment { variable, expected } => {
                write!(f, "set {variable} to one of {expected} that this machine supports")
            }
            Self::MarkerOrder { .. }
            | Self::NoContacts { .. }
            | Self::OverBudget { .. }
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
    /// Writes the message of an error about uncompressed clips.
    fn fmt_of_clips(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::MarkerOrder { what, at } => {
                write!(
                    f,
                    "{what}[{at}] must have the same sync markers, in the same cyclic order, \
                     as the track to synchronise with"
                )
            }
            Self::OverBudget { percent } => {
                write!(
                    f,
                    "the most accurate frames have an error of {percent} % of the budget: sample the clip itself, \
                     or raise the budget"
                )
            }
            Self::NoContacts { joints } => {
                write!(
                    f,
                    "none of the {joints} joints touches the ground in this clip: check that they are foot joints, \
                     and check the thresholds of `ContactOptions`"
                )
            }
            Self::NoKeys { timeline } => write!(f, "timelines[{timeline}] has no keys, at least 1 expected"),
            Self::KeyOrder { timeline, key } => {
                write!(
                    f,
                    "timelines[{timeline}][{key}] is not greater than the key before it: \
                     key times must be finite and ascending"
                )
            }
            Self::TrackLength { track, found, needed } => {
                write!(f, "tracks[{track}]: {found} numbers, {needed} expected for its keys")
            }
            Self::DuplicateTrack { track } => {
                write!(f, "tracks[{track}] drives the same property as an earlier track: keep one of them")
            }
            _ => Ok(()),
        }
    }

    /// Writes the message of an error about bytes.
    fn fmt_of_bytes(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Truncated { what, found, needed } => {
                write!(f, "{what} is cut off: {found} of {needed} bytes")
            }
            Self::Magic { what } => write!(f, "the bytes do not begin with the signature of {what}"),
            Self::Version { what, at, found, newest } => {
                let newer = "it was written by a newer version of condyle; update condyle to read it";
                let way = if found > newest {
                    newer
                } else {
                    "it is no longer supported; create it again with this version"
                };
                write!(f, "{what}")?;
                at.map_or(Ok(()), |at| write!(f, "[{at}]"))?;
                write!(f, " has version {found}, but only version {newest} is supported: {way}")
            }
            Self::Checksum { what, at } => {
                write!(f, "{what}")?;
                at.map_or(Ok(()), |at| write!(f, "[{at}]"))?;
                f.write_str(" is damaged: its bytes do not match its checksum")
            }
            Self::Value { what, at, found, expected } => {
                write!(f, "{what}[{at}] is {found}, expected {expected}")
            }
            Self::NotText { what, at } => write!(f, "{what}[{at}] is not UTF-8"),
            _ => Ok(()),
        }
    }
}

impl core::error::Error for Error {}

impl Error {
    /// Returns a stable word for the variant, for programs in other languages: its name in lower case with
    /// hyphens.
    ///
    /// ```
    /// use condyle::Error;
    ///
    /// assert_eq!(Error::NotFinite { what: "seconds", at: 0 }.code(), "not-finite");
    /// ```
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::TooShort { .. } => "too-short",
            Self::Length { .. } => "length",
            Self::TooMany { .. } => "too-many",
            Self::Index { .. } => "index",
            Self::Skeleton { .. } => "skeleton",
            Self::RestPose { .. } => "rest-pose",
            Self::ParentOrder { .. } => "parent-order",
            Self::NotFinite { .. } => "not-finite",
            Self::OutOfRange { .. } => "out-of-range",
            Self::MarkerOrder { .. } => "marker-order",
            Self::Internal { .. } => "internal",
            Self::NoContacts { .. } => "no-contacts",
            Self::OverBudget { .. } => "over-budget",
            Self::NoKeys { .. } => "no-keys",
            Self::KeyOrder { .. } => "key-order",
            Self::TrackLength { .. } => "track-length",
            Self::NotUnit { .. } => "not-unit",
            Self::NotInvertible { .. } => "not-invertible",
            Self::NoDirection { .. } => "no-direction",
            Self::DuplicateTrack { .. } => "duplicate-track",
            Self::Truncated { .. } => "truncated",
            Self::Magic { .. } => "magic",
            Self::Version { .. } => "version",
            Self::Checksum { .. } => "checksum",
            Self::Value { .. } => "value",
            Self::NotText { .. } => "not-text",
            Self::PairedTwice { .. } => "paired-twice",
            Self::PairParents { .. } => "pair-parents",
            Self::UnknownName { .. } => "unknown-name",
            Self::Environment { .. } => "environment",
        }
    }

    /// Returns `Ok` if `found == needed`.
    #[inline]
    pub fn check_len(what: &'static str, found: usize, needed: usize) -> Result<(), Self> {
        if found == needed { Ok(()) } else { Err(Self::Length { what, found, needed }) }
    }

    /// Returns `Ok` if `found >= needed`.
    #[inline]
    pub fn check_room(what: &'static str, found: usize, needed: usize) -> Result<(), Self> {
        if found >= needed { Ok(()) } else { Err(Self::TooShort { what, found, needed }) }
    }

    /// Returns `Ok` if the number is finite.
    #[inline]
    pub fn check_number(what: &'static str, value: f32) -> Result<(), Self> {
        Self::check_finite(what, &[value], 1)
    }

    /// Returns `Ok` if all numbers are finite. The error reports the first value that is not finite: its
    /// index divided by `width`.
    #[inline]
    pub fn check_finite(what: &'static str, values: &[f32], width: usize) -> Result<(), Self> {
        match values.iter().position(|v| !v.is_finite()) {
            None => Ok(()),
            Some(at) => Err(Self::NotFinite { what, at: at / width }),
        }
    }
}

/// Asserts an invariant that no input can violate. Active in builds with debug assertions, such as fuzzing,
/// and in the unit tests of the calling crate in any build. Compiles to nothing otherwise.
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
    fn a_code_is_the_name_of_the_variant() {
        for error in [
            Error::Length { what: "pose", found: 1, needed: 2 },
            Error::ParentOrder { joint: 1, parent: 2 },
            Error::Magic { what: "a clip" },
        ] {
            let debug = std::format!("{error:?}");
            let name: std::string::String = debug.chars().take_while(char::is_ascii_alphabetic).collect();
            assert_eq!(error.code().replace('-', ""), name.to_lowercase());
        }
    }

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
