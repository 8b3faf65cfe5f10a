//! Joint names of the published models and of motions in their layouts. The files hold only numbers.

/// The first 22 joints of every model. They are followed by two hands in SMPL, by 30 finger joints in SMPL-H,
/// and by a face and the fingers in SMPL-X.
const BODY: [&str; 22] = [
    "pelvis",
    "left_hip",
    "right_hip",
    "spine1",
    "left_knee",
    "right_knee",
    "spine2",
    "left_ankle",
    "right_ankle",
    "spine3",
    "left_foot",
    "right_foot",
    "neck",
    "left_collar",
    "right_collar",
    "head",
    "left_shoulder",
    "right_shoulder",
    "left_elbow",
    "right_elbow",
    "left_wrist",
    "right_wrist",
];

const FINGERS: [&str; 5] = ["index", "middle", "pinky", "ring", "thumb"];

fn text(names: &[&str]) -> Vec<String> {
    names.iter().copied().map(String::from).collect()
}

/// Returns the names of the 22 joints that all published models share.
pub(crate) fn body() -> Vec<String> {
    text(&BODY)
}

/// Returns the names of the 24 joints of SMPL.
pub(crate) fn smpl() -> Vec<String> {
    [&body()[..], &text(&["left_hand", "right_hand"])].concat()
}

/// Returns the names of the 30 joints of both hands, left hand first.
pub(crate) fn hands() -> Vec<String> {
    let finger = |side: &'static str| {
        FINGERS.into_iter().flat_map(move |name| (1..4).map(move |part| format!("{side}_{name}{part}")))
    };
    finger("left").chain(finger("right")).collect()
}

/// Returns the names of the jaw, left eye and right eye of SMPL-X.
pub(crate) fn face() -> Vec<String> {
    text(&["jaw", "left_eye_smplhf", "right_eye_smplhf"])
}

/// Returns the joint names of a body model with `count` joints; numbered names if no published model has this
/// count.
pub(crate) fn of_model(count: usize) -> Vec<String> {
    match count {
        22 | 24 | 25 | 52 | 55 => of_motion(count).unwrap_or_default(),
        _ => (0..count).map(|joint| format!("joint_{joint}")).collect(),
    }
}

/// Returns the joint names of a motion with `count` rotations per frame, in the order of AMASS and the
/// published models. Root, hands and face can be missing. `None` for any other count.
pub(crate) fn of_motion(count: usize) -> Option<Vec<String>> {
    let whole = match count {
        21 | 22 => body(),
        23 | 24 => smpl(),
        25 => [body(), face()].concat(),
        51 | 52 => [body(), hands()].concat(),
        54 | 55 => [body(), face(), hands()].concat(),
        _ => return None,
    };
    let without_root = whole.len() - count;
    Some(whole[without_root..].to_vec())
}

/// The counts accepted by [`of_motion`], for messages.
pub(crate) const KNOWN: &str = "21, 22, 23, 24, 25, 51, 52, 54 or 55";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts_are_those_of_the_published_models() {
        for count in 0..400 {
            let names = of_motion(count);
            let known = KNOWN.replace(" or", ",").split(", ").any(|known| known == count.to_string());
            assert_eq!(names.is_some(), known, "{count}");
            assert_eq!(names.map_or(count, |names| names.len()), count);
            assert_eq!(of_model(count).len(), count);
        }
        let at = |count: usize, joint: usize| of_motion(count).expect("a known joint count")[joint].clone();
        assert_eq!(
            [at(21, 0), at(22, 0), at(23, 0), at(24, 0)],
            ["left_hip", "pelvis", "left_hip", "pelvis"]
        );
        assert_eq!([at(22, 21), at(23, 22), at(25, 22)], ["right_wrist", "right_hand", "jaw"]);
        assert_eq!([at(51, 21), at(52, 22), at(54, 21)], ["left_index1", "left_index1", "jaw"]);
        assert_eq!([at(52, 51), at(54, 53), at(55, 54)], ["right_thumb3"; 3]);
        assert_eq!(of_model(22), of_motion(22).expect("a known joint count"));
        assert_eq!(of_model(21)[0], "joint_0");
    }
}
