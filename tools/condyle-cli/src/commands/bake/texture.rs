//! Textures from which a shader reads vertices or joint matrices, frame after frame, with as many rows per
//! frame as necessary.

use std::io::Cursor;
use std::path::{Path, PathBuf};

use condyle::mesh::VertexSlices;
use condyle::{Affine, skinning};
use condyle_gltf::{Asset, Placement};
use condyle_query::baked::{BakedClip, Grid};
use image::codecs::png::{CompressionType, FilterType, PngEncoder};
use image::{ImageBuffer, ImageFormat, Rgb};
use serde_json::{Value, json};

use super::error::Off;
use super::exr::{self, Depth};
use super::film::{Film, Frame};
use crate::failure::Failure;
use crate::output::names::with_middle;
use crate::output::{Finished, finish_file, progress};
use crate::text::grouped;

/// Maximum number of texels. Positions and normals of a texel take 51 bytes of memory for the original, the
/// written and the decoded values: 1.7 GB in all.
const MOST_TEXELS: usize = 1 << 25;
/// Maximum image height that most graphics cards support.
const HIGHEST: usize = 16_384;

/// Layout of the texels: element `i` of frame `f` is in column `i % width` of row `f * rows + i / width`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Layout {
    width: usize,
    /// Rows of each frame.
    rows: usize,
    height: usize,
}

impl Layout {
    /// Returns the layout for `frames` frames of `elements` elements. An element is `texels` adjacent texels,
    /// and no row is wider than `widest`.
    pub(super) fn new(frames: usize, elements: usize, texels: usize, widest: usize) -> Result<Self, Failure> {
        let width = (widest / texels).min(elements).max(1) * texels;
        let rows = (elements * texels).div_ceil(width).max(1);
        let height = frames.saturating_mul(rows);
        if height.saturating_mul(width) > MOST_TEXELS {
            return Err(Failure::Usage(format!(
                "{frames} frames need an image of {width} by {} texels, and the limit is {}; choose a lower --fps",
                grouped(height),
                grouped(MOST_TEXELS)
            )));
        }
        Ok(Self { width, rows, height })
    }

    fn texels(&self) -> usize {
        self.width * self.height
    }

    /// Returns the texels of a frame, its padding included. The used texels are first.
    fn of<'a, T>(&self, frame: usize, texels: &'a [T]) -> &'a [T] {
        &texels[frame * self.width * self.rows..][..self.width * self.rows]
    }

    fn of_mut<'a, T>(&self, frame: usize, texels: &'a mut [T]) -> &'a mut [T] {
        &mut texels[frame * self.width * self.rows..][..self.width * self.rows]
    }

    /// Returns a warning if the image is too high.
    pub(super) fn warning(&self) -> Option<String> {
        (self.height > HIGHEST).then(|| {
            format!(
                "the image is {} texels high, and most graphics cards support at most {}: reduce it with a lower --fps or a higher \
                 --width",
                grouped(self.height),
                grouped(HIGHEST)
            )
        })
    }

    fn to_json(self) -> Value {
        json!({ "width": self.width, "height": self.height, "rows_per_frame": self.rows })
    }
}

/// Number format of an image.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Format {
    /// 16-bit integers, scaled to the box of all frames.
    Png,
    Exr(Depth),
}

impl Format {
    fn name(self) -> &'static str {
        match self {
            Self::Png => "unorm16",
            Self::Exr(Depth::Half) => "float16",
            Self::Exr(Depth::Float) => "float32",
        }
    }
}

/// Files of a texture, and their errors.
pub(super) struct Textured {
    pub(super) files: Vec<Finished>,
    pub(super) off: Off,
    pub(super) layout: Layout,
}

/// Returns the names of the files written together: positions, normals if there are any, and the description
/// last.
pub(super) fn names(to: &Path, has_normals: bool) -> Vec<PathBuf> {
    let normals = has_normals.then(|| with_middle(to, "normals"));
    [to.to_path_buf()].into_iter().chain(normals).chain([to.with_extension("json")]).collect()
}

