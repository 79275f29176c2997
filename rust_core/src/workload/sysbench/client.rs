//! One thread of sysbench: the statements of one script, again and again, each time as one transaction.

use super::schema::{ENTRY_BYTES, ROW_BYTES, Row, SbTest, draw_c, draw_pad, id_key};
use super::statements::{self, Read, Write};
use super::{Script, Shared};
use crate::engine::Engine;
use crate::error::Result;
use crate::random::{Random, Stream};
use crate::session::{Session, charge_frame, charge_sort, charge_statements};
use crate::table::Transaction;
use crate::task::Task;
use crate::workload::{Client, Plan};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Statements of oltp_read_only and oltp_read_write (point_selects; simple, sum, order and distinct ranges).
const POINT_SELECTS: usize = 10;
const RANGES: usize = 4;

/// One thread.
pub struct Thread {
    shared: Arc<Shared>,
    random: Random,
    reads: Vec<Read>,
    writes: Vec<Write>,
    writer: Writer,
    key: Vec<u8>,
    end: Vec<u8>,
    value: Vec<u8>,
}

impl Thread {
    /// Thread `index` of the run.
    pub fn new(shared: Arc<Shared>, index: u32) -> Self {
        let random = Random::derive(shared.seed, Stream::Client(index));
        Self {
            shared,
            random,
            reads: Vec::new(),
            writes: Vec::new(),
            writer: Writer::default(),
            key: Vec::new(),
            end: Vec::new(),
            value: Vec::new(),
        }
    }

    fn table(&mut self) -> u32 {
        self.random.below(self.shared.parameters.tables) as u32
    }

    fn id(&mut self) -> u32 {
        self.shared.ids.draw(&mut self.random)
    }

    fn row(&mut self, table: u32, id: u32) -> Box<Row> {
        let k = self.id();
        Box::new(Row { table, id, k, c: draw_c(&mut self.random), pad: draw_pad(&mut self.random) })
    }

    fn draw(&mut self) {
        match self.shared.script {
            Script::PointSelect => self.draw_point_selects(1),
            Script::ReadOnly => self.draw_reads(),
            Script::ReadWrite => {
                self.draw_reads();
                self.draw_writes();
            }
            Script::WriteOnly => self.draw_writes(),
            Script::UpdateIndex => self.draw_index_update(),
            Script::UpdateNonIndex => self.draw_non_index_update(),
            Script::Insert => {
                let table = self.table();
                let row = self.row(table, 0);
                self.writes.push(Write::Append(row));
            }
            Script::Delete => {
                let (table, id) = (self.table(), self.id());
                self.writes.push(Write::Delete { table, id });
            }
        }
    }

    fn draw_point_selects(&mut self, count: usize) {
        let table = self.table();
        for _ in 0..count {
            let id = self.id();
            self.reads.push(Read::Point { table, id });
        }
    }

    fn draw_reads(&mut self) {
        self.draw_point_selects(POINT_SELECTS);
        for _ in 0..RANGES {
            let (table, id) = (self.table(), self.id());
            self.reads.push(Read::Range { table, id });
        }
    }

    fn draw_writes(&mut self) {
        self.draw_index_update();
        self.draw_non_index_update();
        let (table, id) = (self.table(), self.id());
        self.writes.push(Write::Delete { table, id });
        let row = self.row(table, id);
        self.writes.push(Write::Insert(row));
    }

    fn draw_index_update(&mut self) {
        let (table, id) = (self.table(), self.id());
        self.writes.push(Write::UpdateIndex { table, id });
    }

    fn draw_non_index_update(&mut self) {
        let (table, id) = (self.table(), self.id());
        let c = draw_c(&mut self.random);
        self.writes.push(Write::UpdateNonIndex { table, id, c });
    }

    /// Returns how many rows there were.
    fn read(&mut self, engine: &dyn Engine, task: &mut Task, statement: &Read) -> Result<u64> {
        match *statement {
            Read::Point { table, id } => {
                id_key(&mut self.key, table, id);
                engine.get(task, &self.key, &mut self.value).map(u64::from)
            }
            Read::Range { table, id } => {
                id_key(&mut self.key, table, id);
                id_key(&mut self.end, table, id.saturating_add(self.shared.parameters.range_size as u32));
                let mut entries = engine.iterator(task)?;
                entries.seek(task, &self.key)?;
                let mut rows = 0;
                while entries.valid() && entries.key() < &self.end[..] {
                    self.value.clear();
                    self.value.extend_from_slice(entries.value());
                    entries.next(task)?;
                    rows += 1;
                }
                Ok(rows)
            }
        }
    }

