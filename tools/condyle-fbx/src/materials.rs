//! Turns materials and textures to glTF.

use std::collections::HashMap;

use serde_json::{Map, Value, json};
use ufbx::{Material, MaterialMap, Scene, ShaderType, Texture, TextureType, WrapMode};

use crate::buffer::TooLarge;
use crate::context::Context;

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
    /// Image of each file. `None` if it is missing.
    known: HashMap<u32, Option<Image>>,
    /// Whether `KHR_texture_transform` is used.
    pub(crate) is_transformed: bool,
}

/// An image of the document.
#[derive(Clone, Copy)]
struct Image {
    index: usize,
    has_alpha: bool,
}

/// A texture of a material.
struct MaterialTexture {
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
    pub(crate) fn add_all(&mut self, context: &mut Context<'_>) -> Result<Vec<Option<usize>>, TooLarge> {
        let scene = self.scene;
        for material in &scene.materials {
            let value = self.material(material, context)?;
            self.materials.push(value);
        }
        Ok((0..scene.materials.len()).map(Some).collect())
    }

    fn material(&mut self, material: &Material, context: &mut Context<'_>) -> Result<Value, TooLarge> {
        let mut out = Map::new();
        let mut surface = Map::new();
        if !material.element.name.is_empty() {
            out.insert("name".into(), (&*material.element.name).into());
        }
        if matches!(material.shader_type, ShaderType::FbxPhong | ShaderType::FbxLambert) {
            context.problems.note(
                place(material),
                "it is a Phong or Lambert material",
                "metallic 0, and a roughness from the shininess, approximate it",
            );
        }
        self.base_color(material, &mut out, &mut surface, context)?;
        self.metallic_roughness(material, &mut surface, context)?;
        out.insert("pbrMetallicRoughness".into(), surface.into());
        if let Some(normal) = self.normal(material, context)? {
            out.insert("normalTexture".into(), normal.value);
        }
        if let Some(occlusion) = self.texture(&material.pbr.ambient_occlusion, material, context)? {
            out.insert("occlusionTexture".into(), occlusion.value);
        }
        self.emission(material, &mut out, context)?;
        if material.features.double_sided.enabled {
            out.insert("doubleSided".into(), true.into());
        }
        Ok(out.into())
    }

    /// Base colour with its opacity, and the alpha mode.
    fn base_color(
        &mut self,
        material: &Material,
        out: &mut Map<String, Value>,
        surface: &mut Map<String, Value>,
        context: &mut Context<'_>,
    ) -> Result<(), TooLarge> {
        let (pbr, fbx) = (&material.pbr, &material.fbx);
        let base = self.texture(&pbr.base_color, material, context)?;
        let factor = if pbr.base_factor.has_value { ratio(pbr.base_factor.value_vec4.x) } else { 1.0 };
        let color = pbr.base_color.value_vec4;
        // A texture takes the place of the colour.
        let color = if base.is_some() || !pbr.base_color.has_value {
            [factor; 3]
        } else {
            [color.x, color.y, color.z].map(|v| ratio(v) * factor)
        };
        let opacity = if pbr.opacity.has_value { ratio(pbr.opacity.value_vec4.x) } else { 1.0 };
        let mask = match self.texture(&pbr.opacity, material, context)? {
            Some(mask) => Some(mask),
            None => self.texture(&fbx.transparency_color, material, context)?,
        };
        if color != [1.0; 3] || opacity < 1.0 {
            let alpha = if mask.is_some() { 1.0 } else { opacity };
            surface.insert("baseColorFactor".into(), json!([color[0], color[1], color[2], alpha]));
        }
        let is_cut = base.as_ref().zip(mask.as_ref()).is_some_and(|(a, b)| a.file == b.file && a.has_alpha);
        if is_cut || (opacity < 1.0 && mask.is_none()) {
            out.insert("alphaMode".into(), "BLEND".into());
        } else if mask.is_some_and(|mask| base.as_ref().is_none_or(|base| base.file != mask.file)) {
            let what = "a texture of its transparency";
            context.problems.warn(place(material), what, "the texture is left out");
        }
        if let Some(base) = base {
            surface.insert("baseColorTexture".into(), base.value);
        }
        Ok(())
    }