/// Writes positions and normals of all vertices.
pub(super) fn vertices(
    film: &mut Film<'_>,
    layout: Layout,
    format: Format,
    names: Vec<PathBuf>,
    metres: f64,
) -> Result<Textured, Failure> {
    let written = match format {
        Format::Png => shorts(film, layout)?,
        Format::Exr(depth) => floats(film, layout, depth)?,
    };
    let mut images = Vec::new();
    for image in &written {
        images.push(image.read(layout)?);
    }
    let count = film.vertex_count();
    let off = Off::measure(film, |at, to| {
        let (first, second) = (at as usize, at.ceil() as usize);
        to.positions = middle(layout.of(first, &images[0]), layout.of(second, &images[0]), count);
        to.normals = images
            .get(1)
            .map_or(vec![], |normals| middle(layout.of(first, normals), layout.of(second, normals), count));
        Ok(())
    })?;
    let mut description = description(film, layout, "vertices");
    description["texel"] = "vertex v of frame f: column v % width, row f * rows_per_frame + v / width, counted from the top; the \
                            value is offset + scale * texel"
        .into();
    let (last, files) = names.split_last().expect("a description");
    for ((image, what), file) in written.iter().zip(["positions", "normals"]).zip(files) {
        description[what] = json!({
            "file": file.file_name().map(|name| name.to_string_lossy()),
            "numbers": format.name(),
            "offset": image.offset(),
            "scale": image.scale(),
        });
    }
    film.pose(0.0)?;
    description["primitives"] = primitives(film);
    description["error"] = off.to_json(film, metres);
    let mut finished = Vec::new();
    for (image, file) in written.iter().zip(files) {
        finished.push(finish_file(file.clone(), |out| out.write_all(&image.bytes))?);
    }
    finished.push(finish_file(last.clone(), |out| writeln!(out, "{description:#}"))?);
    Ok(Textured { files: finished, off, layout })
}

/// Returns the vectors half-way between those of two frames; the same vectors if the frames are equal.
fn middle(first: &[[f32; 3]], second: &[[f32; 3]], count: usize) -> Vec<[f32; 3]> {
    let mean = |a: f32, b: f32| ((f64::from(a) + f64::from(b)) / 2.0) as f32;
    let pairs = first.iter().zip(second).take(count);
    pairs.map(|(a, b)| std::array::from_fn(|axis| mean(a[axis], b[axis]))).collect()
}

/// An encoded image.
struct Image {
    bytes: Vec<u8>,
    /// Range of integer texels; `None` for floats.
    grid: Option<Grid>,
}

impl Image {
    fn offset(&self) -> [f64; 3] {
        self.grid.map_or([0.0; 3], |grid| grid.origin().map(f64::from))
    }

    /// Returns the scale of texels. A texel of integers is a fraction of the maximum.
    fn scale(&self) -> [f64; 3] {
        self.grid.map_or([1.0; 3], |grid| grid.step().map(|step| f64::from(step) * f64::from(u16::MAX)))
    }

    /// Decodes all texels from the bytes and the description, as a shader does: in f32, which far from the
    /// origin rounds more coarsely than the integers.
    fn read(&self, layout: Layout) -> Result<Vec<[f32; 3]>, Failure> {
        let texels = if self.grid.is_none() {
            exr::read(&self.bytes).map_err(|e| unreadable(&e))?
        } else {
            let image = image::load_from_memory_with_format(&self.bytes, ImageFormat::Png);
            let image = image.map_err(|e| unreadable(&e))?.into_rgb16();
            let [offset, scale] = [self.offset(), self.scale()].map(|all| all.map(|v| v as f32));
            let value = |texel: &Rgb<u16>| {
                let at = |axis: usize| f32::from(texel.0[axis]) / f32::from(u16::MAX);
                std::array::from_fn(|axis| offset[axis] + scale[axis] * at(axis))
            };
            image.pixels().map(value).collect()
        };
        match texels.len() == layout.texels() {
            true => Ok(texels),
            false => Err(unreadable(&format_args!("{} texels, not {}", texels.len(), layout.texels()))),
        }
    }
}

fn unreadable(error: &dyn std::fmt::Display) -> Failure {
    Failure::Data(format!("the new image cannot be read back: {error}"))
}

