//! The file of joint limits: JSON, with joints by name and angles in degrees.

use std::collections::HashMap;
use std::path::Path;

use condyle::Skeleton;
use condyle_solve::{JointLimit, Limits, Swing};
use serde_json::{Map, Value, json};

use super::repeated;
use crate::failure::Failure;
use crate::text::{did_you_mean, path_text, printable};

/// Reads the joint limits of a skeleton.
pub(crate) fn read(path: &Path, skeleton: &Skeleton) -> Result<Limits, Failure> {
    let file = path_text(path);
    let refused = |why: String| Failure::Data(format!("{file}: {why}"));
    let text = std::fs::read_to_string(path).map_err(|e| refused(format!("cannot be read: {e}")))?;
    parse(&text, skeleton).map_err(refused)
}

/// Reason why a file is rejected: the place, the value found and the value expected.
type Refusal = String;

/// A value and its place in the file.
struct At<'a> {
    place: String,
    value: &'a Value,
}

pub(super) fn parse(text: &str, skeleton: &Skeleton) -> Result<Limits, Refusal> {
    let whole: Value = serde_json::from_str(text).map_err(|e| format!("is not JSON: {e}"))?;
    if let Some(name) = repeated::key(text) {
        return Err(format!("the name {} occurs twice in one object, expected once", printable(&name)));
    }
    let root = At { place: String::new(), value: &whole };
    let joints =
        root.key_of(&["joints"], "joints")?.ok_or_else(|| root.not("an object with the key \"joints\""))?;
    let mut places: HashMap<&str, Vec<u16>> = HashMap::new();
    for (joint, name) in (0..).zip(skeleton.names()) {
        places.entry(name).or_default().push(joint);
    }
    let mut limits = Vec::new();
    for (name, value) in joints.object("an object of limits by the names of joints")? {
        let at = At { place: format!("{}/{}", joints.place, escaped(name)), value };
        let joint = match places.get(name.as_str()).map(Vec::as_slice) {
            Some([joint]) => *joint,
            Some(several) => {
                return Err(format!("{}: {} joints have that name, expected one", at.place, several.len()));
            }
            None => {
                let near = did_you_mean(name, skeleton.names().iter().map(String::as_str));
                return Err(format!("{}: the model has no joint {}{near}", at.place, printable(name)));
            }
        };
        let limit = at.limit(skeleton.rest().get(joint.into()).rotation)?;
        // One limit at a time, so that an error has a place.
        Limits::new(skeleton, [(joint, limit.clone())]).map_err(|e| format!("{}: {e}", at.place))?;
        limits.push((joint, limit));
    }
    Limits::new(skeleton, limits).map_err(|e| e.to_string())
}

impl<'a> At<'a> {
    fn not(&self, expected: &str) -> Refusal {
        let place = if self.place.is_empty() { "the whole file" } else { &self.place };
        let mut found = self.value.to_string();
        if found.chars().count() > 40 {
            found = format!("{}\u{2026}", found.chars().take(40).collect::<String>());
        }
        format!("{place}: expected {expected}, found {}", printable(&found))
    }

