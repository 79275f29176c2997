//! How engines declare their options, and workloads their parameters: one table gives the struct, its defaults, its
//! types, ranges and texts, and the parser that refuses what it does not know. Who shows, searches or writes options
//! reads the table through [`OptionInfo::to_json`]; nobody declares one again.

use crate::error::{Error, Result};
use serde_json::{Map, Value, json};

/// What an option accepts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Accepts {
    /// Numbers from the first to the second, both included; whole ones where the option is an integer.
    Range(f64, f64),
    /// Sizes in bytes from the first to the second, both included.
    Bytes(u64, u64),
    /// One of these sizes in bytes.
    Sizes(&'static [u64]),
    /// One of these words.
    Words(&'static [&'static str]),
    /// A text that the engine parses further: in words, and as a regular expression for those who have no parser, which
    /// may be narrower, as a parser also takes older spellings.
    Text(&'static str, &'static str),
    /// True or false.
    Switch,
}

impl Accepts {
    fn describe(self) -> String {
        match self {
            Self::Range(low, high) => format!("a number from {low} to {high}"),
            Self::Bytes(low, high) => format!("a number from {low} to {high}"),
            Self::Sizes(sizes) => format!("one of {}", sizes.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")),
            Self::Words(words) => format!("one of {}", words.join(", ")),
            Self::Text(what, _) => what.to_owned(),
            Self::Switch => "true or false".to_owned(),
        }
    }

    fn admits(self, value: &Value) -> bool {
        match self {
            Self::Range(low, high) => value.as_f64().is_some_and(|n| (low..=high).contains(&n)),
            Self::Bytes(low, high) => value.as_f64().is_some_and(|n| (low as f64..=high as f64).contains(&n)),
            Self::Sizes(sizes) => value.as_u64().is_some_and(|n| sizes.contains(&n)),
            Self::Words(words) => value.as_str().is_some_and(|word| words.contains(&word)),
            Self::Text(..) => value.is_string(),
            Self::Switch => value.is_boolean(),
        }
    }
}

/// One option of an engine, or one parameter of a workload.
#[derive(Debug, Clone, PartialEq)]
pub struct OptionInfo {
    /// The real product's name.
    pub name: &'static str,
    /// The default, as JSON.
    pub default: Value,
    /// What is accepted.
    pub accepts: Accepts,
    /// What a number counts; empty for sizes and where there is nothing to say.
    pub unit: &'static str,
    /// The option whose value is a lower bound of this one. Where a setting breaks it, the engine refuses or, as the
    /// product does, takes the nearest value that keeps it.
    pub at_least: Option<&'static str>,
    /// What 0 stands for where it is no value like others and has no lower bound; empty where it is none.
    pub zero: &'static str,
    /// One sentence.
    pub text: &'static str,
}

impl OptionInfo {
    /// `size` (in bytes), `integer`, `number`, `switch`, `word` or `text`.
    pub fn kind(&self) -> &'static str {
        match self.accepts {
            Accepts::Bytes(..) | Accepts::Sizes(_) => "size",
            Accepts::Range(..) if self.default.is_u64() => "integer",
            Accepts::Range(..) => "number",
            Accepts::Words(_) => "word",
            Accepts::Text(..) => "text",
            Accepts::Switch => "switch",
        }
    }

    /// `{"name", "type", "default", "accepts": {"min", "max"} | {"choices"} | {"text", "pattern"}, "unit", "at_least",
    /// "zero", "text"}`; bounds of integers and sizes are integers.
    pub fn to_json(&self) -> Value {
        let accepts = match self.accepts {
            Accepts::Range(low, high) if self.kind() == "integer" => json!({"min": low as u64, "max": high as u64}),
            Accepts::Range(low, high) => json!({"min": low, "max": high}),
            Accepts::Bytes(low, high) => json!({"min": low, "max": high}),
            Accepts::Sizes(sizes) => json!({"choices": sizes}),
            Accepts::Words(words) => json!({"choices": words}),
            Accepts::Text(what, pattern) => json!({"text": what, "pattern": pattern}),
            Accepts::Switch => json!({"choices": [false, true]}),
        };
        let unit = if self.unit.is_empty() && self.kind() == "size" { "bytes" } else { self.unit };
        json!({"name": self.name, "type": self.kind(), "default": self.default, "accepts": accepts, "unit": unit,
            "at_least": self.at_least, "zero": self.zero, "text": self.text})
    }
}

