//! Encodes mode 1: triangle lists by shared edges. The decoder is in `indices`.

use super::indices::Recent;
use condyle_base::order;

/// Entries of the lookup table at the end of a stream; the last two of its 16 bytes must be zero.
const TABLE: usize = 14;
/// Half of a pair: the vertex follows as a number.
const EXPLICIT: u8 = 15;

/// Encodes lists of triangles as one stream, in their order.
///
/// Triangles can be rotated: `[a, b, c]` can be decoded as `[b, c, a]`. In a list that numbers its vertices
/// in the order of their first use, most triangles take one byte.
pub(crate) fn triangles<'a>(lists: impl IntoIterator<Item = &'a [[u32; 3]]>) -> Vec<u8> {
    let mut encoder = Encoder::default();
    for list in lists {
        for (at, &triangle) in list.iter().enumerate() {
            encoder.triangle(triangle, at == 0);
        }
    }
    encoder.finish()
}

/// The state of the decoder, and the codes so far.
#[derive(Default)]
struct Encoder {
    edges: Recent<(u32, u32)>,
    vertices: Recent<u32>,
    next: u32,
    last: u32,
    codes: Vec<Code>,
    data: Vec<u8>,
}

/// The first byte of a triangle. Its other bytes begin at `data`.
struct Code {
    byte: Byte,
    data: usize,
}

enum Byte {
    Known(u8),
    /// The pair of a triangle whose first vertex is the next one. It is in the lookup table, or follows.
    Pair(u8),
}

/// A way to encode a vertex after an edge: the code, and the number that follows it.
struct Third {
    nibble: u8,
    explicit: Option<u32>,
}

impl Encoder {
    fn triangle(&mut self, triangle: [u32; 3], is_first: bool) {
        let [a, b, c] = triangle;
        let rotations = [[a, b, c], [b, c, a], [c, a, b]];
        if is_first && self.next != 0 && rotations.contains(&[0, 1, 2]) {
            // A pair of zeros restarts the numbering of the vertices.
            self.push(Byte::Known(0xfe));
            self.data.push(0);
            self.next = 3;
            return self.remember_free([0, 1, 2], [true; 3]);
        }
        let of_edge = |rotation: &[u32; 3]| {
            let edge =
                self.edges.position(|&edge| edge == (rotation[0], rotation[1])).filter(|&at| at < 15)?;
            Some((*rotation, edge, self.third(rotation[2])))
        };
        let found = rotations.iter().filter_map(of_edge);
        match found.min_by_key(|(_, edge, third)| (third.explicit.map_or(0, varint_bytes), *edge)) {
            Some((rotation, edge, third)) => self.fan(rotation, edge, &third),
            None => self.free(rotations),
        }
    }

    fn push(&mut self, byte: Byte) {
        self.codes.push(Code { byte, data: self.data.len() });
    }

    /// Returns the shortest code of a vertex after an edge.
    fn third(&self, vertex: u32) -> Third {
        let recent = self.vertices.position(|&v| v == vertex).filter(|at| (1..=12).contains(at));
        let nibble = match recent {
            _ if vertex == self.next => 0,
            Some(at) => at,
            None if vertex == self.last.wrapping_sub(1) => 13,
            None if vertex == self.last.wrapping_add(1) => 14,
            None => EXPLICIT,
        };
        let explicit = (nibble == EXPLICIT).then(|| zigzag(vertex.wrapping_sub(self.last)));
        Third { nibble, explicit }
    }

    fn fan(&mut self, [a, b, c]: [u32; 3], edge: u8, third: &Third) {
        self.push(Byte::Known(edge << 4 | third.nibble));
        match third.nibble {
            0 => self.next = self.next.wrapping_add(1),
            1..=12 => {}
            _ => self.last = c,
        }
        if let Some(number) = third.explicit {
            write_varint(number, &mut self.data);
        }
        self.edges.push((c, b));
        self.edges.push((a, c));
        if !(1..=12).contains(&third.nibble) {
            self.vertices.push(c);
        }
    }

