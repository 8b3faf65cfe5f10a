//! Random edits of a valid document, which get past the JSON parser.

use arbitrary::{Result, Unstructured};
use serde_json::{Value, json};

/// Replaces a few values, strings and bytes of a document. Few, because the importer may stop at the first
/// error. If the input ends during an edit, the earlier edits still count.
pub fn edit(json: &mut Value, buffer: &mut [u8], input: &mut Unstructured<'_>) -> Result<()> {
    for _ in 0..4 {
        if input.is_empty() {
            break;
        }
        if input.arbitrary()? {
            let at = input.choose_index(buffer.len())?;
            buffer[at] = input.arbitrary()?;
        } else {
            *pick(json, input)? = value(input)?;
        }
    }
    Ok(())
}

/// Random place in the document.
fn pick<'a>(mut here: &'a mut Value, input: &mut Unstructured<'_>) -> Result<&'a mut Value> {
    loop {
        let stop = input.ratio(1, 8)?;
        let count = match here {
            Value::Array(items) if !stop => items.len(),
            Value::Object(fields) if !stop => fields.len(),
            _ => 0,
        };
        if count == 0 {
            return Ok(here);
        }
        let at = input.choose_index(count)?;
        let next = match here {
            Value::Array(items) => items.get_mut(at),
            Value::Object(fields) => fields.values_mut().nth(at),
            _ => None,
        };
        here = next.expect("the index is below the count");
    }
}

fn value(input: &mut Unstructured<'_>) -> Result<Value> {
    Ok(match input.int_in_range(0..=7)? {
        0 => json!(input.arbitrary::<u8>()?),
        1 => json!(input.arbitrary::<u32>()?),
        2 => json!(input.arbitrary::<i64>()?),
        3 => json!(f32::from_bits(input.arbitrary()?)),
        4 => Value::Null,
        5 => json!([]),
        6 => json!({}),
        _ => {
            json!(*input.choose(&["LINEAR", "STEP", "CUBICSPLINE", "scale", "VEC2", "SCALAR", "MAT4", ""])?)
        }
    })
}