/// Checks a map of settings against a table and fills in the defaults.
pub fn complete(table: &[OptionInfo], settings: &Map<String, Value>) -> Result<Map<String, Value>> {
    for (name, value) in settings {
        let Some(info) = table.iter().find(|info| info.name == name) else {
            let known = table.iter().map(|info| info.name).collect::<Vec<_>>().join(", ");
            return Err(Error::invalid(format!("options.{name}"), value, format!("an option of {known}")));
        };
        if !info.accepts.admits(value) {
            return Err(Error::invalid(format!("options.{name}"), value, info.accepts.describe()));
        }
    }
    let filled = table.iter().map(|info| {
        let value = settings.get(info.name).unwrap_or(&info.default);
        (info.name.to_owned(), value.clone())
    });
    Ok(filled.collect())
}

/// A Rust type that an option may have.
pub trait OptionValue: Sized {
    /// From a value that the table has admitted. Whole floats are taken for integers.
    fn from_json(value: &Value) -> Option<Self>;
    /// Back to JSON.
    fn to_json(&self) -> Value;
}

impl OptionValue for u64 {
    fn from_json(value: &Value) -> Option<Self> {
        value.as_u64().or_else(|| value.as_f64().filter(|n| n.fract() == 0.0).map(|n| n as Self))
    }
    fn to_json(&self) -> Value {
        json!(self)
    }
}

impl OptionValue for f64 {
    fn from_json(value: &Value) -> Option<Self> {
        value.as_f64()
    }
    fn to_json(&self) -> Value {
        json!(self)
    }
}

impl OptionValue for bool {
    fn from_json(value: &Value) -> Option<Self> {
        value.as_bool()
    }
    fn to_json(&self) -> Value {
        json!(self)
    }
}

impl OptionValue for String {
    fn from_json(value: &Value) -> Option<Self> {
        value.as_str().map(str::to_owned)
    }
    fn to_json(&self) -> Value {
        json!(self)
    }
}

/// Declares an options struct: `field: Type = default, Accepts, "text";`. Before the text may stand `unit "pages",`,
/// then `at_least other_field,`, then `zero "never",`: see [`OptionInfo`]. The struct gets `Default`, `table()`,
/// `from_json()` and `to_json()`. An engine that needs more checks across options makes them in `open`.
///
/// `scale` is beside the table: no option of a product, but how an engine knows what its data stands for.
#[macro_export]
macro_rules! engine_options {
    ($(#[$meta:meta])* $name:ident {
        $($field:ident : $type:ty = $default:expr, $accepts:expr,
            $(unit $unit:literal,)? $(at_least $bound:ident,)? $(zero $zero:literal,)? $text:literal;)*
    }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq)]
        pub struct $name {
            $(#[doc = $text] pub $field: $type,)*
            /// What the data stands for.
            pub scale: $crate::scale::Scale,
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $default.into(),)* scale: $crate::scale::Scale::FULL }
            }
        }

        impl $name {
            /// Every option with its default, range and text.
            pub fn table() -> Vec<$crate::options::OptionInfo> {
                let defaults = Self::default();
                vec![$($crate::options::OptionInfo {
                    name: stringify!($field),
                    default: $crate::options::OptionValue::to_json(&defaults.$field),
                    accepts: $accepts,
                    unit: concat!($($unit)?),
                    at_least: $crate::name_if_any!($($bound)?),
                    zero: concat!($($zero)?),
                    text: $text,
                },)*]
            }

            /// Reads settings; unknown names and values out of range are refused, absent ones take the default.
            pub fn from_json(
                settings: &serde_json::Map<String, serde_json::Value>,
            ) -> $crate::error::Result<Self> {
                let all = $crate::options::complete(&Self::table(), settings)?;
                Ok(Self { $($field: {
                    let value = &all[stringify!($field)];
                    $crate::options::OptionValue::from_json(value).ok_or_else(|| {
                        let field = concat!("options.", stringify!($field));
                        $crate::error::Error::invalid(field, value, concat!("a value of type ", stringify!($type)))
                    })?
                },)* scale: $crate::scale::Scale::FULL })
            }

            /// The same for data at this scale.
            #[must_use]
            pub fn at_scale(self, scale: $crate::scale::Scale) -> Self {
                Self { scale, ..self }
            }

            /// All settings, defaults included.
            pub fn to_json(&self) -> serde_json::Map<String, serde_json::Value> {
                let mut map = serde_json::Map::new();
                $(map.insert(
                    stringify!($field).to_owned(),
                    $crate::options::OptionValue::to_json(&self.$field),
                );)*
                map
            }
        }
    };
}