    fn object(&self, expected: &str) -> Result<&'a Map<String, Value>, Refusal> {
        self.value.as_object().ok_or_else(|| self.not(expected))
    }

    /// Returns the value of a key; an error if the object has keys outside `known`.
    fn key_of(&self, known: &[&str], key: &str) -> Result<Option<At<'a>>, Refusal> {
        let keys = known.iter().map(|key| format!("\"{key}\"")).collect::<Vec<_>>().join(", ");
        let object = self.object(&format!("an object with the keys {keys}"))?;
        if let Some(other) = object.keys().find(|key| !known.contains(&key.as_str())) {
            let near = did_you_mean(other, known.iter().copied());
            return Err(format!("{}/{}: unknown key, expected {keys}{near}", self.place, escaped(other)));
        }
        let value = object.get(key);
        Ok(value.map(|value| At { place: format!("{}/{key}", self.place), value }))
    }

    fn number(&self) -> Result<f64, Refusal> {
        self.value.as_f64().filter(|n| (*n as f32).is_finite()).ok_or_else(|| self.not("a number"))
    }

    fn numbers<const N: usize>(&self, expected: &str) -> Result<[f64; N], Refusal> {
        let list = self.value.as_array().filter(|list| list.len() == N).ok_or_else(|| self.not(expected))?;
        let mut numbers = [0.0; N];
        for (at, (to, value)) in numbers.iter_mut().zip(list).enumerate() {
            *to = At { place: format!("{}/{at}", self.place), value }.number()?;
        }
        Ok(numbers)
    }

    fn limit(&self, rest: [f32; 4]) -> Result<JointLimit, Refusal> {
        let key = |key| self.key_of(&["axis", "swing", "twist", "reference", "soft"], key);
        let axis = key("axis")?.ok_or_else(|| self.not("an object with the key \"axis\""))?;
        let mut limit = JointLimit::free(axis.numbers("a vector of three numbers")?.map(|v: f64| v as f32));
        limit.reference = match key("reference")? {
            Some(at) => at.numbers("a rotation, four numbers x, y, z, w")?.map(|v: f64| v as f32),
            None => rest,
        };
        if let Some(at) = key("swing")? {
            limit.swing = at.swing()?;
        }
        if let Some(at) = key("twist")? {
            let range = at.numbers("two angles in degrees, the smaller one first")?;
            limit.twist = Some(range.map(radians));
        }
        if let Some(at) = key("soft")? {
            limit.soft = at.number()? as f32;
        }
        Ok(limit)
    }

    fn swing(&self) -> Result<Swing, Refusal> {
        const EXPECTED: &str =
            "\"hinge\", \"free\" or an object with one of the keys \"cone\", \"ellipse\", \"polygon\"";
        match self.value {
            Value::String(word) if word == "hinge" => return Ok(Swing::Hinge),
            Value::String(word) if word == "free" => return Ok(Swing::Free),
            Value::Object(_) => {}
            _ => return Err(self.not(EXPECTED)),
        }
        let key = |key| self.key_of(&["cone", "ellipse", "polygon", "side"], key);
        let side = || -> Result<[f32; 3], Refusal> {
            let at = key("side")?.ok_or_else(|| self.not("an object with the key \"side\""))?;
            Ok(at.numbers("a vector of three numbers")?.map(|v: f64| v as f32))
        };
        match (key("cone")?, key("ellipse")?, key("polygon")?) {
            (Some(at), None, None) if key("side")?.is_none() => Ok(Swing::Cone(radians(at.number()?))),
            (None, Some(at), None) => {
                let angles = at.numbers("two angles in degrees, about the side and across it")?;
                Ok(Swing::Ellipse { side: side()?, angles: angles.map(radians) })
            }
            (None, None, Some(at)) => {
                let list = at
                    .value
                    .as_array()
                    .ok_or_else(|| at.not("a list of swings, two angles in degrees each"))?;
                let corner = |(i, value)| {
                    let at = At { place: format!("{}/{i}", at.place), value };
                    Ok(at.numbers("two angles in degrees")?.map(radians))
                };
                let corners = list.iter().enumerate().map(corner).collect::<Result<_, Refusal>>()?;
                Ok(Swing::Polygon { side: side()?, corners })
            }
            _ => Err(self.not(EXPECTED)),
        }
    }
}

fn radians(degrees: f64) -> f32 {
    degrees.to_radians() as f32
}

/// Escapes a key for a JSON pointer.
fn escaped(key: &str) -> String {
    printable(&key.replace('~', "~0").replace('/', "~1"))
}

/// Returns the JSON that [`read`] reads, and the number of joints left out because others have the same name.
pub(crate) fn to_json(limits: &Limits, skeleton: &Skeleton) -> (Value, usize) {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    skeleton.names().iter().for_each(|name| *counts.entry(name).or_default() += 1);
    let (mut joints, mut left_out) = (Map::new(), 0);
    for (joint, name) in (0..).zip(skeleton.names()) {
        let Some(limit) = limits.get(joint) else { continue };
        if counts[name.as_str()] > 1 {
            left_out += 1;
            continue;
        }
        joints.insert(name.clone(), of_limit(limit));
    }
    (json!({ "joints": joints }), left_out)
}

fn of_limit(limit: &JointLimit) -> Value {
    let degrees = |v: f32| f64::from(v).to_degrees();
    let swing = match &limit.swing {
        Swing::Hinge => json!("hinge"),
        Swing::Cone(angle) => json!({ "cone": degrees(*angle) }),
        Swing::Ellipse { side, angles } => {
            json!({ "ellipse": angles.map(degrees), "side": side.map(f64::from) })
        }
        Swing::Polygon { side, corners } => {
            let corners: Vec<_> = corners.iter().map(|corner| corner.map(degrees)).collect();
            json!({ "polygon": corners, "side": side.map(f64::from) })
        }
        _ => json!("free"),
    };
    let mut value = json!({
        "axis": limit.axis.map(f64::from),
        "swing": swing,
        "reference": limit.reference.map(f64::from),
    });
    if let Some(range) = limit.twist {
        value["twist"] = json!(range.map(degrees));
    }
    if limit.soft > 0.0 {
        value["soft"] = json!(f64::from(limit.soft));
    }
    value
}

#[cfg(test)]
mod tests {
    use condyle::{Joint, Transform};

    use super::*;

    fn skeleton() -> Skeleton {
        let turned = Transform { rotation: [0.0, 0.6, 0.0, 0.8], ..Transform::IDENTITY };
        let joint = |name, parent| Joint::new(name, parent, turned);
        let joints =
            [joint("hips", None), joint("arm", Some(0)), joint("toe", Some(1)), joint("toe", Some(1))];
        Skeleton::new(joints).expect("a skeleton")
    }

