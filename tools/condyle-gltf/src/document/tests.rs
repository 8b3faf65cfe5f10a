use super::*;
use crate::problem::Severity;
use crate::testing::Builder;
use crate::value::json;
use base64::prelude::{BASE64_STANDARD, Engine};

fn errors(json: &Value) -> Vec<(Severity, String)> {
    let mut json = json.clone();
    json["asset"] = json!({"version": "2.0"});
    let found = match Document::from_slice("test", &serde_json::to_vec(&json).unwrap(), None) {
        Ok(document) => document.problems().to_vec(),
        Err(refused) => refused.problems,
    };
    found.into_iter().map(|p| (p.severity, p.place)).collect()
}

#[test]
fn buffer_views_are_parts_of_buffers() {
    let json = json!({
        "asset": {"version": "2.0"},
        "buffers": [{"byteLength": 4, "uri": "data:;base64,AQIDBA=="}],
        "bufferViews": [{"buffer": 0, "byteOffset": 1, "byteLength": 3}, {"buffer": 0, "byteLength": 4}],
    });
    let document = Document::from_slice("test", &serde_json::to_vec(&json).unwrap(), None).unwrap();
    assert_eq!(document.buffer_view(0), Some(&[2, 3, 4][..]));
    assert_eq!(document.buffer_view(1), Some(&[1, 2, 3, 4][..]));
    assert_eq!(document.buffer_view(2), None);
    assert_eq!(document.problems(), []);
    assert_eq!(serde_json::from_str::<Value>(&document.json_text()).unwrap(), json);
    assert_eq!(document.json_at("/bufferViews/0/byteOffset").as_deref(), Some("1"));
    assert_eq!(document.json_at("/asset").as_deref(), Some(r#"{"version":"2.0"}"#));
    assert_eq!(document.json_at("/nodes"), None);
    assert_eq!(document.resource("data:,x"), Ok(b"x".to_vec()));
    assert!(document.resource("x.png").is_err());
}

#[test]
fn all_faults_of_buffers_and_views_are_listed() {
    let data = "data:;base64,AQIDBA==";
    let error = |path: &str| (Severity::Error, path.to_string());
    let found = errors(&json!({
        "buffers": [
            {"byteLength": 5, "uri": data},
            {"byteLength": 4, "uri": "http://x/y"},
            {"uri": data},
            {"byteLength": 4},
        ],
        "bufferViews": [
            {"buffer": 2, "byteLength": 5},
            {"buffer": 2, "byteOffset": u64::MAX, "byteLength": 5},
            {"buffer": 3, "byteLength": 4},
            {"buffer": 4, "byteLength": 4},
            {"buffer": 0, "byteLength": "x"},
        ],
    }));
    assert_eq!(
        found,
        [
            error("/buffers/0"),
            error("/buffers/1/uri"),
            error("/buffers/2"),
            // The same errors for two views.
            error("/bufferViews/0"),
            error("/bufferViews/2/buffer"),
            error("/bufferViews/3/buffer"),
            error("/bufferViews/4/byteLength"),
        ]
    );
    let found = errors(&json!({
        "buffers": [{"byteLength": 3, "uri": data}],
        "bufferViews": [{"buffer": 0, "byteLength": 3}, {"buffer": 0, "byteLength": 4}],
    }));
    assert_eq!(found, [(Severity::Warning, "/bufferViews/1".to_string())]);
}

/// Returns a document with one compressed view of nine floats, and a fallback buffer without data.
fn compressed(extension: &str) -> Value {
    // Version 0 without deltas: every element equals the baseline in the last four bytes.
    let mut stream = vec![0xa0];
    stream.resize(1 + 4 + 28, 0);
    stream.extend(1.5f32.to_le_bytes());
    let uri = format!("data:;base64,{}", BASE64_STANDARD.encode(&stream));
    json!({
        "extensionsUsed": [extension],
        "extensionsRequired": [extension],
        "buffers": [{"byteLength": stream.len(), "uri": uri}, {"byteLength": 36}],
        "bufferViews": [{
            "buffer": 1,
            "byteLength": 36,
            "extensions": {extension: {
                "buffer": 0,
                "byteLength": stream.len(),
                "byteStride": 4,
                "count": 9,
                "mode": "ATTRIBUTES",
            }},
        }],
    })
}

#[test]
fn compressed_views_are_decoded() {
    for extension in meshopt::EXTENSIONS {
        let mut json = compressed(extension);
        assert_eq!(errors(&json), [], "{extension}");
        // The file of a fallback buffer is not needed.
        json["buffers"][1]["uri"] = json!("gone.bin");
        assert_eq!(errors(&json), [(Severity::Error, "/buffers/1/uri".to_string())]);
        json["buffers"][1]["extensions"] = json!({extension: {"fallback": true}});
        assert_eq!(errors(&json), [], "{extension}");
        json["asset"] = json!({"version": "2.0"});
        let document = Document::from_slice("test", &serde_json::to_vec(&json).unwrap(), None).unwrap();
        assert_eq!(document.buffer_view(0).unwrap(), 1.5f32.to_le_bytes().repeat(9));
    }
}

#[test]
fn faulty_compressed_views() {
    let extension = meshopt::EXTENSIONS[0];
    let path = "/bufferViews/0";
    let inside = format!("{path}/extensions/{extension}");
    let with = |key: &str, value: Value| {
        let mut json = compressed(extension);
        json["bufferViews"][0]["extensions"][extension][key] = value;
        errors(&json)
    };
    let error = |path: &str| vec![(Severity::Error, path.to_string())];
    assert_eq!(with("count", json!(8)), error(path));
    assert_eq!(with("mode", json!("INDICES")), error(&inside));
    assert_eq!(with("byteLength", json!(36)), error(&inside));
    assert_eq!(with("byteLength", json!(99)), error(&inside));
    assert_eq!(with("buffer", json!(1)), error(&format!("{inside}/buffer")));
    // A declared size of one gigabyte.
    let mut json = compressed(extension);
    json["bufferViews"][0]["byteLength"] = json!(1 << 30);
    json["bufferViews"][0]["extensions"][extension]["count"] = json!(1 << 28);
    assert_eq!(errors(&json), error(&inside));
}

#[test]
fn files_that_the_caller_has() {
    let json = serde_json::to_vec(&json!({
        "asset": {"version": "2.0"},
        "buffers": [{"byteLength": 4, "uri": "a%20b.bin"}, {"byteLength": 4, "uri": "./a b.bin"}],
        "bufferViews": [{"buffer": 0, "byteLength": 4}, {"buffer": 1, "byteLength": 2}],
        "images": [{"uri": "in/c.png"}, {"uri": "gone.png"}, {"uri": "../up.png"}, {"uri": "data:,x"}],
    }));
    let json = json.unwrap();
    let mut wanted = Vec::new();
    let file = |path: &str| {
        wanted.push(path.to_owned());
        path.ends_with(['n', 'g'])
            .then_some(path.len() as u8)
            .filter(|_| path != "gone.png")
            .map(|n| vec![n; 4])
    };
    let document = Document::from_parts("test", &json, file).unwrap();
    assert_eq!(document.buffer_view(1), Some(&[7, 7][..]));
    let bytes = |buffer: usize| document.buffers[buffer].bytes.as_ref().unwrap();
    assert!(Arc::ptr_eq(bytes(0), bytes(1)));
    assert_eq!(document.resource("./in/c.png"), Ok(vec![8; 4]));
    assert!(document.resource("gone.png").unwrap_err().contains("missing"));
    assert!(document.resource("../up.png").unwrap_err().contains("outside"));
    assert_eq!(document.files(), [] as [PathBuf; 0]);
    assert_eq!(wanted, ["a b.bin", "in/c.png", "gone.png"]);
    let refused = Document::from_parts("test", &json, |_| None).unwrap_err();
    assert!(refused.problems[0].action.contains("together with the file"), "{refused}");
}

// WebAssembly has no temporary folder.
#[cfg(not(target_family = "wasm"))]
#[test]
fn files_beside_the_document() {
    let folder = std::env::temp_dir().join(format!("condyle-document-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("a b.bin"), [1, 2, 3, 4]).unwrap();
    let json = json!({
        "asset": {"version": "2.0"},
        "buffers": [{"byteLength": 4, "uri": "a%20b.bin"}, {"byteLength": 4, "uri": "./a b.bin"}],
        "bufferViews": [{"buffer": 0, "byteLength": 4}, {"buffer": 1, "byteLength": 2}],
        "images": [{"uri": "a%20b.bin"}, {"uri": "c.png"}, {"uri": "gone.png"}, {"uri": "../up.png"}, {}],
    });
    std::fs::write(folder.join("c.png"), []).unwrap();
    let path = folder.join("model.gltf");
    std::fs::write(&path, serde_json::to_vec(&json).unwrap()).unwrap();
    let document = Document::open(&path).unwrap();
    assert_eq!(document.buffer_view(1), Some(&[1, 2][..]));
    // One file under two URIs is kept once.
    let bytes = |buffer: usize| document.buffers[buffer].bytes.as_ref().unwrap();
    assert!(Arc::ptr_eq(bytes(0), bytes(1)));
    assert_eq!(document.resource("a b.bin").unwrap(), [1, 2, 3, 4]);
    let inside = folder.canonicalize().unwrap();
    assert_eq!(document.files(), [inside.join("a b.bin"), inside.join("c.png")]);
    assert_eq!(document.name(), path.display().to_string());
    let refused = Document::open(&folder).unwrap_err();
    assert!(refused.to_string().contains("not a regular file"), "{refused}");
    std::fs::remove_dir_all(&folder).unwrap();
    let missing = Document::open(&path).unwrap_err().to_string();
    assert!(missing.contains("cannot be read") && missing.contains("check that the path"), "{missing}");
}

#[test]
fn errors_of_all_stages_come_together() {
    let mut it = Builder::new(json!({"nodes": [{"children": [0]}], "animations": [{"channels": 1}]}));
    it.json["bufferViews"] = json!([{"buffer": 7, "byteLength": 1}]);
    it.json["accessors"] = json!([{"type": "VEC3"}]);
    let document = Document::gather_slice("test", &it.text(), |_| Files::None).unwrap();
    let refused = crate::Asset::from_document(document).unwrap_err();
    let paths: Vec<_> = refused.problems.iter().map(|p| p.place.as_str()).collect();
    assert_eq!(
        paths,
        ["/bufferViews/0/buffer", "/accessors/0", "/accessors/0", "/nodes/0", "/animations/0/channels", ""]
    );
}
