//! Decodes modes 1 and 2: triangle lists by shared edges, and any other indices by deltas.

use super::{Reader, check_header, unzigzag};

/// The sixteen most recent items, newest first.
#[derive(Default)]
pub(super) struct Recent<T> {
    items: [T; 16],
    pushed: usize,
}

impl<T: Copy + Default> Recent<T> {
    fn new() -> Self {
        Self { items: [T::default(); 16], pushed: 0 }
    }

    /// Returns the number of items after the newest one that matches.
    pub(super) fn position(&self, matches: impl Fn(&T) -> bool) -> Option<u8> {
        let back = (0..self.pushed.min(16)).find(|back| matches(&self.items[(self.pushed - 1 - back) % 16]));
        back.map(|back| back as u8)
    }

    pub(super) fn push(&mut self, item: T) {
        self.items[self.pushed % 16] = item;
        self.pushed += 1;
    }

    fn get(&self, back: u8) -> Result<T, String> {
        let at = self.pushed.checked_sub(1 + usize::from(back));
        let at = at.ok_or("the compressed triangles refer to a vertex before the first")?;
        Ok(self.items[at % 16])
    }
}

/// The decoder state to which triangle codes refer.
struct State<'a> {
    data: Reader<'a>,
    next: u32,
    last: u32,
    edges: Recent<(u32, u32)>,
    vertices: Recent<u32>,
}

impl State<'_> {
    fn next_vertex(&mut self) -> u32 {
        let vertex = self.next;
        self.next = self.next.wrapping_add(1);
        vertex
    }

    fn explicit(&mut self) -> Result<u32, String> {
        self.last = self.last.wrapping_add(unzigzag(self.data.varint()?));
        Ok(self.last)
    }

    /// Returns the vertex of a 4-bit code, and whether the caller must add it to the recent vertices.
    fn vertex(&mut self, nibble: u8) -> Result<(u32, bool), String> {
        match nibble {
            0 => Ok((self.next_vertex(), true)),
            15 => Ok((self.explicit()?, true)),
            _ => Ok((self.vertices.get(nibble - 1)?, false)),
        }
    }

    /// Decodes a triangle with a recent edge.
    fn fan(&mut self, edge: u8, third: u8) -> Result<[u32; 3], String> {
        let (a, b) = self.edges.get(edge)?;
        let (c, new) = match third {
            13 | 14 => {
                self.last = if third == 13 { self.last.wrapping_sub(1) } else { self.last.wrapping_add(1) };
                (self.last, true)
            }
            // Unlike in `vertex`, the newest vertex has number 0 here.
            1..=12 => (self.vertices.get(third)?, false),
            _ => self.vertex(third)?,
        };
        self.edges.push((c, b));
        self.edges.push((a, c));
        if new {
            self.vertices.push(c);
        }
        Ok([a, b, c])
    }

    /// Decodes a triangle with a new first vertex. `pair` holds the codes of the other two.
    fn free(&mut self, a: u32, pair: u8) -> Result<[u32; 3], String> {
        let (b, b_new) = self.vertex(pair >> 4)?;
        let (c, c_new) = self.vertex(pair & 15)?;
        self.edges.push((b, a));
        self.edges.push((c, b));
        self.edges.push((a, c));
        self.vertices.push(a);
        for (vertex, new) in [(b, b_new), (c, c_new)] {
            if new {
                self.vertices.push(vertex);
            }
        }
        Ok([a, b, c])
    }
}

pub(super) fn decode_triangles(source: &[u8], count: usize, stride: usize) -> Result<Vec<u8>, String> {
    check_header(source, 0xe1)?;
    let (mut data, table) = Reader::open(source, 16)?;
    if table.iter().any(|&pair| pair >> 4 == 15 || pair & 15 == 15) {
        return Err("the lookup table of the compressed triangles contains a 15".into());
    }
    let codes = data.take(count / 3)?;
    let mut state = State { data, next: 0, last: 0, edges: Recent::new(), vertices: Recent::new() };
    let mut out = Vec::with_capacity(count * stride);
    for &code in codes {
        let triangle = match (code >> 4, code & 15) {
            (15, low @ 14..) => {
                let pair = state.data.byte()?;
                if pair == 0 {
                    state.next = 0;
                }
                let a = if low == 14 { state.next_vertex() } else { state.explicit()? };
                state.free(a, pair)?
            }
            (15, low) => {
                let a = state.next_vertex();
                state.free(a, table[usize::from(low)])?
            }
            (edge, third) => state.fan(edge, third)?,
        };
        for index in triangle {
            out.extend_from_slice(&index.to_le_bytes()[..stride]);
        }
    }
    state.data.finish()?;
    Ok(out)
}

pub(super) fn decode_indices(source: &[u8], count: usize, stride: usize) -> Result<Vec<u8>, String> {
    check_header(source, 0xd1)?;
    let (mut data, _padding) = Reader::open(source, 4)?;
    let mut last = [0u32; 2];
    let mut out = Vec::new();
    for _ in 0..count {
        let v = data.varint()?;
        let baseline = &mut last[(v & 1) as usize];
        *baseline = baseline.wrapping_add(unzigzag(v >> 1));
        out.extend_from_slice(&baseline.to_le_bytes()[..stride]);
    }
    data.finish()?;
    Ok(out)
}
