//! Skinned vertices at many times, written to arrays.

use condyle::NormalRule;
use condyle::mesh::VertexSlicesMut;
use condyle_gltf::{Asset, Poser};
use condyle_io::ModelClip;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::arrays::{Output, Times, apart};
use crate::errors::Error;
use crate::frames::{Planes, Threads, for_each_frame};

/// Writes the vertices of all primitives at each time.
pub(crate) fn write_vertices(
    py: Python<'_>,
    asset: &Asset,
    motion: Option<&ModelClip>,
    times: &[f64],
    planes: Planes<'_, 3>,
    threads: Threads<'_, '_>,
) -> PyResult<()> {
    let counts: Vec<usize> =
        asset.instances.iter().flat_map(|it| &it.primitives).map(|it| it.mesh.vertex_count()).collect();
    let start = || Poser::new(asset, NormalRule::default().into());
    for_each_frame(py, threads, times.len(), planes, start, |poser, frame, [positions, normals, tangents]| {
        // Primitives without normals or tangents keep these zeros.
        normals.fill(0.0);
        tangents.fill(0.0);
        let mut rest = VertexSlicesMut {
            positions: positions.as_chunks_mut().0,
            normals: normals.as_chunks_mut().0,
            tangents: tangents.as_chunks_mut().0,
        };
        let mut out: Vec<_> = counts.iter().map(|&count| take_first(&mut rest, count)).collect();
        poser.pose_into(motion, times[frame], &mut out)
    })
}

/// Splits off the first vertices. Arrays that were not requested stay empty.
fn take_first<'a>(rest: &mut VertexSlicesMut<'a>, count: usize) -> VertexSlicesMut<'a> {
    fn first<'a, T>(rest: &mut &'a mut [T], count: usize) -> &'a mut [T] {
        let all = std::mem::take(rest);
        let (first, others) = all.split_at_mut(count.min(all.len()));
        *rest = others;
        first
    }
    VertexSlicesMut {
        positions: first(&mut rest.positions, count),
        normals: first(&mut rest.normals, count),
        tangents: first(&mut rest.tangents, count),
    }
}

/// Output arrays: positions, and normals and tangents if requested.
pub(crate) struct VertexArrays<'py>([Option<Output<'py>>; 3]);

impl<'py> VertexArrays<'py> {
    pub(crate) fn new(
        py: Python<'py>,
        out: Option<&Bound<'py, PyAny>>,
        wanted: [bool; 3],
        frames: [usize; 2],
        times: &Times<'_>,
    ) -> PyResult<Self> {
        let alone = wanted == [true, false, false];
        let given: Option<[Bound<'py, PyAny>; 3]> = match out {
            None => None,
            Some(out) if alone => Some([out.clone(), py.None().into_bound(py), py.None().into_bound(py)]),
            Some(out) => {
                let unfit = |_| Error::new_err("out must be Vertices: positions, normals and tangents");
                Some(out.extract().map_err(unfit)?)
            }
        };
        let one = |at: usize| -> PyResult<Option<Output<'py>>> {
            if !wanted[at] {
                return Ok(None);
            }
            let name = if alone { "out" } else { ["out.positions", "out.normals", "out.tangents"][at] };
            let shape = [frames[0], frames[1], [3, 3, 4][at]];
            let out = Output::new(py, name, given.as_ref().map(|all| &all[at]), &shape)?;
            out.apart_from(&[times]).map(Some)
        };
        let all = [one(0)?, one(1)?, one(2)?];
        let mut there: Vec<_> = all.into_iter().flatten().collect();
        apart(&mut there)?;
        let mut there = there.into_iter();
        Ok(Self(wanted.map(|wanted| if wanted { there.next() } else { None })))
    }

    /// Arrays split into frames of `vertices` vertices.
    pub(crate) fn planes(&mut self, vertices: usize) -> PyResult<Planes<'_, 3>> {
        let mut planes = Planes { values: [&mut [][..], &mut [], &mut []], widths: [0; 3] };
        for (at, array) in self.0.iter_mut().enumerate() {
            if let Some(array) = array {
                planes.values[at] = array.values()?;
                planes.widths[at] = vertices * [3, 3, 4][at];
            }
        }
        Ok(planes)
    }

    /// Converts to the positions array, or to `condyle.Vertices`.
    pub(crate) fn into_object(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self.0.map(|array| array.map(Output::into_array)) {
            [Some(positions), None, None] => Ok(positions.into_any()),
            all => py.import("condyle")?.getattr("Vertices")?.call1(PyTuple::new(py, all)?),
        }
    }
}