    /// Encodes a triangle without a recent edge, by the rotation with the fewest bytes.
    fn free(&mut self, rotations: [[u32; 3]; 3]) {
        let mut best = self.form(rotations[0]);
        for other in rotations[1..].iter().map(|&rotation| self.form(rotation)) {
            if other.bytes() < best.bytes() {
                best = other;
            }
        }
        let Free { triangle: [a, b, c], new, pair, numbers, next, last } = best;
        let nexts = [new, pair >> 4 == 0, pair & 15 == 0];
        let is_added = [true, matches!(pair >> 4, 0 | EXPLICIT), matches!(pair & 15, 0 | EXPLICIT)];
        if nexts[0] && pair >> 4 != EXPLICIT && pair & 15 != EXPLICIT {
            self.push(Byte::Pair(pair));
        } else {
            self.push(Byte::Known(if new { 0xfe } else { 0xff }));
            self.data.push(pair);
            numbers.iter().flatten().for_each(|&number| write_varint(number, &mut self.data));
        }
        (self.next, self.last) = (next, last);
        self.remember_free([a, b, c], is_added);
    }

    fn remember_free(&mut self, [a, b, c]: [u32; 3], is_added: [bool; 3]) {
        for edge in [(b, a), (c, b), (a, c)] {
            self.edges.push(edge);
        }
        for (vertex, _) in [a, b, c].into_iter().zip(is_added).filter(|(_, is_added)| *is_added) {
            self.vertices.push(vertex);
        }
    }

    /// Returns the code of a triangle in this rotation.
    fn form(&self, triangle: [u32; 3]) -> Free {
        let (mut next, mut last) = (self.next, self.last);
        let mut numbers = [None; 3];
        let mut explicit = |at: usize, vertex: u32, last: &mut u32| {
            numbers[at] = Some(zigzag(vertex.wrapping_sub(*last)));
            *last = vertex;
            EXPLICIT
        };
        let new = triangle[0] == next;
        if new {
            next = next.wrapping_add(1);
        } else {
            explicit(0, triangle[0], &mut last);
        }
        let mut pair = 0;
        for (at, &vertex) in triangle.iter().enumerate().skip(1) {
            let recent = self.vertices.position(|&v| v == vertex).filter(|&at| at < 14);
            // After an explicit first vertex, a pair of zeros would restart the numbering.
            let restarts = at == 2 && !new && pair == 0;
            let nibble = match recent {
                Some(recent) => recent + 1,
                None if vertex == next && !restarts => {
                    next = next.wrapping_add(1);
                    0
                }
                None => explicit(at, vertex, &mut last),
            };
            pair = pair << 4 | nibble;
        }
        Free { triangle, new, pair, numbers, next, last }
    }

    /// Returns the stream. The lookup table has the most frequent pairs, and always the pair of zeros, which
    /// would restart the numbering if it followed as a byte.
    fn finish(self) -> Vec<u8> {
        let mut counts = [0_usize; 256];
        for code in &self.codes {
            if let Byte::Pair(pair) = code.byte {
                counts[usize::from(pair)] += 1;
            }
        }
        let mut frequent: Vec<u8> = (1..=255).filter(|&pair| counts[usize::from(pair)] > 0).collect();
        order::sort_by(&mut frequent, |&pair| u64::MAX - counts[usize::from(pair)] as u64);
        let mut table = [0; 16];
        table[1..TABLE].iter_mut().zip(&frequent).for_each(|(entry, &pair)| *entry = pair);

        let mut out = vec![0xe1];
        let mut tail = Vec::with_capacity(self.data.len());
        for (at, code) in self.codes.iter().enumerate() {
            let end = self.codes.get(at + 1).map_or(self.data.len(), |code| code.data);
            match code.byte {
                Byte::Known(byte) => out.push(byte),
                Byte::Pair(pair) => match table[..TABLE].iter().position(|&entry| entry == pair) {
                    Some(at) => out.push(0xf0 | at as u8),
                    None => {
                        out.push(0xfe);
                        tail.push(pair);
                    }
                },
            }
            tail.extend_from_slice(&self.data[code.data..end]);
        }
        out.extend(tail);
        out.extend(table);
        out
    }
}

/// The code of a triangle without a recent edge, and the state after it.
struct Free {
    triangle: [u32; 3],
    /// Whether the first vertex is the next one.
    new: bool,
    pair: u8,
    numbers: [Option<u32>; 3],
    next: u32,
    last: u32,
}

