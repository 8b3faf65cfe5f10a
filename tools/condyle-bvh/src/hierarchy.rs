//! Reads the first part of a file: the joints, their offsets from their parents, and their channels.

use std::collections::HashSet;

use condyle::Skeleton;

use crate::problem::{Fault, Kind, Problems, quoted};
use crate::scanner::{Scanner, shown};

/// Coordinate axis of a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Axis {
    /// The first axis.
    X,
    /// The second axis: up, in most files.
    Y,
    /// The third axis.
    Z,
}

/// The meaning of a number in a frame.
///
/// ```
/// use condyle_bvh::{Axis, Bvh, Channel};
///
/// let file = b"HIERARCHY ROOT Hips { OFFSET 0 0 0 CHANNELS 2 Yposition Zrotation } MOTION Frames: 0 Frame Time: 1";
/// let bvh = Bvh::from_slice("small", file)?;
/// assert_eq!(bvh.nodes()[0].channels, [Channel::Position(Axis::Y), Channel::Rotation(Axis::Z)]);
/// # Ok::<(), condyle_bvh::Refused>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Channel {
    /// Position along an axis of the parent, in file units.
    Position(Axis),
    /// Rotation about an axis of the joint, in degrees.
    Rotation(Axis),
    /// A channel with an unknown name, which is ignored.
    Other,
}

impl Channel {
    /// Returns the channel with a name like `Xposition`, in upper or lower case.
    fn named(word: &[u8]) -> Option<Self> {
        let (first, kind) = word.split_first()?;
        let axis = match first.to_ascii_uppercase() {
            b'X' => Axis::X,
            b'Y' => Axis::Y,
            b'Z' => Axis::Z,
            _ => return None,
        };
        match kind.to_ascii_lowercase().as_slice() {
            b"position" => Some(Self::Position(axis)),
            b"rotation" => Some(Self::Rotation(axis)),
            _ => None,
        }
    }
}

/// A root, a joint or an end site of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Name of the node. An end site has the name of its joint plus `_End`, unless the file names it.
    pub name: String,
    /// Index of the parent node, which comes earlier in the list; `None` for a root.
    pub parent: Option<usize>,
    /// Offset from the parent in the rest pose, in file units.
    pub offset: [f64; 3],
    /// Meaning of the node's numbers in a frame, in their order.
    pub channels: Vec<Channel>,
    /// Index of the node's first number in a frame.
    pub first_channel: usize,
    /// Whether the node is an end site: the end of a bone that has no further joint.
    pub is_end_site: bool,
}

/// The first word of a file, in upper or lower case.
const FIRST: &str = "HIERARCHY";

/// Returns whether these are the first bytes of a BVH file.
pub(crate) fn recognise(bytes: &[u8]) -> bool {
    Scanner::new(bytes).take(FIRST)
}

/// A joint or end site whose closing brace has not been read yet.
struct Body {
    node: usize,
    /// Whether its OFFSET has been read. `has_channels` is the same for CHANNELS.
    has_offset: bool,
    has_channels: bool,
    /// Position of its opening brace.
    at: usize,
}

/// Reads the file up to the motion. Returns all nodes, parents first.
pub(crate) fn read(scanner: &mut Scanner<'_>, problems: &mut Problems) -> Result<Vec<Node>, Fault> {
    if !scanner.take(FIRST) {
        let (at, found) = scanner.clone().word();
        let what = format!("expected {FIRST}, found {}", shown(found));
        return Err(Fault { at, what });
    }
    let mut reader = Reader { scanner, problems, nodes: Vec::new(), names: HashSet::new(), channels: 0 };
    reader.expect_root()?;
    while reader.scanner.take("ROOT") {
        if !reader.nodes.is_empty() {
            let say =
                || ("the file has more than one ROOT".into(), "each one becomes a root of the skeleton");
            reader.problems.note(Kind::Roots, reader.scanner.at, say);
        }
        reader.root()?;
    }
    Ok(reader.nodes)
}

/// Returns the name of an unnamed end site. Many end sites can belong to one joint with a very long name, so
/// long names are not repeated.
fn end_name(joint: &str) -> String {
    const LONGEST: usize = 256;
    if joint.len() <= LONGEST { format!("{joint}{END}") } else { "End".into() }
}

/// Suffix of a joint's name in the name of its end site.
pub(crate) const END: &str = "_End";

struct Reader<'a, 'b> {
    scanner: &'b mut Scanner<'a>,
    problems: &'b mut Problems,
    nodes: Vec<Node>,
    names: HashSet<&'a [u8]>,
    /// Number of channels of all nodes so far.
    channels: usize,
}

