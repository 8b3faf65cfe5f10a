//! Bodies made for the tests: one human form with the joints and names of each convention.

use std::collections::BTreeMap;

use condyle::{Joint, Skeleton, Transform};
use condyle_base::math::quats::{conjugate, from_rotation_vector, product, rotate};
use condyle_base::math::vectors::{add, length, scaled, sub};
use condyle_retarget::rig::{Role, Side};
use condyle_testing::Random;

type Vec3 = [f64; 3];
type Quat = [f64; 4];

/// A joint of a made body.
#[derive(Debug, Clone)]
pub(crate) struct Bone {
    pub(crate) name: String,
    pub(crate) parent: Option<usize>,
    pub(crate) at: Vec3,
    pub(crate) role: Option<Role>,
    /// Role of the bone of which the joint takes a part of the twist.
    pub(crate) twist: Option<Role>,
    /// Whether the joint is a bone of the palm.
    pub(crate) palm: bool,
}

/// One convention, with its joints in a T pose that faces +Z.
#[derive(Debug, Clone)]
pub(crate) struct Convention {
    pub(crate) name: String,
    pub(crate) sides: [String; 2],
    pub(crate) bones: Vec<Bone>,
}

/// Reads all conventions.
pub(crate) fn conventions() -> Vec<Convention> {
    let mut all = Vec::new();
    for block in include_str!("conventions.txt").split("\n\n") {
        let lines: Vec<&str> = block.lines().filter(|line| !line.starts_with('#')).collect();
        let Some((head, lines)) = lines.split_first() else { continue };
        let words: Vec<&str> = head.split_whitespace().collect();
        let [name, left, right] = words[..] else { panic!("{head}: a name and two sides") };
        let mut made =
            Convention { name: name.into(), sides: [left.into(), right.into()], bones: Vec::new() };
        made.build(lines);
        all.push(made);
    }
    all
}

const SHOULDER: Vec3 = [0.18, 1.42, 0.0];

impl Convention {
    fn build(&mut self, lines: &[&str]) {
        let mut all: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for line in lines {
            let (word, rest) = line.split_once(' ').expect("a word and names");
            all.entry(word).or_default().push(rest);
        }
        let names = |word: &str| -> Vec<String> {
            all.get(word).map_or(Vec::new(), |rest| rest[0].split(", ").map(Into::into).collect())
        };
        let root = names("root").into_iter().map(|name| self.add(name, None, [0.0; 3], None)).next();
        let hips = self.add(names("hips").remove(0), root, [0.0, 0.95, 0.0], Some(Role::Hips));
        let spine = names("spine");
        let mut above = hips;
        for (at, name) in spine.iter().enumerate() {
            let role = match (at, spine.len() - 1) {
                (0, _) => Some(Role::Spine),
                (1, 1) => Some(Role::Chest),
                (at, last) if at == last => Some(Role::UpperChest),
                (at, last) if at == last / 2 => Some(Role::Chest),
                _ => None,
            };
            let y = 0.95 + 0.4 * (at + 1) as f64 / spine.len() as f64;
            above = self.add(name.clone(), Some(above), [0.0, y, 0.0], role);
        }
        let chest = above;
        let neck = names("neck");
        for (at, name) in neck.iter().enumerate() {
            let y = 1.47 + 0.1 * at as f64 / neck.len() as f64;
            above = self.add(name.clone(), Some(above), [0.0, y, 0.0], (at == 0).then_some(Role::Neck));
        }
        let head = self.add(names("head").remove(0), Some(above), [0.0, 1.58, 0.01], Some(Role::Head));
        let face = [Role::LeftEye, Role::RightEye, Role::Jaw];
        let places = [[0.03, 1.65, 0.09], [-0.03, 1.65, 0.09], [0.0, 1.6, 0.03]];
        for ((name, role), at) in names("face").into_iter().zip(face).zip(places) {
            self.add(name, Some(head), at, Some(role));
        }
        let find =
            |made: &Self, name: &str| made.bones.iter().position(|bone| bone.name == name).expect("a joint");
        let on = |word: &str| all.get(word).and_then(|rest| rest[0].strip_prefix("on "));
        let arms = on("arms").map_or(chest, |name| find(self, name));
        let mut legs = on("legs").map_or(hips, |name| find(self, name));
        for name in names("pelvis") {
            legs = self.add(name, Some(legs), [0.0, 0.95, 0.0], None);
        }
        for side in [Side::Left, Side::Right] {
            self.leg(&names("leg"), side, legs);
            let hand = self.arm(&names("arm"), side, arms);
            if let Some(fingers) = all.get("fingers") {
                self.fingers(fingers[0], all.get("palm").map(|palm| palm[0]), side, hand);
            }
            for piece in all.get("piece").into_iter().flatten() {
                self.piece(piece, side, true);
            }
            for twist in all.get("twist").into_iter().flatten() {
                self.piece(twist, side, false);
            }
        }
        for below in all.get("below").into_iter().flatten() {
            let (parent, names) = below.split_once(": ").expect("a joint and its helpers");
            let sides = if parent.contains('*') { vec![Side::Left, Side::Right] } else { vec![Side::Left] };
            for side in sides {
                let mut above = find(self, &self.sided(parent, side));
                for name in names.split(", ") {
                    let at = add(self.bones[above].at, [0.0, 0.05, 0.03]);
                    above = self.add(self.sided(name, side), Some(above), at, None);
                }
            }
        }
    }

