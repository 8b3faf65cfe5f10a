//! Colours of materials and their textures.

use super::*;

/// Returns a texture of two texels, black and white.
fn texture(wrap: Wrap, nearest: bool) -> Texture {
    let image = Level { width: 2, height: 1, texels: vec![[0, 0, 0, 255], [255; 4]] };
    Texture { levels: mipmaps(image, MAX_KEPT_SIDE).into(), wrap: [wrap; 2], nearest }
}

/// Loads a document with one material whose texture is this image.
fn with_image(bytes: &[u8]) -> Materials {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.png"), bytes).unwrap();
    let json = serde_json::json!({
        "asset": { "version": "2.0" },
        "materials": [{ "pbrMetallicRoughness": { "baseColorTexture": { "index": 0 } } }, {}],
        "textures": [{ "source": 0 }],
        "images": [{ "uri": "a.png" }],
    });
    let text = json.to_string();
    let document = Document::from_slice("a", text.as_bytes(), Some(folder.path())).unwrap();
    Materials::load(&document, &BTreeSet::from([0, 1]))
}

#[test]
fn images_are_found_and_large_or_broken_ones_refused() {
    let png = |width, height| {
        let picture = image::RgbImage::from_pixel(width, height, image::Rgb([10, 200, 30]));
        crate::picture::still(crate::picture::Format::Png, &picture).unwrap()
    };
    let good = with_image(&png(3000, 2));
    assert_eq!(
        (good.problems.len(), good.get(Some(0)).texture, good.get(Some(1)).texture),
        (0, Some(0), None)
    );
    assert_eq!(good.textures[0].levels[0].width, 750);
    assert_eq!(good.textures[0].sample([0.3, 0.3], 1.0)[1], f32::from(200u8) / 255.0);
    for (bytes, word) in [
        (png(4097, 1), "4097x1"),
        (b"not a picture".to_vec(), "cannot be decoded"),
        (png(9, 9)[..60].to_vec(), "decoded"),
        (b"\xabKTX 20\xbb\r\n\x1a\n".to_vec(), "KTX2"),
        (b"DDS |\0\0\0".to_vec(), "DDS"),
        (b"\0\0\0\x20ftypavif\0\0\0\0".to_vec(), "AVIF"),
    ] {
        let bad = with_image(&bytes);
        assert!(
            bad.problems[0].starts_with("/images/0 (a.png): ") && bad.problems[0].contains(word),
            "{:?}",
            bad.problems
        );
        assert_eq!(bad.get(Some(0)).texture, None);
    }
}

/// Returns a chunk of a PNG. The sum at its end equals that of zlib's `crc32`.
fn chunk(kind: &[u8; 4], data: &[u8]) -> Vec<u8> {
    let body = [&kind[..], data].concat();
    let crc = body.iter().fold(u32::MAX, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| (crc >> 1) ^ (0xedb8_8320 * (crc & 1)))
    });
    let length = u32::try_from(data.len()).unwrap();
    [&length.to_be_bytes()[..], &body, &(!crc).to_be_bytes()].concat()
}

/// Returns zeros as a zlib stream with the fixed Huffman codes of DEFLATE: a literal, then copies of 258
/// bytes in 13 bits each.
fn zeros(copies: usize) -> Vec<u8> {
    let (mut out, mut bits, mut count) = (vec![0x78, 0x9c], 0u32, 0);
    let mut put = |code: u32, length: u32| {
        bits |= code << count;
        count += length;
        while count >= 8 {
            out.push(bits as u8);
            (bits, count) = (bits >> 8, count - 8);
        }
    };
    // The last block, with fixed codes, then the literal 0. Its eight-bit code 00110000 is written from the
    // highest bit on.
    put(0b011, 3);
    put(0b0000_1100, 8);
    for _ in 0..copies {
        // Length 258 (11000101), from the byte before (00000).
        put(0b1010_0011, 8);
        put(0, 5);
    }
    // The end of the block, and padding to a whole byte.
    put(0, 7);
    put(0, 7);
    // Adler-32 of zeros: the first sum is 1, and the second one is the number of bytes.
    let sum = ((1 + 258 * copies) % 65_521) as u32;
    out.extend((sum << 16 | 1).to_be_bytes());
    out
}

#[test]
fn what_a_picture_says_about_itself_takes_memory_in_proportion() {
    let picture = image::RgbImage::from_pixel(8, 8, image::Rgb([10, 200, 30]));
    let png = crate::picture::still(crate::picture::Format::Png, &picture).unwrap();
    for (copies, kept) in [(2_000, true), (1_000_000, false)] {
        let profile = chunk(b"iCCP", &[b"x\0\0".to_vec(), zeros(copies)].concat());
        // After the signature and the header.
        let hostile = [&png[..33], &profile, &png[33..]].concat();
        let profile = image::codecs::png::PngDecoder::new(Cursor::new(&hostile[..]));
        let profile = profile.unwrap().icc_profile().unwrap().unwrap_or_default();
        assert_eq!(profile.len(), 1 + 258 * copies);
        let mut found = None;
        let memory = allocation_counter::measure(|| found = Some(with_image(&hostile)));
        let found = found.unwrap();
        assert_eq!((found.problems.len(), found.get(Some(0)).texture), (0, Some(0)));
        assert_eq!(found.textures[0].sample([0.3, 0.3], 1.0)[1], f32::from(200u8) / 255.0);
        let limit = 16 << 20;
        assert!(memory.bytes_max < limit, "{} bytes took {}", hostile.len(), memory.bytes_max);
        assert!(kept || hostile.len() > 1_000_000);
    }
}

