//! The file of samples that `cpp/mkdata.cc` writes. The Rust adapters include this file too.

use std::path::Path;

/// Values per joint and frame: translation, rotation, scale.
pub(crate) const WIDTH: usize = 10;
/// Frames per second.
pub(crate) const RATE: f32 = 30.0;

/// Samples of one clip: for each frame and joint, `WIDTH` values.
pub(crate) struct Keys {
    pub(crate) frames: usize,
    pub(crate) values: Vec<f32>,
}

pub(crate) struct Data {
    /// Parent of each joint; negative for a root.
    pub(crate) parents: Vec<i32>,
    /// `WIDTH` values per joint.
    pub(crate) rest: Vec<f32>,
    /// Three rows of four values per joint.
    pub(crate) inverse_bind: Vec<f32>,
    pub(crate) clips: Vec<Keys>,
}

impl Data {
    /// Reads the file.
    ///
    /// # Panics
    /// If the file is missing or incomplete.
    pub(crate) fn read(path: &Path) -> Self {
        let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let (words, _) = bytes.as_chunks::<4>();
        let mut words = words.iter().map(|&word| u32::from_le_bytes(word));
        let words = &mut words;
        let joints = word(words) as usize;
        let parents = (0..joints).map(|_| word(words).cast_signed()).collect();
        let rest = floats(words, joints * WIDTH);
        let inverse_bind = floats(words, joints * 12);
        let clips = (0..word(words)).map(|_| {
            let frames = word(words) as usize;
            Keys { frames, values: floats(words, frames * joints * WIDTH) }
        });
        let clips = clips.collect();
        Self { parents, rest, inverse_bind, clips }
    }

    pub(crate) fn joints(&self) -> usize {
        self.parents.len()
    }

    /// Last time of a clip in seconds.
    pub(crate) fn duration(&self, clip: usize) -> f32 {
        (self.clips[clip].frames - 1) as f32 / RATE
    }
}

fn word(words: &mut impl Iterator<Item = u32>) -> u32 {
    words.next().expect("a complete file")
}

fn floats(words: &mut impl Iterator<Item = u32>, count: usize) -> Vec<f32> {
    (0..count).map(|_| f32::from_bits(word(words))).collect()
}

/// Vertices with four influences each.
pub(crate) struct Mesh {
    pub(crate) joints: Vec<[u16; 4]>,
    pub(crate) weights: Vec<[f32; 4]>,
    pub(crate) positions: Vec<[f32; 3]>,
    pub(crate) normals: Vec<[f32; 3]>,
    pub(crate) tangents: Vec<[f32; 3]>,
}

/// Seeded numbers that look random (splitmix64).
pub(crate) struct Random(pub u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// At least 0, below 1.
    pub(crate) fn unit(&mut self) -> f32 {
        (self.next() >> 40) as f32 / 16_777_216.0
    }

    pub(crate) fn below(&mut self, count: usize) -> usize {
        (self.next() % count as u64) as usize
    }

    /// Unit vector.
    pub(crate) fn direction(&mut self) -> [f32; 3] {
        let v = [(); 3].map(|()| self.unit() - 0.5);
        let length = v.iter().map(|v| v * v).sum::<f32>().sqrt().max(1e-3);
        v.map(|v| v / length)
    }
}

impl Mesh {
    /// Vertices near a path along the joints: the four influences of a vertex are among eight consecutive
    /// joints.
    pub(crate) fn random(count: usize, joints: usize) -> Self {
        let mut random = Random(21);
        let (mut rows, mut weights) = (Vec::new(), Vec::new());
        for vertex in 0..count {
            let first = vertex * (joints - 8) / count;
            let mut row: Vec<u16> = Vec::new();
            while row.len() < 4 {
                let joint = (first + random.below(8)) as u16;
                if !row.contains(&joint) {
                    row.push(joint);
                }
            }
            rows.push([row[0], row[1], row[2], row[3]]);
            let mut shares = [(); 4].map(|()| random.unit() + 0.05);
            shares.sort_by(|a, b| b.total_cmp(a));
            let sum: f32 = shares.iter().sum();
            weights.push(shares.map(|share| share / sum));
        }
        Self {
            joints: rows,
            weights,
            positions: (0..count)
                .map(|_| [random.unit() - 0.5, 2.0 * random.unit(), random.unit() - 0.5])
                .collect(),
            normals: (0..count).map(|_| random.direction()).collect(),
            tangents: (0..count).map(|_| random.direction()).collect(),
        }
    }
}