/// Encodes integers, with one pass over the clip for the box and one for the values.
fn shorts(film: &mut Film<'_>, layout: Layout) -> Result<Vec<Image>, Failure> {
    let mut frame = Frame::default();
    let (mut low, mut high) = ([f32::INFINITY; 3], [f32::NEG_INFINITY; 3]);
    for at in 0..film.timing.frames {
        film.vertices(at as f64, &mut frame)?;
        for position in &frame.positions {
            low = std::array::from_fn(|axis| low[axis].min(position[axis]));
            high = std::array::from_fn(|axis| high[axis].max(position[axis]));
        }
    }
    let name = film.name.clone();
    let failed = |e: condyle::Error| Failure::Data(format!("{name}: {e}"));
    let grid = Grid::around(low, high).map_err(failed)?;
    let mut clip: Option<BakedClip> = None;
    let bar = progress(film.timing.frames, "baking");
    for at in 0..film.timing.frames {
        film.vertices(at as f64, &mut frame)?;
        let (positions, normals) = (&*frame.positions, &*frame.normals);
        let slices = VertexSlices { positions, normals, ..VertexSlices::default() };
        match &mut clip {
            None => clip = Some(BakedClip::new(grid, film.timing.fps as f32, slices).map_err(failed)?),
            Some(clip) => clip.push(slices).map_err(failed)?,
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    let Some(clip) = clip else { return Ok(vec![]) };
    let mut images = vec![png(layout, grid, |frame| clip.positions(frame).collect())?];
    if clip.has_normals() {
        images.push(png(layout, Grid::UNIT, |frame| clip.normals(frame).collect())?);
    }
    Ok(images)
}

fn png(layout: Layout, grid: Grid, numbers: impl Fn(usize) -> Vec<[u16; 3]>) -> Result<Image, Failure> {
    let mut texels = vec![[0; 3]; layout.texels()];
    for frame in 0..layout.height / layout.rows {
        let numbers = numbers(frame);
        layout.of_mut(frame, &mut texels)[..numbers.len()].copy_from_slice(&numbers);
    }
    let failed = |e: &dyn std::fmt::Display| Failure::Data(format!("the image cannot be encoded: {e}"));
    let (width, height) = (layout.width as u32, layout.height as u32);
    let image = ImageBuffer::<Rgb<u16>, _>::from_raw(width, height, texels.into_flattened());
    let image = image.ok_or_else(|| failed(&"its size is wrong"))?;
    let mut bytes = Cursor::new(Vec::new());
    let encoder = PngEncoder::new_with_quality(&mut bytes, CompressionType::Default, FilterType::Adaptive);
    image.write_with_encoder(encoder).map_err(|e| failed(&e))?;
    Ok(Image { bytes: bytes.into_inner(), grid: Some(grid) })
}

fn floats(film: &mut Film<'_>, layout: Layout, depth: Depth) -> Result<Vec<Image>, Failure> {
    let mut images = vec![vec![[0.0; 3]; layout.texels()]; if film.has_normals { 2 } else { 1 }];
    let mut frame = Frame::default();
    let bar = progress(film.timing.frames, "baking");
    for at in 0..film.timing.frames {
        film.vertices(at as f64, &mut frame)?;
        for (image, vectors) in images.iter_mut().zip([&frame.positions, &frame.normals]) {
            layout.of_mut(at, image)[..vectors.len()].copy_from_slice(vectors);
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    if depth == Depth::Half && images[0].iter().flatten().any(|x| x.abs() >= 65520.0) {
        return Err(Failure::Usage(format!(
            "{}: a vertex is more than 65504 from the origin, the limit of 16-bit floats; use --precision float",
            film.name
        )));
    }
    let written =
        images.iter().map(|texels| Image { bytes: exr::write(layout.width, texels, depth), grid: None });
    Ok(written.collect())
}

/// Returns the description that both kinds of textures share.
fn description(film: &Film<'_>, layout: Layout, holds: &str) -> Value {
    let mut json = json!({
        "generator": concat!("Condyle ", env!("CARGO_PKG_VERSION")),
        "holds": holds,
        "frames": film.timing.frames,
        "fps": film.timing.fps,
        "seconds": film.timing.duration,
    });
    if let (Some(json), Value::Object(layout)) = (json.as_object_mut(), layout.to_json()) {
        json.extend(layout);
    }
    json
}

/// Describes each primitive, in the pose of the film's poser.
fn primitives(film: &Film<'_>) -> Value {
    let part = |part: &super::film::Part| {
        let (instance, primitive) = (film.instance(part), film.primitive(part));
        json!({
            "name": instance.name,
            "node": instance.node,
            "primitive": primitive.index,
            "first_vertex": part.first,
            "vertices": part.count,
            "normals": !primitive.mesh.vertices().normals.is_empty(),
            "mirrored": instance.is_mirrored(film.poser.model()),
        })
    };
    film.parts.iter().map(part).collect()
}

/// Matrices of instances in a texture: those of skins, and of joints that a mesh without a skin follows.
pub(super) struct Matrices {
    skins: Vec<Option<usize>>,
    joints: Vec<(u16, usize)>,
    pub(super) count: usize,
}

impl Matrices {
    pub(super) fn of(asset: &Asset) -> Self {
        let (mut skins, mut joints, mut count) = (vec![None; asset.skins.len()], Vec::new(), 0);
        for (_, instance) in asset.shown() {
            match instance.placement {
                Placement::Skin(skin) if skins[skin].is_none() => {
                    skins[skin] = Some(count);
                    count += asset.skins[skin].joints().len();
                }
                Placement::Joint(joint) if joints.iter().all(|(known, _)| *known != joint) => {
                    joints.push((joint, count));
                    count += 1;
                }
                _ => {}
            }
        }
        Self { skins, joints, count }
    }

    /// Writes the matrices for the pose of the film's poser.
    fn write(&self, film: &Film<'_>, to: &mut [Affine]) -> Result<(), condyle::Error> {
        let model = film.poser.model();
        for (skin, first) in film.asset.skins.iter().zip(&self.skins) {
            if let Some(first) = *first {
                skinning::palette_rows(skin, model, &mut to[first..first + skin.joints().len()])?;
            }
        }
        self.joints.iter().for_each(|(joint, at)| to[*at] = model[usize::from(*joint)]);
        Ok(())
    }

    fn to_json(&self, asset: &Asset) -> Value {
        let instance = |instance: &condyle_gltf::Instance| {
            let (first, joints) = match instance.placement {
                Placement::Skin(skin) => (self.skins[skin]?, asset.skins[skin].joints().to_vec()),
                Placement::Joint(joint) => {
                    (self.joints.iter().find(|(known, _)| *known == joint)?.1, vec![joint])
                }
                Placement::Fixed(_) => return None,
            };
            let names = asset.skeleton.names();
            let names: Vec<_> = joints.iter().map(|&joint| &names[usize::from(joint)]).collect();
            Some(
                json!({ "name": instance.name, "node": instance.node, "first_matrix": first, "joints": names }),
            )
        };
        asset.shown().filter_map(|(_, it)| instance(it)).collect()
    }
}

/// Writes joint matrices times inverse bind matrices, with three texels each for the rows.
pub(super) fn palettes(
    film: &mut Film<'_>,
    matrices: &Matrices,
    layout: Layout,
    names: Vec<PathBuf>,
    metres: f64,
) -> Result<Textured, Failure> {
    let name = film.name.clone();
    let failed = |e: condyle::Error| Failure::Data(format!("{name}: {e}"));
    let mut texels = vec![[0.0; 4]; layout.texels()];
    let mut rows = vec![Affine::IDENTITY; matrices.count];
    let bar = progress(film.timing.frames, "baking");
    for at in 0..film.timing.frames {
        film.pose(at as f64)?;
        matrices.write(film, &mut rows).map_err(failed)?;
        let all = rows.iter().flat_map(|matrix| matrix.rows);
        layout.of_mut(at, &mut texels).iter_mut().zip(all).for_each(|(to, row)| *to = row);
        bar.inc(1);
    }
    bar.finish_and_clear();
    let bytes = exr::write(layout.width, &texels, Depth::Float);
    let read = exr::read::<4>(&bytes).map_err(|e| unreadable(&e))?;
    if read.as_flattened().iter().map(|x| x.to_bits()).ne(texels.as_flattened().iter().map(|x| x.to_bits())) {
        return Err(unreadable(&"its numbers differ"));
    }
    drop((texels, read));
    let off = between(film)?;
    let mut description = description(film, layout, "joint matrices");
    description["texel"] = "row r of matrix m of frame f: column (3 * m + r) % width, row f * rows_per_frame + (3 * m + r) / width, \
                            counted from the top; a point (x, y, z, 1) of the bind pose is multiplied by the three rows"
        .into();
    let (last, files) = names.split_last().expect("a description");
    description["matrices"] = json!({
        "file": files[0].file_name().map(|name| name.to_string_lossy()),
        "numbers": "float32",
        "count": matrices.count,
    });
    description["instances"] = matrices.to_json(film.asset);
    description["error"] = off.to_json(film, metres);
    let files = vec![
        finish_file(files[0].clone(), |out| out.write_all(&bytes))?,
        finish_file(last.clone(), |out| writeln!(out, "{description:#}"))?,
    ];
    Ok(Textured { files, off, layout })
}

/// Measures the error of palettes half-way between frames; at frames they are exact. A vertex there follows
/// the mean of two matrices, so it is at the mean of two positions.
fn between(film: &mut Film<'_>) -> Result<Off, Failure> {
    let mut film_of_ends = film.again()?;
    let (mut first, mut second) = (Frame::default(), Frame::default());
    Off::measure(film, |at, to| {
        film_of_ends.vertices(at.floor(), &mut first)?;
        film_of_ends.vertices(at.ceil(), &mut second)?;
        to.positions = middle(&first.positions, &second.positions, first.positions.len());
        to.normals.clear();
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_wrapped_into_rows() {
        let layout = |frames, elements, texels, widest| {
            Layout::new(frames, elements, texels, widest).map(|it| [it.width, it.rows, it.height]).ok()
        };
        assert_eq!(layout(3, 5, 1, 4096), Some([5, 1, 3]));
        assert_eq!(layout(3, 4097, 1, 4096), Some([4096, 2, 6]));
        assert_eq!(layout(2, 8192, 1, 4096), Some([4096, 2, 4]));
        // No matrix is split between rows.
        assert_eq!(layout(1, 1366, 3, 4096), Some([4095, 2, 2]));
        assert_eq!(layout(7, 0, 1, 64), Some([1, 1, 7]));
        assert_eq!(layout(usize::MAX, 9, 1, 64), None);
    }
}
