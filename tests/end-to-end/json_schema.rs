//! Whether JSON is as a JSON Schema says; as much of it as our schemas use.

use serde_json::Value;

/// Fails with the place where it is not.
#[track_caller]
pub fn assert_fits(value: &Value, schema: &Value) {
    if let Err(problem) = fits(value, schema, schema, "$") {
        panic!("{problem}");
    }
}

fn fits(value: &Value, schema: &Value, root: &Value, at: &str) -> Result<(), String> {
    if let Some(name) = schema["$ref"].as_str() {
        let found = root.pointer(name.trim_start_matches('#'));
        fits(value, found.ok_or(format!("{at}: there is no {name}"))?, root, at)?;
    }
    for choice in ["oneOf", "anyOf"] {
        if let Some(choices) = schema[choice].as_array() {
            let problems: Vec<String> =
                choices.iter().filter_map(|one| fits(value, one, root, at).err()).collect();
            if problems.len() == choices.len() {
                return Err(format!("{at}: fits no choice: {problems:?}"));
            }
        }
    }
    if !schema["const"].is_null() && schema["const"] != *value {
        return Err(format!("{at}: {value} is not {}", schema["const"]));
    }
    if let Some(known) = schema["enum"].as_array().filter(|known| !known.contains(value)) {
        return Err(format!("{at}: {value} is none of {known:?}"));
    }
    let types: Vec<&str> = match &schema["type"] {
        Value::String(one) => vec![one],
        Value::Array(several) => several.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    if !types.is_empty() && !types.iter().any(|known| is(value, known)) {
        return Err(format!("{at}: {value} is no {types:?}"));
    }
    for required in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if value.get(required).is_none() {
            return Err(format!("{at}: {required} is missing"));
        }
    }
    for (name, inner) in value.as_object().into_iter().flatten() {
        match (&schema["properties"][name], &schema["additionalProperties"]) {
            (Value::Null, rest) if rest.is_object() => fits(inner, rest, root, &format!("{at}.{name}"))?,
            (Value::Null, _) => {}
            (known, _) => fits(inner, known, root, &format!("{at}.{name}"))?,
        }
    }
    for (number, inner) in value.as_array().into_iter().flatten().enumerate() {
        if schema["items"].is_object() {
            fits(inner, &schema["items"], root, &format!("{at}[{number}]"))?;
        }
    }
    Ok(())
}

fn is(value: &Value, kind: &str) -> bool {
    match kind {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => false,
    }
}
