//! Turns materials and textures to glTF.

use std::collections::HashMap;

use serde_json::{Map, Value, json};
use ufbx::{Material, MaterialMap, Scene, ShaderType, Texture, TextureType, WrapMode};

use crate::buffer::{Buffer, TooLarge};
use crate::problems::Problems;

/// Reads a file by its path relative to the folder of the FBX file, with `/`.
pub(crate) type Files<'a> = &'a mut dyn FnMut(&str) -> Option<Vec<u8>>;

/// Materials, textures and images of the document.
pub(crate) struct Materials<'a> {
    scene: &'a Scene,
    /// Name of the FBX file without folder and extension: embedded textures may lie in `NAME.fbm`.
    stem: &'a str,
    files: Files<'a>,
    pub(crate) materials: Vec<Value>,
    pub(crate) textures: Vec<Value>,
    pub(crate) images: Vec<Value>,
    pub(crate) samplers: Vec<Value>,
    /// Image of each file, and whether it has an alpha channel. `None` if the image is missing.
    known: HashMap<u32, Option<(usize, bool)>>,
    /// Whether `KHR_texture_transform` is used.
    pub(crate) is_transformed: bool,
}

/// A texture of a material.
struct Used {
    value: Value,
    /// File of the texture.
    file: u32,
    has_alpha: bool,
}

impl<'a> Materials<'a> {
    pub(crate) fn new(scene: &'a Scene, stem: &'a str, files: Files<'a>) -> Self {
        let none = Vec::new;
        let (materials, textures, images, samplers) = (none(), none(), none(), none());
        let known = HashMap::new();
        Self { scene, stem, files, materials, textures, images, samplers, known, is_transformed: false }
    }

    /// Adds all materials. Returns the index of each.
    pub(crate) fn add_all(
        &mut self,
        buffer: &mut Buffer,
        problems: &mut Problems,
    ) -> Result<Vec<Option<usize>>, TooLarge> {
        let scene = self.scene;
        for material in &scene.materials {
            let value = self.material(material, buffer, problems)?;
            self.materials.push(value);
        }
        Ok((0..scene.materials.len()).map(Some).collect())
    }

