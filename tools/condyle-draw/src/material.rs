//! Materials: base or diffuse colour, its texture and the alpha mode. Other properties of glTF materials are
//! not read.

use std::collections::{BTreeSet, HashMap};
use std::io::Cursor;
use std::sync::Arc;

use condyle_gltf::Document;
use image::{DynamicImage, GenericImageView, ImageDecoder, ImageReader, Limits};
use serde_json::Value;

/// glTF 2.0, "Materials", without roughness, metalness and emission.
pub(crate) struct Material {
    /// Linear RGB and opacity.
    pub factor: [f32; 4],
    /// Index of the image in [`Materials::textures`], and the set of texture coordinates.
    pub texture: Option<usize>,
    pub texture_set: usize,
    /// Affine transform of texture coordinates, from `KHR_texture_transform`.
    pub transform: [[f32; 3]; 2],
    pub alpha: Alpha,
}

impl Material {
    /// White, so that the colour comes from the vertices.
    pub(crate) const PLAIN: Self = Self {
        factor: [1.0; 4],
        texture: None,
        texture_set: 0,
        transform: [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]],
        alpha: Alpha::Opaque,
    };
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Alpha {
    Opaque,
    /// Pixels with an opacity below this are holes.
    Mask(f32),
    Blend,
}

/// All materials of a document, followed by the default one.
pub(crate) struct Materials {
    list: Vec<Material>,
    pub textures: Vec<Texture>,
    /// Images that cannot be drawn, and the reasons.
    pub problems: Vec<String>,
}

impl Materials {
    /// Loads the materials; `shown` are those whose images are needed.
    pub(crate) fn load(document: &Document, shown: &BTreeSet<usize>) -> Self {
        let json = &appearance(document);
        let texture_of = |material: &Value| entry(json, "textures", &Paint::of(material).texture["index"]);
        let list = list(json, "materials");
        let sources: BTreeSet<_> = shown
            .iter()
            .filter_map(|&index| Source::of(json, texture_of(list.get(index)?)).map(|source| source.data))
            .collect();
        let mut images = Images::new(document, json, sources.len());
        let mut it = Self { list: vec![], textures: vec![], problems: vec![] };
        for (index, material) in list.iter().enumerate() {
            let texture = match shown.contains(&index) {
                true => Texture::load(&mut images, texture_of(material)),
                false => None,
            };
            let place = texture.is_some().then_some(it.textures.len());
            it.textures.extend(texture);
            it.list.push(Material::load(material, place));
        }
        it.list.push(Material::load(&Value::Null, None));
        it.problems = images.problems;
        it
    }

    pub(crate) fn get(&self, index: Option<usize>) -> &Material {
        let last = self.list.len() - 1;
        &self.list[index.unwrap_or(last).min(last)]
    }
}

impl Material {
    fn load(json: &Value, texture: Option<usize>) -> Self {
        let Paint { factor, texture: info } = Paint::of(json);
        let transform = &info["extensions"]["KHR_texture_transform"];
        let [offset_u, offset_v] = numbers(&transform["offset"], [0.0; 2]);
        let [scale_u, scale_v] = numbers(&transform["scale"], [1.0; 2]);
        let (sin, cos) = condyle::math::sin_cos(number(&transform["rotation"], 0.0));
        Self {
            factor: numbers(factor, [1.0; 4]),
            texture,
            texture_set: transform["texCoord"]
                .as_u64()
                .or(info["texCoord"].as_u64())
                .map_or(0, |set| set.try_into().unwrap_or(usize::MAX)),
            transform: [[cos * scale_u, sin * scale_v, offset_u], [-sin * scale_u, cos * scale_v, offset_v]],
            alpha: match json["alphaMode"].as_str() {
                Some("MASK") => Alpha::Mask(number(&json["alphaCutoff"], 0.5)),
                Some("BLEND") => Alpha::Blend,
                _ => Alpha::Opaque,
            },
        }
    }
}

/// Members of a material that give its colour and its texture.
struct Paint<'a> {
    factor: &'a Value,
    texture: &'a Value,
}

impl<'a> Paint<'a> {
    /// Selects the members. The diffuse colour of `KHR_materials_pbrSpecularGlossiness` replaces the base
    /// colour if a material has both.
    fn of(material: &'a Value) -> Self {
        let glossy = &material["extensions"]["KHR_materials_pbrSpecularGlossiness"];
        let (surface, factor, texture) = match glossy.is_object() {
            true => (glossy, "diffuseFactor", "diffuseTexture"),
            false => (&material["pbrMetallicRoughness"], "baseColorFactor", "baseColorTexture"),
        };
        Self { factor: &surface[factor], texture: &surface[texture] }
    }
}

