//! Maps of joints as text: one role per line.

use core::fmt;

use condyle::Skeleton;

use super::humanoid::Humanoid;
use super::role::Role;

/// Reads corrections: lines of `role = joint name`, and `role = -` for a role that no joint has.
///
/// `#` begins a comment at the start of a line or after white space. A joint may be `@` and its index, for
/// names that several joints share, and for names with `#`.
///
/// ```
/// use condyle::example;
/// use condyle_retarget::rig::{Role, read_map};
///
/// let map = read_map("hips = hips  # the pelvis\nleftToes = -\n\nhead = @2\n", &example::skeleton())?;
/// assert_eq!(map, [(Role::Hips, Some(0)), (Role::LeftToes, None), (Role::Head, Some(example::HEAD))]);
/// let error = read_map("hips = Hips\nhead = skull", &example::skeleton()).unwrap_err();
/// assert_eq!(error.to_string(), r#"line 1: the skeleton has no joint "Hips"; joint "hips" has a similar name"#);
/// # Ok::<(), condyle_retarget::rig::MapError>(())
/// ```
///
/// # Errors
/// [`MapError`] with the first line that has another form, an unknown role, a role that comes twice, or a
/// joint that does not exist.
pub fn read_map(text: &str, skeleton: &Skeleton) -> Result<Vec<(Role, Option<u16>)>, MapError> {
    let mut map: Vec<(Role, Option<u16>)> = Vec::new();
    for (at, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        let error = |what: String| MapError { line: at + 1, what };
        let line = without_comment(line).trim();
        if line.is_empty() {
            continue;
        }
        let form = || error(format!("found {}, expected: role = joint name", short(line)));
        let (role, joint) = line.split_once('=').ok_or_else(form)?;
        let role: Role = role.trim().parse().map_err(|unknown| error(format!("{unknown}")))?;
        if map.iter().any(|(it, _)| *it == role) {
            return Err(error(format!("{role} has a line above already")));
        }
        let joint = match joint.trim() {
            "" => return Err(error(format!("{role} has no joint; write - for none"))),
            "-" => None,
            name => Some(joint_of(name, skeleton).map_err(error)?),
        };
        if let Some((other, _)) = map.iter().find(|(_, it)| joint.is_some() && *it == joint) {
            return Err(error(format!("{other} has the same joint")));
        }
        map.push((role, joint));
    }
    Ok(map)
}

/// Writes a map in the form that [`read_map`] reads.
///
/// Roles without a joint are written as `-`, so that reading the text gives the same map.
#[must_use]
pub fn write_map(map: &Humanoid, skeleton: &Skeleton) -> String {
    let mut text = String::from("# role = joint name; - for none\n");
    for role in Role::ALL {
        let joint = map.joint(role).map_or_else(|| "-".into(), |joint| name_of(joint, skeleton));
        text += &format!("{role} = {joint}\n");
    }
    text
}

/// A line of a map that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MapError {
    /// Line, from 1.
    pub line: usize,
    /// Problem, as a sentence without its end.
    pub what: String,
}

impl fmt::Display for MapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.what)
    }
}

impl core::error::Error for MapError {}

fn without_comment(line: &str) -> &str {
    let begins = |&(at, _): &(usize, &str)| line[..at].chars().next_back().is_none_or(char::is_whitespace);
    line.match_indices('#').find(begins).map_or(line, |(at, _)| &line[..at])
}

fn joint_of(name: &str, skeleton: &Skeleton) -> Result<u16, String> {
    let count = skeleton.joint_count();
    if let Some(index) = name.strip_prefix('@').and_then(|index| index.parse::<usize>().ok()) {
        let exists = Some(index).filter(|&index| index < count);
        return exists
            .map(|index| index as u16)
            .ok_or_else(|| format!("joint @{index} of {count} does not exist"));
    }
    let named = |same: &dyn Fn(&str) -> bool| -> Vec<usize> {
        (0..count).filter(|&at| same(&skeleton.names()[at])).collect()
    };
    let all = named(&|it| it.trim() == name);
    match all[..] {
        [joint] => Ok(joint as u16),
        [] => {
            let lower = name.to_lowercase();
            let similar = named(&|it| it.to_lowercase().contains(&lower));
            let hint = similar.first().map_or_else(String::new, |&joint| {
                format!("; joint {} has a similar name", short(&skeleton.names()[joint]))
            });
            Err(format!("the skeleton has no joint {}{hint}", short(name)))
        }
        [first, ..] => {
            Err(format!("{} joints have the name {}; write @{first} for the first", all.len(), short(name)))
        }
    }
}

/// Returns a joint's name, or its index if the name is not readable as such.
fn name_of(joint: u16, skeleton: &Skeleton) -> String {
    let name = &skeleton.names()[usize::from(joint)];
    let plain = !name.is_empty() && !name.starts_with(['@', '-']) && !name.contains(['#', '\n', '\r']);
    let whole = name.trim() == name;
    let alone = skeleton.names().iter().filter(|it| *it == name).count() == 1;
    if plain && whole && alone { name.clone() } else { format!("@{joint}") }
}

/// Returns a text in quotes, cut after 60 characters.
fn short(text: &str) -> String {
    let cut = text.char_indices().nth(60).map_or(text, |(end, _)| &text[..end]);
    format!("{cut:?}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rig::{Hints, find};
    use condyle::{Joint, Transform, example};

    #[test]
    fn a_written_map_reads_as_the_same() {
        let skeleton = example::skeleton();
        let map = find(&skeleton, &Hints::default()).unwrap().humanoid;
        let given = read_map(&write_map(&map, &skeleton), &skeleton).unwrap();
        assert_eq!(given.len(), Role::ALL.len());
        let again = find(&skeleton, &Hints { given, ..Hints::default() }).unwrap().humanoid;
        assert_eq!(again, map);
    }

    #[test]
    fn joints_with_odd_names_are_written_by_index() {
        let names = ["twin", "twin", "# 1", "-", "@7", "", " end"];
        let joint = |(at, name): (usize, &str)| {
            Joint::new(name, at.checked_sub(1).map(|at| at as u16), Transform::IDENTITY)
        };
        let skeleton = Skeleton::new(names.into_iter().enumerate().map(joint)).unwrap();
        for joint in 0..names.len() as u16 {
            assert_eq!(name_of(joint, &skeleton), format!("@{joint}"));
            let line = format!("hips = {}", name_of(joint, &skeleton));
            assert_eq!(read_map(&line, &skeleton), Ok(vec![(Role::Hips, Some(joint))]));
        }
    }

    #[test]
    fn errors_have_the_line_and_the_expected_form() {
        let skeleton = example::skeleton();
        let cases = [
            ("hips", "line 1: found \"hips\", expected: role = joint name"),
            (
                "\n# x\nhip = hips",
                "line 3: \"hip\" is no humanoid bone of VRM 1.0, such as hips or leftUpperArm",
            ),
            ("hips = hips\nhips = -", "line 2: hips has a line above already"),
            ("hips = hips\nspine = hips", "line 2: hips has the same joint"),
            ("hips =  # none", "line 1: hips has no joint; write - for none"),
            ("hips = @99", "line 1: joint @99 of 15 does not exist"),
        ];
        for (text, message) in cases {
            assert_eq!(read_map(text, &skeleton).unwrap_err().to_string(), message);
        }
    }
}