    fn material(
        &mut self,
        material: &Material,
        buffer: &mut Buffer,
        problems: &mut Problems,
    ) -> Result<Value, TooLarge> {
        let place = || format!("material {}", &*material.element.name);
        let (pbr, fbx) = (&material.pbr, &material.fbx);
        let mut out = Map::new();
        let mut surface = Map::new();
        if !material.element.name.is_empty() {
            out.insert("name".into(), (&*material.element.name).into());
        }
        let phong = matches!(material.shader_type, ShaderType::FbxPhong | ShaderType::FbxLambert);
        if phong {
            problems.note(
                place(),
                "it is a Phong or Lambert material",
                "metallic 0, and a roughness from the shininess, approximate it",
            );
        }
        let base = self.texture(&pbr.base_color, &place, buffer, problems)?;
        let factor = if pbr.base_factor.has_value { ratio(pbr.base_factor.value_vec4.x) } else { 1.0 };
        let color = pbr.base_color.value_vec4;
        // A texture takes the place of the colour.
        let color = match base.is_some() || !pbr.base_color.has_value {
            true => [factor; 3],
            false => [color.x, color.y, color.z].map(|v| ratio(v) * factor),
        };
        let opacity = if pbr.opacity.has_value { ratio(pbr.opacity.value_vec4.x) } else { 1.0 };
        let opaque = self.texture(&pbr.opacity, &place, buffer, problems)?;
        let opaque = match opaque {
            Some(it) => Some(it),
            None => self.texture(&fbx.transparency_color, &place, buffer, problems)?,
        };
        if color != [1.0; 3] || opacity < 1.0 {
            let alpha = if opaque.is_some() { 1.0 } else { opacity };
            surface.insert("baseColorFactor".into(), json!([color[0], color[1], color[2], alpha]));
        }
        let cut = base.as_ref().zip(opaque.as_ref()).is_some_and(|(a, b)| a.file == b.file && a.has_alpha);
        if cut || (opacity < 1.0 && opaque.is_none()) {
            out.insert("alphaMode".into(), "BLEND".into());
        } else if opaque.as_ref().is_some_and(|it| base.as_ref().is_none_or(|base| base.file != it.file)) {
            problems.warn(place(), "a texture of its transparency", "the texture is left out");
        }
        if let Some(base) = base {
            surface.insert("baseColorTexture".into(), base.value);
        }
        let metalness = if pbr.metalness.has_value { ratio(pbr.metalness.value_vec4.x) } else { 0.0 };
        let roughness = if pbr.roughness.has_value { ratio(pbr.roughness.value_vec4.x) } else { 1.0 };
        let metal = self.texture(&pbr.metalness, &place, buffer, problems)?;
        let rough = self.texture(&pbr.roughness, &place, buffer, problems)?;
        match (metal, rough) {
            (Some(metal), Some(rough)) if metal.file == rough.file => {
                surface.insert("metallicRoughnessTexture".into(), metal.value);
            }
            (None, None) => {
                surface.insert("metallicFactor".into(), json!(metalness));
                surface.insert("roughnessFactor".into(), json!(roughness));
            }
            _ => {
                let what = "its metalness and roughness are not one texture";
                problems.warn(place(), what, "the two are left out: metallic 0, roughness 1");
                surface.insert("metallicFactor".into(), json!(0.0));
            }
        }
        out.insert("pbrMetallicRoughness".into(), surface.into());
        let mut normal = self.texture(&pbr.normal_map, &place, buffer, problems)?;
        if normal.is_none() {
            normal = self.texture(&fbx.normal_map, &place, buffer, problems)?;
        }
        if normal.is_none() {
            normal = self.texture(&fbx.bump, &place, buffer, problems)?;
            if normal.is_some() {
                problems.note(
                    place(),
                    "a bump map",
                    "bump maps are taken for normal maps, as most of them are",
                );
            }
        }
        if let Some(normal) = normal {
            out.insert("normalTexture".into(), normal.value);
        }
        if let Some(shade) = self.texture(&pbr.ambient_occlusion, &place, buffer, problems)? {
            out.insert("occlusionTexture".into(), shade.value);
        }
        let glow = self.texture(&pbr.emission_color, &place, buffer, problems)?;
        let factor = if pbr.emission_factor.has_value { pbr.emission_factor.value_vec4.x } else { 1.0 };
        let color = pbr.emission_color.value_vec4;
        let color = match &glow {
            Some(_) => [ratio(factor); 3],
            None => [color.x, color.y, color.z].map(|v| ratio(v * factor)),
        };
        if let Some(glow) = glow {
            out.insert("emissiveTexture".into(), glow.value);
        }
        if color != [0.0; 3] {
            out.insert("emissiveFactor".into(), json!(color));
        }
        if material.features.double_sided.enabled {
            out.insert("doubleSided".into(), true.into());
        }
        Ok(out.into())
    }

    /// Adds the texture of a property.
    fn texture(
        &mut self,
        map: &MaterialMap,
        place: &dyn Fn() -> String,
        buffer: &mut Buffer,
        problems: &mut Problems,
    ) -> Result<Option<Used>, TooLarge> {
        let Some(texture) = map.texture.as_ref().filter(|_| map.texture_enabled) else { return Ok(None) };
        let mut texture: &Texture = texture;
        if texture.type_ != TextureType::File {
            problems.warn(
                place(),
                "a texture of layers or of a shader",
                "the first file of such a texture is used",
            );
            let Some(first) = texture.file_textures.into_iter().next() else { return Ok(None) };
            texture = first;
        }
        if !texture.has_file {
            return Ok(None);
        }
        let file = texture.file_index;
        let Some((image, has_alpha)) = self.image(file, buffer, problems)? else { return Ok(None) };
        let wrap = |mode: WrapMode| if mode == WrapMode::Clamp { 33071 } else { 10497 };
        let sampler = json!({"wrapS": wrap(texture.wrap_u), "wrapT": wrap(texture.wrap_v)});
        let sampler = position(&mut self.samplers, sampler);
        let texture_index = position(&mut self.textures, json!({"source": image, "sampler": sampler}));
        let mut value = json!({"index": texture_index});
        let set = self.coordinates(&texture.uv_set);
        if set > 0 {
            value["texCoord"] = set.into();
        }
        if texture.has_uv_transform {
            let m = &texture.uv_to_texture;
            let all = [m.m00, m.m11, m.m03, m.m13];
            if m.m01.abs() + m.m10.abs() > 1e-9 || all.iter().any(|v| !v.is_finite()) {
                problems.warn(place(), "a rotated texture", "rotations of textures are left out");
            } else if all != [1.0, 1.0, 0.0, 0.0] {
                // v counts from the top in glTF.
                let transform = json!({"scale": [m.m00, m.m11], "offset": [m.m03, 1.0 - m.m11 - m.m13]});
                value["extensions"] = json!({"KHR_texture_transform": transform});
                self.is_transformed = true;
            }
        }
        Ok(Some(Used { value, file, has_alpha }))
    }