/// Returns the parts of the document that describe the look of surfaces.
fn appearance(document: &Document) -> Value {
    let part = |key| {
        let text = document.json_at(&format!("/{key}"));
        (key, text.and_then(|text| serde_json::from_str::<Value>(&text).ok()).unwrap_or_default())
    };
    ["materials", "textures", "images", "samplers"].map(part).into_iter().collect()
}

fn list<'a>(json: &'a Value, key: &str) -> &'a [Value] {
    json[key].as_array().map_or(&[], Vec::as_slice)
}

/// Returns the element of a list with this index; null if it does not exist.
fn entry<'a>(json: &'a Value, key: &str, index: &Value) -> &'a Value {
    let index = index.as_u64().and_then(|i| usize::try_from(i).ok());
    index.and_then(|i| json[key].get(i)).unwrap_or(&Value::Null)
}

fn number(json: &Value, default: f32) -> f32 {
    json.as_f64().map_or(default, |v| v as f32)
}

fn numbers<const N: usize>(json: &Value, default: [f32; N]) -> [f32; N] {
    let numbers = json.as_array().filter(|list| list.len() == N);
    numbers.map_or(default, |list| core::array::from_fn(|i| number(&list[i], default[i])))
}

/// The addressing mode beyond the edges of an image.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Wrap {
    Repeat,
    Clamp,
    Mirror,
}

impl Wrap {
    /// Converts the constants of OpenGL, which glTF uses.
    fn load(json: &Value) -> Self {
        match json.as_u64() {
            Some(33071) => Self::Clamp,
            Some(33648) => Self::Mirror,
            _ => Self::Repeat,
        }
    }

    fn apply(self, at: i64, size: i64) -> i64 {
        match self {
            Self::Repeat => at.rem_euclid(size),
            Self::Clamp => at.clamp(0, size - 1),
            Self::Mirror => {
                let at = at.rem_euclid(2 * size);
                at.min(2 * size - 1 - at)
            }
        }
    }
}

/// Location of the bytes of an image. Images with the same location are decoded once.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Data<'a> {
    View(usize),
    Uri(&'a str),
    /// No location: the image with this index lacks data, or does not exist.
    Missing(u64),
}

/// An image of a texture.
struct Source<'a> {
    index: u64,
    /// Name in the document; may be empty.
    name: &'a str,
    data: Data<'a>,
}

impl<'a> Source<'a> {
    fn of(json: &'a Value, texture: &Value) -> Option<Self> {
        // WebP comes first. The extensions below `source` are not supported, so they come last.
        let extended = |name| &texture["extensions"][name]["source"];
        let named = [
            extended("EXT_texture_webp"),
            &texture["source"],
            extended("KHR_texture_basisu"),
            extended("EXT_texture_avif"),
            extended("MSFT_texture_dds"),
        ];
        let (index, place) = named.into_iter().find_map(|place| Some((place.as_u64()?, place)))?;
        let image = entry(json, "images", place);
        let view = image["bufferView"].as_u64().and_then(|view| usize::try_from(view).ok());
        let (uri, name) = (image["uri"].as_str(), image["name"].as_str());
        let data = match (view, uri) {
            (Some(view), _) => Data::View(view),
            (None, Some(uri)) => Data::Uri(uri),
            _ => Data::Missing(index),
        };
        let file = uri.filter(|uri| !uri.starts_with("data:"));
        Some(Self { index, name: name.or(file).unwrap_or_default(), data })
    }
}

/// Images of a document, each decoded once.
struct Images<'a> {
    document: &'a Document,
    json: &'a Value,
    known: HashMap<Data<'a>, Option<Arc<[Level]>>>,
    /// Maximum side of a kept image in texels.
    longest_side: usize,
    /// Number of texels that may still be decoded.
    left: u64,
    problems: Vec<String>,
}