    fn add(&mut self, name: String, parent: Option<usize>, at: Vec3, role: Option<Role>) -> usize {
        self.bones.push(Bone { name, parent, at, role, twist: None, palm: false });
        self.bones.len() - 1
    }

    fn sided(&self, name: &str, side: Side) -> String {
        name.replace('*', &self.sides[usize::from(side == Side::Right)])
    }

    fn limb(&mut self, names: &[String], side: Side, parent: usize, roles: &[(Role, Vec3)]) -> usize {
        let mut above = parent;
        for (name, &(role, at)) in names.iter().zip(roles) {
            above = self.add(self.sided(name, side), Some(above), mirrored(at, side), Some(role.on(side)));
        }
        above
    }

    fn leg(&mut self, names: &[String], side: Side, parent: usize) {
        let roles = [
            (Role::LeftUpperLeg, [0.09, 0.92, 0.0]),
            (Role::LeftLowerLeg, [0.09, 0.5, 0.01]),
            (Role::LeftFoot, [0.09, 0.09, -0.02]),
            (Role::LeftToes, [0.09, 0.02, 0.11]),
        ];
        self.limb(names, side, parent, &roles);
    }

    fn arm(&mut self, names: &[String], side: Side, parent: usize) -> usize {
        let roles = [
            (Role::LeftShoulder, [0.03, 1.42, 0.0]),
            (Role::LeftUpperArm, SHOULDER),
            (Role::LeftLowerArm, [0.45, 1.42, -0.01]),
            (Role::LeftHand, [0.7, 1.42, 0.0]),
        ];
        self.limb(names, side, parent, &roles[4 - names.len()..])
    }

    fn fingers(&mut self, pattern: &str, palm: Option<&str>, side: Side, hand: usize) {
        let parts: Vec<&str> = pattern.split(" | ").collect();
        let [pattern, digits, bones] = parts[..] else { panic!("{pattern}: a pattern, fingers and bones") };
        let bones: Vec<&str> = bones.split(' ').collect();
        let first = [
            Role::LeftThumbMetacarpal,
            Role::LeftIndexProximal,
            Role::LeftMiddleProximal,
            Role::LeftRingProximal,
            Role::LeftLittleProximal,
        ];
        for (digit, name) in digits.split(' ').enumerate() {
            let mut above = hand;
            if let Some((palm, palms)) = palm.and_then(|palm| palm.split_once(" | ")).filter(|_| digit > 0) {
                let name = palms.split(' ').nth(digit - 1).expect("a bone of the palm");
                let z = 0.02 - 0.01 * digit as f64;
                let at = mirrored([0.72, 1.42, z], side);
                above = self.add(self.sided(palm, side).replace('%', name), Some(above), at, None);
                self.bones[above].palm = true;
            }
            // A thumb of two bones has no metacarpal.
            let skip = usize::from(digit == 0 && bones.len() < 3);
            for (bone, text) in bones.iter().enumerate() {
                let length = [0.0, 0.04, 0.065, 0.085][bone];
                let at = match digit {
                    0 => [0.725 + 0.7 * length, 1.415 - 0.1 * length, 0.03 + 0.7 * length],
                    digit => [0.79 + length, 1.42, 0.05 - 0.02 * digit as f64],
                };
                let text = if *text == "-" { "" } else { text };
                let name = self.sided(pattern, side).replace('%', name).replace('@', text);
                let role = (bone < 3).then(|| Role::ALL[first[digit] as usize + bone + skip].on(side));
                above = self.add(name, Some(above), mirrored(at, side), role);
            }
        }
    }

