//! Numbers in the fewest digits that give the same 32-bit float.
//!
//! Many programs convert f32 to f64 before they print a number: `0.10000000149011612` instead of `0.1`.

use crate::value::Value;

/// Members of nodes with numbers that readers store as f32.
const OF_NODES: [&str; 5] = ["translation", "rotation", "scale", "matrix", "weights"];

/// Shortens the transforms and morph weights of nodes.
pub(super) fn shorten_nodes(json: &mut Value) {
    for node in json.get_mut("nodes").and_then(Value::as_array_mut).into_iter().flatten() {
        shorten_members(node, &OF_NODES);
    }
}

/// Shortens the bounds of accessors.
pub(super) fn shorten_bounds(accessors: &mut [Value]) {
    accessors.iter_mut().for_each(|accessor| shorten_members(accessor, &["min", "max"]));
}

fn shorten_members(owner: &mut Value, keys: &[&str]) {
    for key in keys {
        for value in owner.get_mut(key).and_then(Value::as_array_mut).into_iter().flatten() {
            if let Some(shorter) = value.as_f64().and_then(shortest) {
                *value = shorter;
            }
        }
    }
}

/// Returns a number as an integer, or in the digits of its f32. `None` if its f32 differs.
fn shortest(number: f64) -> Option<Value> {
    let single = number as f32;
    if f64::from(single) != number {
        return None;
    }
    // The sign of -0 needs a float.
    if number.fract() == 0.0 && number.abs() < 1e9 && !(number == 0.0 && number.is_sign_negative()) {
        return Some((number as i64).into());
    }
    single.to_string().parse::<f64>().ok().map(Value::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::json;

    #[test]
    fn the_same_float_in_fewer_digits() {
        let f = f64::from;
        let mut json = json!({ "nodes": [{
            "translation": [f(0.1_f32), 0.1, 2.0],
            "rotation": [f(-1.5e-20_f32), -0.0, 1, f(0.999_929_55_f32)],
            "extras": "[1.0]",
            "matrix": [1e300, f(f32::MAX), "x"],
        }, {}, 3] });
        shorten_nodes(&mut json);
        let want = r#"{"nodes":[{"translation":[0.1,0.1,2],"rotation":[-1.5e-20,-0.0,1,0.99992955],"extras":"[1.0]","matrix":[1e+300,3.4028235e+38,"x"]},{},3]}"#;
        assert_eq!(json.to_string(), want);
        let mut state = 1_u32;
        for _ in 0..10_000 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let single = f32::from_bits(state);
            let Some(short) = shortest(single.into()).filter(|_| single.is_finite()) else { continue };
            let back = short.as_f64().unwrap() as f32;
            assert_eq!(back.to_bits(), single.to_bits(), "{single}");
            assert!(short.to_string().len() <= Value::from(single).to_string().len(), "{single}");
        }
    }
}
