//! Prefix extractors: which first bytes of a key enter the filters.

/// A prefix of fixed or of limited length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PrefixExtractor {
    /// The first bytes of keys that are at least that long.
    Fixed(usize),
    /// At most that many bytes.
    Capped(usize),
}

impl PrefixExtractor {
    /// Reads `fixed:N` or `capped:N`.
    pub fn parse(text: &str) -> Option<Self> {
        let (kind, len) = text.split_once(':')?;
        let len = len.parse().ok().filter(|len| *len > 0)?;
        match kind {
            "fixed" => Some(Self::Fixed(len)),
            "capped" => Some(Self::Capped(len)),
            _ => None,
        }
    }

    /// The prefix of `key` that enters a filter; `None` if the key is out of the extractor's domain.
    pub fn of<'a>(&self, key: &'a [u8]) -> Option<&'a [u8]> {
        match *self {
            Self::Fixed(len) => key.get(..len),
            Self::Capped(len) => Some(&key[..len.min(key.len())]),
        }
    }

    /// The prefix under which all keys that start with it were put into filters; a key shorter than the extractor's
    /// length has none, since longer keys with the same start have longer prefixes.
    pub fn of_range<'a>(&self, key: &'a [u8]) -> Option<&'a [u8]> {
        let (Self::Fixed(len) | Self::Capped(len)) = *self;
        key.get(..len)
    }
}

/// Writes the smallest key above all keys that start with `prefix` into `out`; `false` if there is none.
pub fn successor(prefix: &[u8], out: &mut Vec<u8>) -> bool {
    out.clear();
    out.extend_from_slice(prefix);
    while let Some(last) = out.pop() {
        if last < 0xff {
            out.push(last + 1);
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_keys_are_outside_a_fixed_prefix_and_whole_in_a_capped_one() {
        assert_eq!(PrefixExtractor::Fixed(4).of(b"abc"), None);
        assert_eq!(PrefixExtractor::Capped(4).of(b"abc"), Some(&b"abc"[..]));
        assert_eq!(PrefixExtractor::Capped(2).of(b"abc"), Some(&b"ab"[..]));
        assert_eq!(PrefixExtractor::Capped(4).of_range(b"abc"), None);
    }

    #[test]
    fn the_successor_is_above_all_keys_of_the_prefix() {
        let mut out = Vec::new();
        assert!(successor(b"a\xff\xff", &mut out));
        assert_eq!(out, b"b");
        assert!(!successor(b"\xff\xff", &mut out));
    }
}
