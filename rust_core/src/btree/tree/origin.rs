//! What a change is logged as part of.

use super::intent::Span;
use crate::btree::log::RedoOp;

/// What a change is logged as part of.
#[derive(Debug, Clone, Copy)]
pub enum Origin {
    /// A batch of its own.
    Alone,
    /// Change `index` of the batch whose intent is in the log at `intent`; `floor` bounds the checkpoint. The intent
    /// has only the `span` of the value, if there is one.
    Batch { intent: u64, floor: u64, index: u32, span: Option<Span> },
}

impl Origin {
    /// Where the batch began.
    pub fn floor(self) -> Option<u64> {
        match self {
            Self::Alone => None,
            Self::Batch { floor, .. } => Some(floor),
        }
    }

    /// The same change, made by a record that is not the one in the intent.
    pub fn of_other_record(self) -> Self {
        match self {
            Self::Alone => Self::Alone,
            Self::Batch { intent, floor, index, .. } => {
                Self::Batch { intent, floor, index, span: Some(Span { at: 0, len: 0 }) }
            }
        }
    }

    /// The mark that this change is applied.
    pub fn mark(self) -> Option<RedoOp<'static>> {
        match self {
            Self::Alone => None,
            Self::Batch { intent, index, .. } => Some(RedoOp::Applied { intent, index }),
        }
    }
}