/// Maximum number of texels decoded for all images together, and maximum side of one. A file of a few hundred
/// bytes can state any size.
const MAX_DECODED: u64 = 1 << 28;
const MAX_SIDE: u32 = 4096;
/// Maximum bytes of one decoded image.
const MAX_BYTES: u64 = 4 * (MAX_SIDE as u64).pow(2);
/// Maximum bytes of an image's metadata, in addition to twice the bytes of its file.
const MAX_DESCRIBED: u64 = 1 << 20;
/// Longest side of a kept image; no rendered image shows more detail.
const MAX_KEPT_SIDE: usize = 1024;
/// Maximum number of texels kept for all images: 32 MB, and 33 % more for their mipmaps.
const MAX_KEPT: usize = 1 << 23;

impl<'a> Images<'a> {
    /// Sets the size limit: the more images there are, the smaller each is kept.
    fn new(document: &'a Document, json: &'a Value, count: usize) -> Self {
        let share = (MAX_KEPT / count.max(1)).isqrt().max(1);
        let longest_side = (1 << share.ilog2()).min(MAX_KEPT_SIDE);
        Self { document, json, known: HashMap::new(), longest_side, left: MAX_DECODED, problems: vec![] }
    }

    fn get(&mut self, source: &Source<'a>) -> Option<Arc<[Level]>> {
        if let Some(known) = self.known.get(&source.data) {
            return known.clone();
        }
        let levels = match self.load(source.data) {
            Ok(image) => Some(mipmaps(image, self.longest_side).into()),
            Err(problem) => {
                let name: String = source.name.chars().take(60).collect();
                let name = if name.is_empty() { name } else { format!(" ({name})") };
                self.problems.push(format!("/images/{}{name}: {problem}", source.index));
                None
            }
        };
        self.known.insert(source.data, levels.clone());
        levels
    }

    fn load(&mut self, data: Data<'_>) -> Result<Level, String> {
        match data {
            Data::View(view) => {
                let bytes = self.document.buffer_view(view);
                self.decode(bytes.ok_or_else(|| format!("buffer view {view} does not exist"))?)
            }
            Data::Uri(uri) => self.decode(&self.document.resource(uri)?),
            Data::Missing(_) => Err("it has neither a buffer view nor a URI".into()),
        }
    }

    fn decode(&mut self, bytes: &[u8]) -> Result<Level, String> {
        if let Some(format) = foreign(bytes) {
            return Err(format!("the image is {format}; PNG, JPEG, WebP and GIF are supported"));
        }
        let unreadable = |e: &dyn std::fmt::Display| format!("the image cannot be decoded: {e}");
        let mut reader =
            ImageReader::new(Cursor::new(bytes)).with_guessed_format().map_err(|e| unreadable(&e))?;
        // Limits the memory for PNG metadata. A colour profile that inflates to more is skipped; profiles are
        // not used here.
        let mut limits = Limits::default();
        limits.max_alloc = Some(2 * bytes.len() as u64 + MAX_DESCRIBED);
        reader.limits(limits);
        let mut decoder = reader.into_decoder().map_err(|e| unreadable(&e))?;
        let (width, height) = decoder.dimensions();
        if width == 0 || height == 0 || width.max(height) > MAX_SIDE {
            return Err(format!(
                "the image has {width}x{height} pixels; 1 to {MAX_SIDE} a side are supported"
            ));
        }
        if decoder.total_bytes() > MAX_BYTES {
            return Err(format!(
                "the image takes {} bytes; the limit is {MAX_BYTES} bytes",
                decoder.total_bytes()
            ));
        }
        let texels = u64::from(width) * u64::from(height);
        self.left = self.left.checked_sub(texels).ok_or("the images have too many pixels together")?;
        let mut limits = Limits::default();
        limits.max_alloc = Some(2 * decoder.total_bytes() + (1 << 20));
        decoder.set_limits(limits).map_err(|e| unreadable(&e))?;
        let image = DynamicImage::from_decoder(decoder).map_err(|e| unreadable(&e))?;
        // Halved during the conversion, so that there is no copy at full size.
        let half = u32::from(width.max(height) as usize > self.longest_side);
        let at = |x: u32, y: u32| image.get_pixel(x.min(width - 1), y.min(height - 1)).0;
        Ok(Level::new(
            width.div_ceil(1 + half) as usize,
            height.div_ceil(1 + half) as usize,
            |x, y| match half {
                0 => at(x as u32, y as u32),
                _ => mean_of_four(|dx, dy| at(x as u32 * 2 + dx, y as u32 * 2 + dy)),
            },
        ))
    }
}

