//! How far the page files have come: flushing for room in the log or for everything, and the checkpoint behind it.

use super::buf_pool::BufferPool;
use crate::btree::options::REGION_PAGES;
use crate::error::Result;
use crate::task::Task;

/// Pages that a client flushes at a time when it must make room in the log itself.
const LOG_ROOM_PAGES: usize = 64;

impl BufferPool {
    /// Makes room in the log for a client that finds it full: flushes some of the oldest dirty pages at once, and moves
    /// the checkpoint behind them. False if there was nothing to gain: what is dirty is in use or being written.
    pub fn make_log_room(&self, task: &mut Task) -> Result<bool> {
        let before = self.redo.checkpoint_lsn();
        self.complete_written();
        let batches = self.write_frames(task, &self.flush_list.oldest_frames(LOG_ROOM_PAGES), false)?;
        self.complete_all(&batches);
        self.checkpoint_now(task)?;
        Ok(!batches.is_empty() || self.redo.checkpoint_lsn() != before)
    }

    /// Flushes everything.
    pub fn flush_all(&self, task: &mut Task) -> Result<()> {
        self.complete_written();
        loop {
            let frames = self.flush_list.oldest_frames(REGION_PAGES);
            if frames.is_empty() {
                return Ok(());
            }
            let batches = self.write_frames(task, &frames, true)?;
            self.complete_all(&batches);
        }
    }

    /// The furthest LSN before which everything is in the page file.
    pub fn checkpoint_target(&self) -> u64 {
        // The end is read first: a change logged after it is bounded by it, one before it is already in the lists.
        let end = self.redo.lsn();
        let floor = self.redo.batch_floor().unwrap_or(end);
        end.min(floor).min(self.flush_list.oldest().unwrap_or(end))
    }

    /// Writes a checkpoint as far forward as can be.
    pub fn write_checkpoint(&self, task: &mut Task) -> Result<()> {
        // In this order: the pages before the target are synced, and so are the lengths of their files.
        let target = self.checkpoint_target();
        self.redo.write_checkpoint(task, target, self.files.durable_bytes())
    }

    /// Writes and adopts a checkpoint.
    pub fn checkpoint_now(&self, task: &mut Task) -> Result<()> {
        self.write_checkpoint(task)?;
        self.redo.adopt_checkpoint();
        Ok(())
    }
}