impl Free {
    fn bytes(&self) -> usize {
        // A pair is usually in the lookup table.
        let in_table = self.new && self.numbers == [None; 3];
        usize::from(!in_table)
            + self.numbers.iter().flatten().map(|&number| varint_bytes(number)).sum::<usize>()
    }
}

/// Maps `0, -1, 1, -2, ...` to `0, 1, 2, 3, ...`, in wrapping arithmetic.
fn zigzag(delta: u32) -> u32 {
    delta << 1 ^ (delta >> 31).wrapping_neg()
}

fn varint_bytes(number: u32) -> usize {
    (32 - (number | 1).leading_zeros()).div_ceil(7) as usize
}

fn write_varint(mut number: u32, out: &mut Vec<u8>) {
    while number > 0x7f {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

#[cfg(test)]
mod tests {
    use super::super::indices::decode_triangles;
    use super::*;

    fn random(seed: u64) -> impl FnMut(u32) -> u32 {
        let mut state = seed | 1;
        move |below: u32| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as u32 % below.max(1)
        }
    }

    /// Rotates a triangle so that its smallest vertex comes first.
    fn rotated([a, b, c]: [u32; 3]) -> [u32; 3] {
        [[a, b, c], [b, c, a], [c, a, b]].into_iter().min().unwrap()
    }

    fn assert_comes_back(lists: &[Vec<[u32; 3]>], what: std::fmt::Arguments<'_>) -> usize {
        let stream = triangles(lists.iter().map(Vec::as_slice));
        let all: Vec<[u32; 3]> = lists.iter().flatten().copied().collect();
        let bytes = decode_triangles(&stream, 3 * all.len(), 4).unwrap_or_else(|e| panic!("{what}: {e}"));
        let back: Vec<u32> = bytes.as_chunks::<4>().0.iter().map(|&b| u32::from_le_bytes(b)).collect();
        let back = back.as_chunks::<3>().0.iter().map(|&t| rotated(t));
        assert!(back.eq(all.iter().map(|&t| rotated(t))), "{what}");
        stream.len()
    }

    #[test]
    fn random_triangles_come_back() {
        for count in [0, 1, 2, 15, 16, 17, 255, 256, 257, 3000] {
            for vertices in [1, 2, 3, 4, 20, 300, 70_000, u32::MAX] {
                let mut next = random(u64::from(vertices) ^ count as u64);
                let list: Vec<_> = (0..count).map(|_| [0; 3].map(|_: u32| next(vertices))).collect();
                assert_comes_back(&[list], format_args!("{count} of {vertices}"));
            }
        }
    }

    #[test]
    fn several_lists_come_back() {
        let mut next = random(9);
        for count in [1, 2, 17, 256] {
            // Vertices in the order of their first use, mostly near the last one; each list begins at 0.
            let lists: Vec<Vec<[u32; 3]>> = (0..5)
                .map(|_| {
                    let mut top = 3_u32;
                    let mut list = vec![[0, 1, 2]];
                    for _ in 1..count {
                        let new = next(3) > 0;
                        let c = if new { top } else { top.saturating_sub(1 + next(20)) };
                        top += u32::from(new);
                        list.push([top.saturating_sub(2 + next(4)), top.saturating_sub(3 + next(4)), c]);
                    }
                    list
                })
                .collect();
            assert_comes_back(&lists, format_args!("{count}"));
        }
    }

    #[test]
    fn strips_take_a_byte_per_triangle() {
        let strip: Vec<[u32; 3]> =
            (0..1000).map(|i| if i % 2 == 0 { [i, i + 1, i + 2] } else { [i + 1, i, i + 2] }).collect();
        assert_eq!(assert_comes_back(std::slice::from_ref(&strip), format_args!("strip")), 1 + 1000 + 16);
        // Each further list takes one byte for its restart.
        assert_eq!(assert_comes_back(&[strip.clone(), strip], format_args!("strips")), 1 + 2001 + 16);
    }

    #[test]
    fn separate_triangles_take_a_byte_too() {
        let list: Vec<[u32; 3]> = (0..50).map(|i| [3 * i, 3 * i + 1, 3 * i + 2]).collect();
        assert_eq!(assert_comes_back(&[list], format_args!("separate")), 1 + 50 + 16);
    }
}
