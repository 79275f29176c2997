//! How engines declare their options: one table gives the struct, its defaults, its ranges, its text, and the parser that
//! refuses what it does not know.

use crate::error::{Error, Result};
use serde_json::{Map, Value, json};

/// What an option accepts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Accepts {
    /// Numbers from the first to the second, both included.
    Range(f64, f64),
    /// Powers of two from the first to the second, both included.
    PowerOfTwo(u64, u64),
    /// One of these words.
    Words(&'static [&'static str]),
    /// A text that the engine parses further, described here.
    Text(&'static str),
    /// True or false.
    Switch,
}

impl Accepts {
    fn describe(self) -> String {
        match self {
            Self::Range(low, high) => format!("a number from {low} to {high}"),
            Self::PowerOfTwo(low, high) => format!("a power of two from {low} to {high}"),
            Self::Words(words) => format!("one of {}", words.join(", ")),
            Self::Text(what) => what.to_owned(),
            Self::Switch => "true or false".to_owned(),
        }
    }

    fn admits(self, value: &Value) -> bool {
        match self {
            Self::Range(low, high) => value.as_f64().is_some_and(|n| (low..=high).contains(&n)),
            Self::PowerOfTwo(low, high) => {
                value.as_u64().is_some_and(|n| n.is_power_of_two() && (low..=high).contains(&n))
            }
            Self::Words(words) => value.as_str().is_some_and(|word| words.contains(&word)),
            Self::Text(_) => value.is_string(),
            Self::Switch => value.is_boolean(),
        }
    }
}

/// One option of an engine.
#[derive(Debug, Clone, PartialEq)]
pub struct OptionInfo {
    /// The real product's name.
    pub name: &'static str,
    /// The default, as JSON.
    pub default: Value,
    /// What is accepted.
    pub accepts: Accepts,
    /// One sentence.
    pub text: &'static str,
}

impl OptionInfo {
    /// `{"name", "default", "accepts": {...}, "text"}`.
    pub fn to_json(&self) -> Value {
        let accepts = match self.accepts {
            Accepts::Range(low, high) => json!({"min": low, "max": high}),
            Accepts::PowerOfTwo(low, high) => json!({"min": low, "max": high, "power_of_two": true}),
            Accepts::Words(words) => json!({"choices": words}),
            Accepts::Text(what) => json!({"text": what}),
            Accepts::Switch => json!({"choices": [false, true]}),
        };
        json!({"name": self.name, "default": self.default, "accepts": accepts, "text": self.text})
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

/// Declares an options struct: `field: Type = default, Accepts, "text";`. The struct gets `Default`, `table()`,
/// `from_json()` and `to_json()`. An engine that needs more checks across options makes them in `open`.
///
/// `scale` is beside the table: no option of a product, but how an engine knows what its data stands for.
#[macro_export]
macro_rules! engine_options {
    ($(#[$meta:meta])* $name:ident { $($field:ident : $type:ty = $default:expr, $accepts:expr, $text:literal;)* }) => {
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

#[cfg(test)]
mod tests {
    use super::*;

    engine_options! {
        /// A sample.
        Sample {
            size: u64 = 4096u64, Accepts::PowerOfTwo(512, 65536), "Bytes.";
            ratio: f64 = 10.0, Accepts::Range(1.0, 100.0), "Ratio.";
            word: String = "lz4", Accepts::Words(&["none", "lz4"]), "Word.";
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
            (r#"{"ratio": 0.5}"#, "options.ratio"),
            (r#"{"word": "lzma"}"#, "options.word"),
            (r#"{"switch": 1}"#, "options.switch"),
        ] {
            let message = parse(text).unwrap_err().to_string();
            assert!(message.starts_with(field), "{message}");
        }
    }
}