    #[test]
    fn what_is_written_is_read_to_the_last_bit() {
        let skeleton = skeleton();
        let side = [0.1, 0.2, 0.3];
        let corners = vec![[0.5, 0.123_456_79], [-0.1, 0.4], [-0.3, -0.7]];
        for (at, swing) in [
            Swing::Free,
            Swing::Hinge,
            Swing::Cone(1.234_567_9),
            Swing::Ellipse { side, angles: [0.3, 1.7] },
            Swing::Polygon { side, corners },
        ]
        .into_iter()
        .enumerate()
        {
            let twist = (at > 1).then_some([-0.987_654_3, 1.1]);
            let limit =
                JointLimit { swing, twist, soft: 0.1 * at as f32, ..JointLimit::free([0.0, 1.0, 0.1]) };
            let limits = Limits::new(&skeleton, [(1, limit.clone()), (2, limit)]).expect("limits");
            let (json, left_out) = to_json(&limits, &skeleton);
            assert_eq!(left_out, 1);
            let back = parse(&json.to_string(), &skeleton).expect("what was written");
            assert_eq!((back.get(1), back.get(2)), (limits.get(1), None), "{json}");
        }
    }

    #[test]
    fn limits_may_be_written_by_hand() {
        let text =
            r#"{ "joints": { "arm": { "axis": [0, 1, 0], "swing": { "cone": 40 }, "twist": [-30, 60] } } }"#;
        let limits = parse(text, &skeleton()).expect("limits");
        let arm = limits.get(1).expect("an arm");
        // The reference defaults to the rest pose.
        assert_eq!(arm.reference, [0.0, 0.6, 0.0, 0.8]);
        assert_eq!((&arm.swing, arm.soft), (&Swing::Cone(40_f32.to_radians()), 0.0));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        let arm = |text: &str| format!("{{ \"joints\": {{ \"arm\": {text} }} }}");
        for (text, words) in [
            ("{".into(), &["is not JSON", "line 1"][..]),
            (
                r#"{ "joints": { "arm": { "axis": [0, 1, 0] }, "arm": { "axis": [1, 0, 0] } } }"#.into(),
                &["arm", "twice"],
            ),
            ("[1]".into(), &["the whole file", "\"joints\"", "[1]"]),
            (r#"{ "joint": {} }"#.into(), &["/joint", "\"joints\"", "mean"]),
            (r#"{ "joints": { "arn": {} } }"#.into(), &["/joints/arn", "no joint arn", "arm"]),
            (r#"{ "joints": { "toe": {} } }"#.into(), &["/joints/toe", "2 joints"]),
            (arm("{}"), &["/joints/arm", "\"axis\""]),
            (arm(r#"{ "axis": [0, 1] }"#), &["/joints/arm/axis", "three numbers", "[0,1]"]),
            (arm(r#"{ "axis": [0, 1, "x"] }"#), &["/joints/arm/axis/2", "a number"]),
            (arm(r#"{ "axis": [0, 1, 1e300] }"#), &["/joints/arm/axis/2", "a number"]),
            (arm(r#"{ "axis": [0, 0, 0] }"#), &["/joints/arm", "axis"]),
            (arm(r#"{ "axis": [0, 1, 0], "swings": 1 }"#), &["/joints/arm/swings", "\"swing\"", "mean"]),
            (
                arm(r#"{ "axis": [0, 1, 0], "swing": "cone" }"#),
                &["/joints/arm/swing", "\"hinge\"", "\"cone\""],
            ),
            (
                arm(r#"{ "axis": [0, 1, 0], "swing": { "cone": 4, "ellipse": [1, 2] } }"#),
                &["/joints/arm/swing", "one of"],
            ),
            (
                arm(r#"{ "axis": [0, 1, 0], "swing": { "ellipse": [1, 2] } }"#),
                &["/joints/arm/swing", "\"side\""],
            ),
            (
                arm(r#"{ "axis": [0, 1, 0], "swing": { "polygon": [[1, 2], [1]], "side": [1, 0, 0] } }"#),
                &["/joints/arm/swing/polygon/1", "two angles"],
            ),
            (arm(r#"{ "axis": [0, 1, 0], "swing": { "cone": 400 } }"#), &["/joints/arm", "cone"]),
            (arm(r#"{ "axis": [0, 1, 0], "twist": [30, -30] }"#), &["/joints/arm", "twist"]),
            (arm(r#"{ "axis": [0, 1, 0], "soft": 2 }"#), &["/joints/arm", "from 0 to 1"]),
        ] {
            let why = parse(&text, &skeleton()).expect_err(&text);
            assert!(words.iter().all(|word| why.contains(word)), "{text}: {why}");
        }
    }
}
