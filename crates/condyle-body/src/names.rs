//! What the joints of the published models are called: their files have numbers only.

/// Of SMPL, 24; of SMPL-H the first 22 of these, then the hands; of SMPL-X the jaw and the eyes between.
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

/// As the published models number them; plain numbers for any other count.
pub(crate) fn of_joints(count: usize) -> Vec<String> {
    let body = || BODY.into_iter().map(String::from);
    let hands = || {
        let finger = |side: &'static str| {
            FINGERS.into_iter().flat_map(move |name| (1..4).map(move |part| format!("{side}_{name}{part}")))
        };
        finger("left").chain(finger("right"))
    };
    let face = || ["jaw", "left_eye_smplhf", "right_eye_smplhf"].into_iter().map(String::from);
    match count {
        24 => body().chain(["left_hand", "right_hand"].map(String::from)).collect(),
        52 => body().chain(hands()).collect(),
        55 => body().chain(face()).chain(hands()).collect(),
        _ => (0..count).map(|joint| format!("joint_{joint}")).collect(),
    }
}