/// Returns the name of an unsupported texture format, detected by its first bytes.
fn foreign(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0xab, b'K', b'T', b'X', b' ', b'2', b'0', ..] => Some("KTX2"),
        [0xab, b'K', b'T', b'X', b' ', b'1', b'1', ..] => Some("KTX"),
        [b'D', b'D', b'S', b' ', ..] => Some("DDS"),
        [_, _, _, _, b'f', b't', b'y', b'p', b'a', b'v', b'i', b'f' | b's', ..] => Some("AVIF"),
        _ => None,
    }
}

/// Returns the mipmaps of an image down to one texel, from the largest one that is kept.
fn mipmaps(image: Level, longest_side: usize) -> Vec<Level> {
    let mut levels = vec![image];
    while let Some(level) = levels.last().filter(|l| l.width > 1 || l.height > 1) {
        let smaller = level.half();
        if level.width.max(level.height) > longest_side {
            levels.clear();
        }
        levels.push(smaller);
    }
    levels
}

fn mean_of_four(at: impl Fn(u32, u32) -> [u8; 4]) -> [u8; 4] {
    let four = [at(0, 0), at(1, 0), at(0, 1), at(1, 1)];
    core::array::from_fn(|k| (four.iter().map(|t| u32::from(t[k])).sum::<u32>() / 4) as u8)
}

/// An image with its mipmaps and its sampler.
pub(crate) struct Texture {
    levels: Arc<[Level]>,
    wrap: [Wrap; 2],
    nearest: bool,
}

struct Level {
    width: usize,
    height: usize,
    /// Texels as sRGB and opacity.
    texels: Vec<[u8; 4]>,
}

impl Level {
    fn new(width: usize, height: usize, texel: impl Fn(usize, usize) -> [u8; 4]) -> Self {
        Self { width, height, texels: (0..width * height).map(|i| texel(i % width, i / width)).collect() }
    }

    fn half(&self) -> Self {
        let at =
            |x: usize, y: usize| self.texels[y.min(self.height - 1) * self.width + x.min(self.width - 1)];
        Self::new(self.width.div_ceil(2), self.height.div_ceil(2), |x, y| {
            mean_of_four(|dx, dy| at(2 * x + dx as usize, 2 * y + dy as usize))
        })
    }
}

impl Texture {
    fn load<'a>(images: &mut Images<'a>, json: &Value) -> Option<Self> {
        let levels = images.get(&Source::of(images.json, json)?)?;
        let sampler = entry(images.json, "samplers", &json["sampler"]);
        Some(Self {
            levels,
            wrap: [Wrap::load(&sampler["wrapS"]), Wrap::load(&sampler["wrapT"])],
            nearest: sampler["magFilter"].as_u64() == Some(9728),
        })
    }

    /// Returns the number of texels of the largest level.
    pub(crate) fn size(&self) -> f32 {
        (self.levels[0].width * self.levels[0].height) as f32
    }

    /// Returns sRGB and opacity, 0 to 1, for a pixel that covers this many texels of the largest level.
    pub(crate) fn sample(&self, [u, v]: [f32; 2], texels_per_pixel: f32) -> [f32; 4] {
        if !(u.is_finite() && v.is_finite()) {
            return [1.0; 4];
        }
        let halvings = (0.5 * texels_per_pixel.max(1.0).log2()) as usize;
        let level = &self.levels[halvings.min(self.levels.len() - 1)];
        let texel = |x: i64, y: i64| {
            let x = self.wrap[0].apply(x, level.width as i64) as usize;
            let y = self.wrap[1].apply(y, level.height as i64) as usize;
            level.texels[y * level.width + x].map(|c| f32::from(c) / 255.0)
        };
        let (x, y) = (u * level.width as f32, v * level.height as f32);
        if self.nearest && halvings == 0 {
            return texel(x.floor() as i64, y.floor() as i64);
        }
        let (x, y) = (x - 0.5, y - 0.5);
        let (left, top) = (x.floor() as i64, y.floor() as i64);
        let (right_share, low_share) = (x - x.floor(), y - y.floor());
        let row = |y: i64| {
            let (a, b) = (texel(left, y), texel(left.saturating_add(1), y));
            core::array::from_fn(|k| a[k] + (b[k] - a[k]) * right_share)
        };
        let (high, low): ([f32; 4], [f32; 4]) = (row(top), row(top.saturating_add(1)));
        core::array::from_fn(|k| high[k] + (low[k] - high[k]) * low_share)
    }
}

#[cfg(test)]
mod tests;
