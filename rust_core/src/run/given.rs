//! Reads what was given as JSON, and names the field that is wrong.

use crate::error::{Error, Result};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Reads `given`. An error has the path of its field, what was found there, and what `accepted` says of the field, or
/// else what its type takes.
pub fn read<T: DeserializeOwned>(given: &Value, accepted: impl Fn(&str) -> Option<String>) -> Result<T> {
    serde_path_to_error::deserialize(given).map_err(|error| {
        let (path, said) = (error.path().to_string(), error.inner().to_string());
        if let Some((parent, name, known)) = unknown_field(&path, &said) {
            let field = if parent.is_empty() { name.to_owned() } else { format!("{parent}.{name}") };
            return Error::invalid(&field, at(given, &field), format!("a field of {known}"));
        }
        let field = if path == "." { "spec" } else { &path };
        let expected = said.rsplit_once("expected ").map_or(&*said, |(_, expected)| expected);
        Error::invalid(field, at(given, &path), accepted(field).unwrap_or_else(|| expected.to_owned()))
    })
}

/// Where an unknown field stands, its name, and the names that are known there.
fn unknown_field<'a>(path: &'a str, said: &'a str) -> Option<(&'a str, &'a str, String)> {
    let (name, known) = said.strip_prefix("unknown field `")?.split_once('`')?;
    let parent = path.strip_suffix(name).unwrap_or(path).trim_matches('.');
    let known = known.split('`').skip(1).step_by(2).collect::<Vec<_>>().join(", ");
    Some((parent, name, known))
}

/// What stands at a dotted path.
fn at<'a>(given: &'a Value, path: &str) -> &'a Value {
    let names = path.split('.').filter(|name| !name.is_empty());
    names.fold(given, |value, name| value.get(name).unwrap_or(value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;
    use serde_json::json;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only read")]
    struct Inner {
        size: u64,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only read")]
    struct Outer {
        inner: Inner,
        word: Option<String>,
    }

    #[test]
    fn an_error_has_the_path_of_its_field_and_what_stands_there() {
        for (given, says) in [
            (json!({"inner": {"size": "x"}}), "inner.size: found \"x\", accepted: u64"),
            (json!({"inner": {"size": 1, "sise": 2}}), "inner.sise: found 2, accepted: a field of size"),
            (json!({"inner": {"size": 1}, "wort": true}), "wort: found true, accepted: a field of inner, word"),
            (json!({"inner": {"size": 1}, "word": 5}), "word: found 5, accepted: a word"),
            (json!([]), "spec: found [], accepted: struct Outer with 2 elements"),
        ] {
            let accepted = |field: &str| (field == "word").then(|| "a word".to_owned());
            assert_eq!(read::<Outer>(&given, accepted).unwrap_err().to_string(), says);
        }
    }
}