    /// Locks the rows of all statements, carries them out and commits.
    fn write(&mut self, engine: &dyn Engine, task: &mut Task, statements: Vec<Write>) -> Result<()> {
        let locked = statements.iter().filter_map(Write::locks);
        let keys: Vec<Vec<u8>> = locked
            .map(|(table, id)| {
                let mut key = Vec::new();
                id_key(&mut key, table, id);
                key
            })
            .collect();
        let rows: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
        let (shared, writer) = (self.shared.clone(), &mut self.writer);
        shared.locks.with(task, &rows, |task| {
            for statement in statements {
                writer.write(&shared, engine, task, statement)?;
            }
            let grown = writer.commit(engine, task)?;
            shared.live_bytes.fetch_add(grown, Ordering::Relaxed);
            Ok(())
        })
    }
}

impl Client for Thread {
    fn plan(&mut self, _now_ns: u64) -> Option<Plan> {
        self.reads.clear();
        self.writes.clear();
        self.draw();
        Some(Plan::write(0, self.writes.iter().map(Write::bytes).sum()))
    }

    fn execute(&mut self, engine: &dyn Engine, task: &mut Task) -> Result<()> {
        let (reads, writes) = (std::mem::take(&mut self.reads), std::mem::take(&mut self.writes));
        let sent = (reads.len() + writes.len()) as u64;
        charge_statements(task, sent);
        if sent > 1 {
            charge_frame(task);
        }
        let mut ranges = 0;
        for statement in &reads {
            let rows = self.read(engine, task, statement)?;
            if let Read::Range { .. } = statement {
                if statements::is_sorted(ranges) {
                    charge_sort(task, rows);
                }
                ranges += 1;
            }
        }
        if writes.is_empty() { Ok(()) } else { self.write(engine, task, writes) }
    }

    fn speak(&mut self, session: &mut dyn Session) -> Result<()> {
        let is_framed = self.reads.len() + self.writes.len() > 1;
        if is_framed {
            session.begin()?;
        }
        let range_size = self.shared.parameters.range_size as u32;
        let mut ranges = 0;
        for statement in &self.reads {
            statements::read(session, statement, ranges, range_size)?;
            ranges += usize::from(matches!(statement, Read::Range { .. }));
        }
        let mut rows = 0;
        for statement in &self.writes {
            rows += statements::write(session, statement)?;
        }
        if is_framed {
            session.commit()?;
        }
        self.shared.live_bytes.fetch_add(rows * (ROW_BYTES + ENTRY_BYTES) as i64, Ordering::Relaxed);
        Ok(())
    }

    #[cfg(test)]
    fn next_random(&self) -> Option<u64> {
        Some(self.random.clone().bits())
    }
}

/// The writes of a transaction. Engines show what is committed, so it remembers the rows that it read or changed
/// itself, by table and id: two statements may meet on one row.
#[derive(Default)]
struct Writer {
    change: Transaction,
    known: Vec<((u32, u32), Option<Row>)>,
    key: Vec<u8>,
}

impl Writer {
    /// The row as this transaction sees it.
    fn current(&mut self, engine: &dyn Engine, task: &mut Task, table: u32, id: u32) -> Result<Option<Row>> {
        if let Some((_, row)) = self.known.iter().find(|(known, _)| *known == (table, id)) {
            return Ok(row.clone());
        }
        id_key(&mut self.key, table, id);
        let row = self.change.get::<SbTest>(engine, task, &self.key)?;
        self.known.push(((table, id), row.clone()));
        Ok(row)
    }

    fn remember(&mut self, table: u32, id: u32, row: Option<Row>) {
        self.known.retain(|(known, _)| *known != (table, id));
        self.known.push(((table, id), row));
    }

    /// Carries a statement out on a row that is locked.
    fn write(&mut self, shared: &Shared, engine: &dyn Engine, task: &mut Task, statement: Write) -> Result<()> {
        match statement {
            Write::UpdateIndex { table, id } => {
                if let Some(old) = self.current(engine, task, table, id)? {
                    let k = old.k.wrapping_add(1);
                    self.update(old.clone(), Row { k, ..old });
                }
            }
            Write::UpdateNonIndex { table, id, c } => {
                if let Some(old) = self.current(engine, task, table, id)? {
                    self.update(old.clone(), Row { c, ..old });
                }
            }
            Write::Delete { table, id } => {
                if let Some(old) = self.current(engine, task, table, id)? {
                    self.change.delete::<SbTest>(&old);
                    self.remember(table, id, None);
                }
            }
            Write::Insert(row) => {
                if self.current(engine, task, row.table, row.id)?.is_none() {
                    self.change.add::<SbTest>(&row);
                    self.remember(row.table, row.id, Some(*row));
                }
            }
            Write::Append(mut row) => {
                row.id = shared.next_ids[row.table as usize].fetch_add(1, Ordering::Relaxed) as u32;
                self.change.insert::<SbTest>(engine, task, &row)?;
            }
        }
        Ok(())
    }

    fn update(&mut self, old: Row, new: Row) {
        self.change.update::<SbTest>(&old, &new);
        self.remember(new.table, new.id, Some(new));
    }

    fn commit(&mut self, engine: &dyn Engine, task: &mut Task) -> Result<i64> {
        self.known.clear();
        self.change.commit(engine, task)
    }
}