impl<'a> Reader<'a, '_> {
    fn expect_root(&self) -> Result<(), Fault> {
        if self.scanner.clone().take("ROOT") { Ok(()) } else { Err(self.scanner.unexpected("ROOT")) }
    }

    /// Reads a root and all its descendants. Open braces are stored in a list instead of recursion, because
    /// files can nest them to any depth.
    fn root(&mut self) -> Result<(), Fault> {
        let mut open = vec![self.joint(None)?];
        while let Some(body) = open.last_mut() {
            let node = body.node;
            if self.scanner.take("OFFSET") {
                self.offset(body)?;
            } else if self.scanner.take("CHANNELS") {
                self.channels(body)?;
            } else if self.scanner.take("JOINT") {
                open.push(self.joint(Some(node))?);
            } else if self.scanner.take("End") {
                self.end_site(node)?;
            } else if self.scanner.take("}") {
                self.check_offset(body);
                open.pop();
            } else {
                return Err(self.scanner.unexpected("OFFSET, CHANNELS, JOINT, End Site or }"));
            }
        }
        Ok(())
    }

    /// Reads a name and an opening brace.
    fn joint(&mut self, parent: Option<usize>) -> Result<Body, Fault> {
        let (at, name) = self.scanner.name();
        if name.is_empty() {
            self.problems.note(Kind::NoName, at, || ("a joint has no name".into(), "its name stays empty"));
        } else if !self.names.insert(name) {
            let say = || {
                (
                    format!("more than one joint is named {}", quoted(name)),
                    "a search by name returns the first",
                )
            };
            self.problems.note(Kind::SameName, at, say);
        }
        let name = self.text(at, name);
        self.node(at, Node { name, is_end_site: false, ..self.empty(parent) })
    }

    /// Reads the rest of an end site: `Site` or another name, then the braces and their content.
    fn end_site(&mut self, parent: usize) -> Result<(), Fault> {
        let (at, name) = self.scanner.name();
        let own =
            name.get(..4).filter(|word| word.eq_ignore_ascii_case(b"Site")).map_or(name, |_| &name[4..]);
        let name = match own.trim_ascii() {
            [] => end_name(&self.nodes[parent].name),
            own => self.text(at, own),
        };
        let mut body = self.node(at, Node { name, is_end_site: true, ..self.empty(Some(parent)) })?;
        loop {
            if self.scanner.take("OFFSET") {
                self.offset(&mut body)?;
            } else if self.scanner.take("}") {
                self.check_offset(&body);
                return Ok(());
            } else {
                return Err(self.scanner.unexpected("OFFSET or } in an End Site"));
            }
        }
    }

    fn empty(&self, parent: Option<usize>) -> Node {
        let first_channel = self.channels;
        Node {
            name: String::new(),
            parent,
            offset: [0.0; 3],
            channels: Vec::new(),
            first_channel,
            is_end_site: false,
        }
    }

    fn node(&mut self, at: usize, node: Node) -> Result<Body, Fault> {
        self.scanner.expect("{")?;
        if self.nodes.len() == Skeleton::MAX_JOINTS {
            let what = format!("more than {} joints and end sites", Skeleton::MAX_JOINTS);
            return Err(Fault { at, what });
        }
        self.nodes.push(node);
        Ok(Body {
            node: self.nodes.len() - 1,
            has_offset: false,
            has_channels: false,
            at: self.scanner.at - 1,
        })
    }

    fn text(&mut self, at: usize, name: &[u8]) -> String {
        let text = String::from_utf8_lossy(name);
        if let std::borrow::Cow::Owned(_) = text {
            let say = || {
                (
                    format!("the name {} is not valid UTF-8", quoted(name)),
                    "invalid bytes are replaced by \u{fffd}",
                )
            };
            self.problems.note(Kind::NotUtf8, at, say);
        }
        text.into_owned()
    }

    fn offset(&mut self, body: &mut Body) -> Result<(), Fault> {
        let at = self.scanner.at;
        if std::mem::replace(&mut body.has_offset, true) {
            self.problems.warn(Kind::SecondOffset, at, || {
                ("a joint has a second OFFSET".into(), "it replaces the first")
            });
        }
        for axis in 0..3 {
            let value = self.scanner.number("a number after OFFSET")?;
            let sound = value.is_finite();
            if !sound {
                let say = || (format!("an OFFSET is {value}"), "0 is used instead");
                self.problems.warn(Kind::Offset, at, say);
            }
            self.nodes[body.node].offset[axis] = if sound { value } else { 0.0 };
        }
        Ok(())
    }

    fn check_offset(&mut self, body: &Body) {
        if !body.has_offset {
            let name = &self.nodes[body.node].name;
            let name = if name.is_empty() { "a joint".into() } else { quoted(name.as_bytes()) };
            let say = || (format!("{name} has no OFFSET"), "0 0 0 is used instead");
            self.problems.warn(Kind::Offset, body.at, say);
        }
    }

    fn channels(&mut self, body: &mut Body) -> Result<(), Fault> {
        if std::mem::replace(&mut body.has_channels, true) {
            let at = self.scanner.at;
            return Err(Fault {
                at,
                what: "a joint has a second CHANNELS: the meaning of its numbers is ambiguous".into(),
            });
        }
        let (at, word) = self.scanner.clone().word();
        let count: Option<usize> = std::str::from_utf8(word).ok().and_then(|text| text.parse().ok());
        let count = count.ok_or_else(|| self.scanner.unexpected("the number of CHANNELS"))?;
        self.scanner.word();
        // The declared number is not reserved: the names must follow, or the file is refused.
        for found in 0..count {
            let (place, word) = self.scanner.clone().word();
            let named = Channel::named(word);
            let ends = ["", "{", "}", "OFFSET", "CHANNELS", "JOINT", "End", "ROOT", "MOTION"];
            if named.is_none() && ends.iter().any(|end| word.eq_ignore_ascii_case(end.as_bytes())) {
                return Err(Fault {
                    at,
                    what: format!("CHANNELS declares {count}, but {found} names follow"),
                });
            }
            if named.is_none() {
                let say = || (format!("unknown channel {}", quoted(word)), "its numbers are ignored");
                self.problems.warn(Kind::Channel, place, say);
            }
            self.scanner.word();
            self.nodes[body.node].channels.push(named.unwrap_or(Channel::Other));
        }
        if Channel::named(self.scanner.clone().word().1).is_some() {
            return Err(Fault { at, what: format!("CHANNELS declares {count}, but more names follow") });
        }
        self.nodes[body.node].first_channel = self.channels;
        self.channels += count;
        Ok(())
    }
}