    /// Adds a joint in the middle of a bone: within the chain, or below the bone's joint.
    fn piece(&mut self, piece: &str, side: Side, within: bool) {
        let (role, name) = piece.split_once(' ').expect("a role and a name");
        let role: Role = format!("left{role}").parse().expect("a role");
        let place =
            |made: &Self, role: Role| made.bones.iter().position(|bone| bone.role == Some(role.on(side)));
        let from = place(self, role).expect("a bone");
        let to = place(self, Role::ALL[role as usize + 1]).expect("a bone");
        let middle = scaled(add(self.bones[from].at, self.bones[to].at), 0.5);
        let piece = self.add(self.sided(name, side), Some(from), middle, None);
        self.bones[piece].twist = Some(role.on(side));
        if within {
            self.bones[to].parent = Some(piece);
        }
    }
}

fn mirrored([x, y, z]: Vec3, side: Side) -> Vec3 {
    [if side == Side::Right { -x } else { x }, y, z]
}

/// Rest pose, front, units and axes of a made body.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stance {
    /// Angle by which the arms hang down, in radians.
    pub(crate) arms: f64,
    /// Rotation of the whole body.
    pub(crate) turn: Vec3,
    /// Units per metre.
    pub(crate) units: f64,
    /// Whether joints have random axes, else those of the body.
    pub(crate) axes: bool,
}

impl Convention {
    /// Returns the skeleton, and the joint of each bone.
    pub(crate) fn skeleton(&self, stance: Stance, random: &mut Random) -> (Skeleton, Vec<u16>) {
        let turn = from_rotation_vector(stance.turn);
        let place = |bone: &Bone| {
            let [x, y, z] = bone.at;
            let side = if x < 0.0 { -1.0 } else { 1.0 };
            let hang = self.hang(bone, &stance);
            let shoulder = [side * SHOULDER[0], SHOULDER[1], SHOULDER[2]];
            let at = add(shoulder, rotate(hang, sub([x, y, z], shoulder)));
            scaled(rotate(turn, at), stance.units)
        };
        // Pieces come after the bones that they carry, so the order is made here.
        let mut order: Vec<usize> = Vec::new();
        while order.len() < self.bones.len() {
            let ready = |at: &usize| {
                !order.contains(at) && self.bones[*at].parent.is_none_or(|parent| order.contains(&parent))
            };
            let next: Vec<usize> = (0..self.bones.len()).filter(ready).collect();
            assert!(!next.is_empty(), "{}: a cycle", self.name);
            order.extend(next);
        }
        let mut joints = vec![0; self.bones.len()];
        let mut model: Vec<(Quat, Vec3)> = vec![([0.0, 0.0, 0.0, 1.0], [0.0; 3]); self.bones.len()];
        let mut made = Vec::new();
        for (joint, &at) in order.iter().enumerate() {
            let bone = &self.bones[at];
            joints[at] = joint as u16;
            let axis = random.vector::<3>(3.0).map(f64::from);
            let own = if stance.axes { from_rotation_vector(axis) } else { turn };
            model[at] = (own, place(bone));
            let above = bone.parent.map_or(([0.0, 0.0, 0.0, 1.0], [0.0; 3]), |parent| model[parent]);
            let rotation = product(conjugate(above.0), own).map(|v| v as f32);
            let translation = rotate(conjugate(above.0), sub(model[at].1, above.1)).map(|v| v as f32);
            let rest = Transform { translation, rotation, ..Transform::IDENTITY };
            made.push(Joint::new(bone.name.clone(), bone.parent.map(|parent| joints[parent]), rest));
        }
        (Skeleton::new(made).expect("a skeleton"), joints)
    }

    /// Rotation by which a bone hangs down from a T pose: that of all bones from the shoulder outwards.
    pub(crate) fn hang(&self, bone: &Bone, stance: &Stance) -> Quat {
        let side = if bone.at[0] < 0.0 { -1.0 } else { 1.0 };
        let hangs = bone.at[0].abs() >= SHOULDER[0];
        from_rotation_vector([0.0, 0.0, if hangs { -side * stance.arms } else { 0.0 }])
    }

    /// Whether the feet have toes, which show the front.
    pub(crate) fn has_toes(&self) -> bool {
        self.bones.iter().any(|bone| bone.role == Some(Role::LeftToes))
    }

    /// Returns the length of the longest bone, for helpers of a fitting size.
    pub(crate) fn longest(&self) -> f64 {
        let bone =
            |bone: &Bone| bone.parent.map_or(0.0, |parent| length(sub(bone.at, self.bones[parent].at)));
        self.bones.iter().map(bone).fold(0.0, f64::max)
    }
}
