//! Requests on the command line: `JOINT=x,y,z[@TIME]` and similar.

use condyle::{Quat, Skeleton};

use crate::failure::Failure;
use crate::options::quantity::{parse_point, parse_seconds};
use crate::text::{did_you_mean, printable};

/// A request for a joint, at a moment or throughout.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Asked<V> {
    /// Name or index of the joint.
    pub joint: String,
    /// A position or an offset in metres, or a rotation.
    pub value: V,
    /// Time in seconds.
    pub time: Option<f64>,
}

/// Parses `JOINT=x,y,z[@TIME]`, in metres or with units.
pub(crate) fn parse_place(text: &str) -> Result<Asked<[f64; 3]>, String> {
    parse(text, "a goal is JOINT=x,y,z or JOINT=x,y,z@SECONDS, such as hand=0.3,1.2m,25cm@0.5", |value| {
        parse_point(value).ok()
    })
}

/// Parses `JOINT=x,y,z,w[@TIME]`, a quaternion of any length except 0; `JOINT=clip` requests the rotation of
/// the clip.
pub(crate) fn parse_orientation(text: &str) -> Result<Asked<Option<Quat>>, String> {
    let form = "an orientation is a quaternion, JOINT=x,y,z,w or JOINT=x,y,z,w@SECONDS, or it is JOINT=clip";
    parse(text, form, |value| {
        if value == "clip" {
            return Some(None);
        }
        let numbers =
            parts::<4>(value)?.map(|part| part.trim().parse::<f64>().ok().filter(|v| v.abs() < 1e9));
        let [x, y, z, w] = numbers;
        let quat = [x?, y?, z?, w?];
        let length = quat.iter().map(|v| v * v).sum::<f64>().sqrt();
        (length > 1e-9).then(|| Some(quat.map(|v| (v / length) as f32)))
    })
    .and_then(|asked| match asked {
        Asked { value: None, time: Some(_), .. } => {
            Err("JOINT=clip holds throughout and takes no time".into())
        }
        asked => Ok(asked),
    })
}

fn parts<const N: usize>(value: &str) -> Option<[&str; N]> {
    value.split(',').collect::<Vec<_>>().try_into().ok()
}

/// Splits at the last `=`, because names may contain `=`, `@` and commas.
fn parse<V>(text: &str, form: &str, value: impl Fn(&str) -> Option<V>) -> Result<Asked<V>, String> {
    let (joint, rest) = text.rsplit_once('=').filter(|(joint, _)| !joint.is_empty()).ok_or(form)?;
    let (numbers, time) = match rest.split_once('@') {
        // Rounded like the key that stores it.
        Some((numbers, time)) => (numbers, Some(f64::from(parse_seconds(time)? as f32))),
        None => (rest, None),
    };
    Ok(Asked { joint: joint.into(), value: value(numbers).ok_or(form)?, time })
}

/// Returns the name of a joint as `condyle info` prints it; a joint without a name is named after its node.
pub(crate) fn joint_name(skeleton: &Skeleton, joint: u16) -> String {
    match (skeleton.names()[usize::from(joint)].as_str(), skeleton.node(joint)) {
        ("", Some(node)) => format!("node {node}"),
        (name, _) => printable(name),
    }
}

/// Finds a joint by its exact name, else by its index, else by its name in any case. A name that several
/// joints share is an error. `node N` finds a joint without a name.
pub(crate) fn find_joint(file: &str, skeleton: &Skeleton, wanted: &str) -> Result<u16, Failure> {
    let names = skeleton.names();
    let of = |is: &dyn Fn(&str) -> bool| -> Vec<u16> {
        (0..).zip(names).filter(|(_, name)| is(name)).map(|(joint, _)| joint).collect()
    };
    let exact = of(&|name| name == wanted);
    let index = || wanted.parse().ok().filter(|&joint: &u16| usize::from(joint) < names.len());
    let lower = wanted.to_lowercase();
    let file = printable(file);
    match exact[..] {
        [joint] => return Ok(joint),
        [] => {}
        [..] => {
            return Err(Failure::Usage(format!(
                "{file} has several joints {wanted:?}; give the index of one of them: {}",
                exact.iter().map(u16::to_string).collect::<Vec<_>>().join(", ")
            )));
        }
    }
    let node = || skeleton.joint_by_node(wanted.strip_prefix("node ")?.parse().ok()?);
    if let Some(joint) = index().or_else(node) {
        return Ok(joint);
    }
    match of(&|name| name.to_lowercase() == lower)[..] {
        [joint] => Ok(joint),
        _ => Err(Failure::Usage(format!(
            "{file} has no joint {wanted:?}{}; `condyle info` lists its joints",
            did_you_mean(wanted, names.iter().map(String::as_str))
        ))),
    }
}

#[cfg(test)]
mod tests {
    use condyle::{Joint, Transform};

    use super::*;

    #[test]
    fn places_have_units_and_times() {
        let place = |joint: &str, value, time| Ok(Asked { joint: joint.into(), value, time });
        assert_eq!(parse_place("hand=0.3,-1.2,0"), place("hand", [0.3, -1.2, 0.0], None));
        assert_eq!(parse_place("a=b@c,d=1m,20cm,-5 mm@0.5"), place("a=b@c,d", [1.0, 0.2, -0.005], Some(0.5)));
        assert_eq!(parse_place("7=0,0,0@-1"), place("7", [0.0; 3], Some(-1.0)));
        for wrong in [
            "hand",
            "hand=",
            "=1,2,3",
            "hand=1,2",
            "hand=1,2,3,4",
            "hand=1,2,x",
            "hand=1,2,nan",
            "hand=1,2,1e99",
        ] {
            assert!(parse_place(wrong).is_err_and(|why| why.contains("JOINT=x,y,z")), "{wrong}");
        }
        for wrong in ["hand=1,2,3@", "hand=1,2,3@nan", "hand=1,2,3@1@2"] {
            assert!(parse_place(wrong).is_err_and(|why| why.contains("a time is")), "{wrong}");
        }
    }

    #[test]
    fn orientations_are_brought_to_unit_length() {
        let turned = parse_orientation("head=0,3,0,4@2").expect("a quaternion");
        assert_eq!((turned.value, turned.time), (Some([0.0, 0.6, 0.0, 0.8]), Some(2.0)));
        assert_eq!(parse_orientation("head=clip").map(|asked| asked.value), Ok(None));
        for wrong in ["head=clip@1", "head=0,0,0,0", "head=1,0,0", "head=inf,0,0,1", "head"] {
            assert!(parse_orientation(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn joints_have_names_and_indices() {
        let joint = |name: &str| Joint::new(name, None, Transform::IDENTITY);
        let skeleton =
            Skeleton::new(["Hips", "hand", "Hand", "twin", "twin", "0"].map(joint)).expect("roots");
        let find = |wanted: &str| find_joint("a.glb", &skeleton, wanted).map_err(|e| e.to_string());
        assert_eq!(["Hips", "hips", "hand", "Hand", "4", "0"].map(find), [0, 0, 1, 2, 4, 5].map(Ok));
        assert!(find("twin").is_err_and(|why| why.contains("several") && why.contains("3, 4")));
        assert!(find("HAND").is_err_and(|why| why.contains("no joint")));
        assert!(find("Hisp").is_err_and(|why| why.contains("did you mean `Hips`?")));
        assert!(find("6").is_err() && find("").is_err());
    }
}