    fn metallic_roughness(
        &mut self,
        material: &Material,
        surface: &mut Map<String, Value>,
        context: &mut Context<'_>,
    ) -> Result<(), TooLarge> {
        let pbr = &material.pbr;
        let metalness = if pbr.metalness.has_value { ratio(pbr.metalness.value_vec4.x) } else { 0.0 };
        let roughness = if pbr.roughness.has_value { ratio(pbr.roughness.value_vec4.x) } else { 1.0 };
        let metal = self.texture(&pbr.metalness, material, context)?;
        let rough = self.texture(&pbr.roughness, material, context)?;
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
                let action = "the two are left out: metallic 0, roughness 1";
                context.problems.warn(place(material), what, action);
                surface.insert("metallicFactor".into(), json!(0.0));
            }
        }
        Ok(())
    }

    /// Normal map, or a bump map in its place.
    fn normal(
        &mut self,
        material: &Material,
        context: &mut Context<'_>,
    ) -> Result<Option<MaterialTexture>, TooLarge> {
        for map in [&material.pbr.normal_map, &material.fbx.normal_map] {
            if let Some(normal) = self.texture(map, material, context)? {
                return Ok(Some(normal));
            }
        }
        let bump = self.texture(&material.fbx.bump, material, context)?;
        if bump.is_some() {
            context.problems.note(
                place(material),
                "a bump map",
                "bump maps are taken for normal maps, as most of them are",
            );
        }
        Ok(bump)
    }

    fn emission(
        &mut self,
        material: &Material,
        out: &mut Map<String, Value>,
        context: &mut Context<'_>,
    ) -> Result<(), TooLarge> {
        let pbr = &material.pbr;
        let texture = self.texture(&pbr.emission_color, material, context)?;
        let factor = if pbr.emission_factor.has_value { pbr.emission_factor.value_vec4.x } else { 1.0 };
        let color = pbr.emission_color.value_vec4;
        let color = match &texture {
            Some(_) => [ratio(factor); 3],
            None => [color.x, color.y, color.z].map(|v| ratio(v * factor)),
        };
        if let Some(texture) = texture {
            out.insert("emissiveTexture".into(), texture.value);
        }
        if color != [0.0; 3] {
            out.insert("emissiveFactor".into(), json!(color));
        }
        Ok(())
    }

    /// Adds the texture of a property.
    fn texture(
        &mut self,
        map: &MaterialMap,
        material: &Material,
        context: &mut Context<'_>,
    ) -> Result<Option<MaterialTexture>, TooLarge> {
        let Some(texture) = map.texture.as_ref().filter(|_| map.texture_enabled) else { return Ok(None) };
        let mut texture: &Texture = texture;
        if texture.type_ != TextureType::File {
            context.problems.warn(
                place(material),
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
        let Some(Image { index: image, has_alpha }) = self.image(file, context)? else { return Ok(None) };
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
                let action = "rotations of textures are left out";
                context.problems.warn(place(material), "a rotated texture", action);
            } else if all != [1.0, 1.0, 0.0, 0.0] {
                // v counts from the top in glTF.
                let transform = json!({"scale": [m.m00, m.m11], "offset": [m.m03, 1.0 - m.m11 - m.m13]});
                value["extensions"] = json!({"KHR_texture_transform": transform});
                self.is_transformed = true;
            }
        }
        Ok(Some(MaterialTexture { value, file, has_alpha }))
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
    fn image(&mut self, file: u32, context: &mut Context<'_>) -> Result<Option<Image>, TooLarge> {
        if let Some(known) = self.known.get(&file) {
            return Ok(*known);
        }
        let Some(texture) = self.scene.texture_files.get(file as usize) else { return Ok(None) };
        let relative = &texture.relative_filename;
        let name = last(if relative.is_empty() { &texture.filename } else { relative });
        let place = || format!("texture {name}");
        let mut found = None;
        let bytes = if texture.content.is_empty() {
            self.in_folder(relative, name)
        } else {
            Some(texture.content.to_vec())
        };
        match bytes {
            None => context.problems.warn(
                place(),
                "its file is not in the folder of the FBX file or below",
                "the texture is left out",
            ),
            Some(bytes) => match media_type(&bytes) {
                None => context.problems.warn(
                    place(),
                    "it is neither PNG nor JPEG",
                    "the texture is left out; convert it, and write it in its place",
                ),
                Some((media_type, has_alpha)) => {
                    let view = context.buffer.view(&bytes, None)?;
                    let stem = name.rsplit_once('.').map_or(name, |parts| parts.0);
                    self.images.push(json!({"name": stem, "mimeType": media_type, "bufferView": view}));
                    found = Some(Image { index: self.images.len() - 1, has_alpha });
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
        let embedded = format!("{}.fbm/{name}", self.stem);
        let mut paths = if is_below { vec![relative] } else { Vec::new() };
        paths.extend([name.into(), embedded, format!("textures/{name}"), format!("Textures/{name}")]);
        if name.is_empty() || name == ".." || name == "." {
            return None;
        }
        paths.iter().find_map(|path| (self.files)(path))
    }
}

/// Place of a material in problems.
fn place(material: &Material) -> String {
    format!("material {}", &*material.element.name)
}

/// Index of a value in a list, to which it is added if it is not there.
fn position(list: &mut Vec<Value>, value: Value) -> usize {
    list.iter().position(|known| *known == value).unwrap_or_else(|| {
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