/// 300 images of 600 x 500 texels in one buffer, each the texture of a material.
#[test]
fn only_what_is_shown_is_decoded_and_many_images_are_kept_small() {
    let picture = image::RgbImage::from_pixel(600, 500, image::Rgb([10, 200, 30]));
    let png = crate::picture::still(crate::picture::Format::Png, &picture).unwrap();
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.bin"), &png).unwrap();
    let each = |of: fn(usize) -> Value| (0..300).map(of).collect::<Vec<_>>();
    let json = |same: bool| {
        serde_json::json!({
            "asset": { "version": "2.0" },
            "buffers": [{ "uri": "a.bin", "byteLength": png.len() }],
            "bufferViews": (0..300).map(|_| serde_json::json!({ "buffer": 0, "byteLength": png.len() })).collect::<Vec<_>>(),
            "materials": each(|i| {
                serde_json::json!({ "pbrMetallicRoughness": { "baseColorTexture": { "index": i } } })
            }),
            "textures": each(|i| serde_json::json!({ "source": i })),
            "images": match same {
                true => each(|_| serde_json::json!({ "bufferView": 0 })),
                false => each(|i| serde_json::json!({ "bufferView": i })),
            },
        })
    };
    let load = |same, shown: &[usize]| {
        let text = json(same).to_string();
        let document = Document::from_slice("a", text.as_bytes(), Some(folder.path())).unwrap();
        Materials::load(&document, &shown.iter().copied().collect())
    };
    let two = load(false, &[3, 299]);
    assert_eq!(two.textures.len(), 2);
    assert!(two.get(Some(3)).texture.is_some() && two.get(Some(4)).texture.is_none());
    assert_eq!(two.textures[0].levels[0].width, 600);
    let all: Vec<usize> = (0..300).collect();
    let many = load(false, &all);
    assert_eq!((many.textures.len(), many.problems.len()), (300, 0));
    let texels: usize = many.textures.iter().flat_map(|t| &*t.levels).map(|l| l.texels.len()).sum();
    assert!(texels < MAX_KEPT * 4 / 3, "{texels}");
    let same = load(true, &all);
    assert!(same.textures.iter().all(|t| Arc::ptr_eq(&t.levels, &same.textures[0].levels)));
    assert_eq!(same.textures[0].levels[0].width, 600);
}

#[test]
fn edges_wrap_as_the_sampler_says() {
    let at = |wrap, u: f32| texture(wrap, true).sample([u, 0.5], 1.0)[0];
    for (wrap, want) in [(Wrap::Repeat, [0.0, 1.0]), (Wrap::Clamp, [1.0, 0.0]), (Wrap::Mirror, [1.0, 0.0])] {
        assert_eq!([at(wrap, 1.2), at(wrap, -0.2)], want, "{wrap:?}");
    }
    assert_eq!(at(Wrap::Mirror, 1.7), 0.0);
}

#[test]
fn texels_blend_and_shrink() {
    let smooth = texture(Wrap::Clamp, false);
    assert_eq!(smooth.sample([0.5, 0.5], 1.0)[0], 0.5);
    assert_eq!(smooth.sample([0.25, 0.5], 1.0)[0], 0.0);
    assert_eq!(smooth.sample([0.25, 0.5], 16.0)[0], f32::from(127u8) / 255.0);
    assert_eq!(smooth.sample([f32::NAN, 0.5], 1.0), [1.0; 4]);
    smooth.sample([f32::MAX, f32::MIN], 1.0);
}

#[test]
fn an_image_that_can_be_drawn_is_chosen_before_one_that_cannot() {
    let json =
        serde_json::json!({ "images": [{ "uri": "a.ktx2" }, { "bufferView": 4, "name": "skin" }, {}] });
    let of = |texture: Value| Source::of(&json, &texture).map(|s| (s.index, s.name.to_string()));
    let basis = serde_json::json!({ "KHR_texture_basisu": { "source": 0 } });
    assert_eq!(of(serde_json::json!({ "extensions": basis })), Some((0, "a.ktx2".into())));
    assert_eq!(of(serde_json::json!({ "source": 1, "extensions": basis })), Some((1, "skin".into())));
    let webp = serde_json::json!({ "EXT_texture_webp": { "source": 2 } });
    assert_eq!(of(serde_json::json!({ "source": 1, "extensions": webp })), Some((2, String::new())));
    assert_eq!(of(serde_json::json!({})), None);
}

#[test]
fn diffuse_colours_take_the_place_of_base_colours() {
    let material = |own: Value| {
        Material::load(
            &serde_json::json!({
                "pbrMetallicRoughness": { "baseColorFactor": [0.1, 0.2, 0.3, 0.4], "baseColorTexture": { "texCoord": 1 } },
                "extensions": { "KHR_materials_pbrSpecularGlossiness": own },
            }),
            None,
        )
    };
    let glossy = material(
        serde_json::json!({ "diffuseFactor": [0.9, 0.8, 0.7, 0.6], "diffuseTexture": { "texCoord": 2 } }),
    );
    assert_eq!((glossy.factor, glossy.texture_set), ([0.9, 0.8, 0.7, 0.6], 2));
    let white = material(serde_json::json!({ "glossinessFactor": 0.5 }));
    assert_eq!((white.factor, white.texture_set), ([1.0; 4], 0));
    let plain = material(Value::Null);
    assert_eq!((plain.factor, plain.texture_set), ([0.1, 0.2, 0.3, 0.4], 1));
}

#[test]
fn materials_have_the_defaults_of_the_standard() {
    let plain = Material::load(&Value::Null, None);
    assert_eq!((plain.factor, plain.alpha), ([1.0; 4], Alpha::Opaque));
    let mask = Material::load(&serde_json::json!({ "alphaMode": "MASK" }), None);
    assert_eq!(mask.alpha, Alpha::Mask(0.5));
}