    /// Index of the set of texture coordinates with this name.
    fn coordinates(&self, name: &str) -> usize {
        if name.is_empty() {
            return 0;
        }
        let sets = self
            .scene
            .meshes
            .into_iter()
            .filter_map(|mesh| mesh.uv_sets.iter().position(|set| &*set.name == name));
        sets.into_iter().next().unwrap_or(0)
    }

    /// Adds the image of a texture file.
    fn image(
        &mut self,
        file: u32,
        buffer: &mut Buffer,
        problems: &mut Problems,
    ) -> Result<Option<(usize, bool)>, TooLarge> {
        if let Some(known) = self.known.get(&file) {
            return Ok(*known);
        }
        let Some(it) = self.scene.texture_files.get(file as usize) else { return Ok(None) };
        let name = last(if it.relative_filename.is_empty() { &it.filename } else { &it.relative_filename });
        let place = || format!("texture {name}");
        let mut found = None;
        let bytes = match it.content.is_empty() {
            false => Some(it.content.to_vec()),
            true => self.in_folder(&it.relative_filename, name),
        };
        match bytes {
            None => problems.warn(
                place(),
                "its file is not in the folder of the FBX file or below",
                "the texture is left out",
            ),
            Some(bytes) => match media_type(&bytes) {
                None => problems.warn(
                    place(),
                    "it is neither PNG nor JPEG",
                    "the texture is left out; convert it, and write it in its place",
                ),
                Some((kind, has_alpha)) => {
                    let view = buffer.view(&bytes, None)?;
                    let stem = name.rsplit_once('.').map_or(name, |it| it.0);
                    self.images.push(json!({"name": stem, "mimeType": kind, "bufferView": view}));
                    found = Some((self.images.len() - 1, has_alpha));
                }
            },
        }
        self.known.insert(file, found);
        Ok(found)
    }

    /// Reads a texture from its relative path, from the folder of the file, or from a folder of textures.
    fn in_folder(&mut self, relative: &str, name: &str) -> Option<Vec<u8>> {
        let relative = relative.replace('\\', "/");
        let is_below = !relative.starts_with('/')
            && !relative.contains(':')
            && relative.split('/').all(|part| part != ".." && part != ".");
        let own = format!("{}.fbm/{name}", self.stem);
        let mut paths = if is_below { vec![relative] } else { Vec::new() };
        paths.extend([name.into(), own, format!("textures/{name}"), format!("Textures/{name}")]);
        if name.is_empty() || name == ".." || name == "." {
            return None;
        }
        paths.iter().find_map(|path| (self.files)(path))
    }
}

/// Index of a value in a list, to which it is added if it is not there.
fn position(list: &mut Vec<Value>, value: Value) -> usize {
    list.iter().position(|it| *it == value).unwrap_or_else(|| {
        list.push(value);
        list.len() - 1
    })
}

/// Last part of a path of any system.
fn last(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

/// Media type of an image that glTF can hold, and whether it may have an alpha channel.
fn media_type(bytes: &[u8]) -> Option<(&'static str, bool)> {
    if bytes.starts_with(b"\x89PNG\r\n\x1a\n") {
        // The type of colour in the header: 4 and 6 have alpha, 3 has a palette, which may have.
        let has_alpha = bytes.get(25).is_some_and(|kind| matches!(kind, 3 | 4 | 6));
        return Some(("image/png", has_alpha));
    }
    bytes.starts_with(&[0xff, 0xd8, 0xff]).then_some(("image/jpeg", false))
}

/// A factor of glTF: from 0 to 1.
fn ratio(value: f64) -> f64 {
    if value.is_finite() { value.clamp(0.0, 1.0) } else { 0.0 }
}
