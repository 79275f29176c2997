//! How far purge has come: the undo logs of its batch.

use crate::btree::tree::{LogAt, ReadLog};
use std::collections::VecDeque;

/// Undo logs that are purged together, by how far they have come, and those that leave the history list.
#[derive(Debug, Default)]
pub struct Batch {
    /// To be read from their undo page.
    pub(super) unread: VecDeque<LogAt>,
    /// Read, with records that are to be gone through.
    pub(super) read: VecDeque<ReadLog>,
    /// Gone through.
    pub(super) done: Vec<LogAt>,
    /// Of earlier batches, to be taken off the history list.
    pub(super) leaving: VecDeque<LogAt>,
    /// Jobs that read, or go through records.
    pub(super) jobs: usize,
    /// Whether a job takes logs off the history list.
    pub(super) truncates: bool,
}

impl Batch {
    /// Whether all of it was gone through.
    pub(super) fn is_over(&self) -> bool {
        self.jobs == 0 && self.unread.is_empty() && self.read.is_empty()
    }

    /// Whether nothing of it is left, and nothing runs.
    pub(super) fn is_idle(&self) -> bool {
        self.is_over() && self.done.is_empty() && self.leaving.is_empty() && !self.truncates
    }

    /// Whether a job runs.
    pub(super) fn runs(&self) -> bool {
        self.jobs > 0 || self.truncates
    }

    /// A job has ended.
    pub(super) fn end(&mut self, truncates: bool) {
        if truncates {
            self.truncates = false;
        } else {
            self.jobs -= 1;
        }
    }
}