/// The name of the option that bounds another, if one does.
#[doc(hidden)]
#[macro_export]
macro_rules! name_if_any {
    () => {
        None
    };
    ($name:ident) => {
        Some(stringify!($name))
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    engine_options! {
        /// A sample.
        Sample {
            size: u64 = 4096u64, Accepts::Sizes(&[512, 4096, 65536]), "Bytes.";
            cache: u64 = 1024u64, Accepts::Bytes(512, 65536), at_least size, zero "none", "Bytes.";
            count: u64 = 7u64, Accepts::Range(0.0, 9.0), unit "files", "Files.";
            ratio: f64 = 10.0, Accepts::Range(1.0, 100.0), "Ratio.";
            word: String = "lz4", Accepts::Words(&["none", "lz4"]), "Word.";
            list: String = "all", Accepts::Text("all or a number", "all|[0-9]+"), "List.";
            switch: bool = true, Accepts::Switch, "Switch.";
        }
    }

    fn parse(text: &str) -> Result<Sample> {
        let Value::Object(map) = serde_json::from_str(text).unwrap() else { panic!("not an object") };
        Sample::from_json(&map)
    }

    #[test]
    fn absent_options_take_their_defaults() {
        assert_eq!(parse(r#"{"size": 512}"#).unwrap(), Sample { size: 512, ..Sample::default() });
    }

    #[test]
    fn the_scale_is_beside_the_table() {
        let scale = crate::scale::Scale::standing_for(8.0);
        assert_eq!(Sample::default().at_scale(scale).scale, scale);
        assert!(!Sample::default().to_json().contains_key("scale"));
    }

    #[test]
    fn settings_survive_a_round_trip() {
        let sample = Sample { ratio: 2.5, word: "none".into(), ..Sample::default() };
        assert_eq!(Sample::from_json(&sample.to_json()).unwrap(), sample);
    }

    #[test]
    fn unknown_and_out_of_range_options_are_named() {
        for (text, field) in [
            (r#"{"sise": 512}"#, "options.sise"),
            (r#"{"size": 1000}"#, "options.size"),
            (r#"{"cache": 100}"#, "options.cache"),
            (r#"{"count": 1.5}"#, "options.count"),
            (r#"{"ratio": 0.5}"#, "options.ratio"),
            (r#"{"word": "lzma"}"#, "options.word"),
            (r#"{"switch": 1}"#, "options.switch"),
        ] {
            let message = parse(text).unwrap_err().to_string();
            assert!(message.starts_with(field), "{message}");
        }
    }

    #[test]
    fn the_table_tells_all_that_was_declared() {
        let told = Value::Array(Sample::table().iter().map(OptionInfo::to_json).collect());
        let row = |name: &str, kind: &str, default: Value, accepts: Value, text: &str| {
            json!({"name": name, "type": kind, "default": default, "accepts": accepts, "text": text, "unit": "",
                "at_least": null, "zero": ""})
        };
        let mut expected = json!([
            row("size", "size", json!(4096), json!({"choices": [512, 4096, 65536]}), "Bytes."),
            row("cache", "size", json!(1024), json!({"min": 512, "max": 65536}), "Bytes."),
            row("count", "integer", json!(7), json!({"min": 0, "max": 9}), "Files."),
            row("ratio", "number", json!(10.0), json!({"min": 1.0, "max": 100.0}), "Ratio."),
            row("word", "word", json!("lz4"), json!({"choices": ["none", "lz4"]}), "Word."),
            row("list", "text", json!("all"), json!({"text": "all or a number", "pattern": "all|[0-9]+"}), "List."),
            row("switch", "switch", json!(true), json!({"choices": [false, true]}), "Switch."),
        ]);
        expected[0]["unit"] = json!("bytes");
        expected[1]["unit"] = json!("bytes");
        expected[1]["at_least"] = json!("size");
        expected[1]["zero"] = json!("none");
        expected[2]["unit"] = json!("files");
        assert_eq!(told, expected);
    }

    #[test]
    fn every_table_declares_what_its_readers_need() {
        let mut tables = vec![("lsm", crate::lsm::Options::table()), ("btree", crate::btree::Options::table())];
        tables.extend(crate::workload::kinds().into_iter().map(|(name, _, table)| (name, table)));
        for (owner, table) in tables {
            for info in &table {
                let what = format!("{owner} {}", info.name);
                assert!(info.accepts.admits(&info.default), "{what}: its own default");
                assert!(info.text.ends_with('.') && !info.text.contains("  "), "{what}: {}", info.text);
                assert!(info.at_least.is_none_or(|bound| table.iter().any(|other| other.name == bound)), "{what}");
                assert!(
                    matches!((info.kind(), &info.default), ("integer" | "size", n) if n.is_u64())
                        || !matches!(info.kind(), "integer" | "size"),
                    "{what}: a size is a whole number"
                );
            }
        }
    }
}
