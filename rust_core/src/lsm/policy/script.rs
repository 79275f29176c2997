//! Text in, text out: each case of `policy/testdata/*.txt` describes a tree, a question, and the answer.
//!
//! ```text
//! options num_levels=4 …        settings for all cases below, until the next such line
//! case what holds
//! L0 9[a-f]:100 8[c-k]:100*     number[smallest-largest]:bytes, * while being compacted, ~sequence, d for tombstones
//! running L3 a-f                a compaction under way into a level
//! > targets                     targets | scores | pending | debt | pick | codecs
//! base 3: …                     expected answer
//! ```

use super::level::scores::scores;
use super::*;
use crate::lsm::options::Options;
use crate::lsm::table::FileMetaData;
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;

#[derive(Default)]
struct Tree {
    levels: Vec<Vec<Arc<FileMetaData>>>,
    being_compacted: BTreeSet<u64>,
    in_progress: Vec<CompactionInProgress>,
}

impl Tree {
    fn shape(&self) -> Shape<'_> {
        Shape {
            levels: self.levels.iter().map(Vec::as_slice).collect(),
            being_compacted: &self.being_compacted,
            in_progress: &self.in_progress,
        }
    }

    fn add_file(&mut self, level: usize, text: &str) {
        let (number, rest) = text.split_once('[').unwrap();
        let (range, rest) = rest.split_once("]:").unwrap();
        let (smallest, largest) = range.split_once('-').unwrap();
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let (bytes, marks) = rest.split_at(digits);
        let number = number.parse().unwrap();
        let mut meta = FileMetaData {
            number,
            bytes: bytes.parse().unwrap(),
            smallest: smallest.into(),
            largest: largest.into(),
            largest_sequence: number,
            smallest_sequence: number,
            ..FileMetaData::default()
        };
        if let Some((_, sequence)) = marks.split_once('~') {
            meta.largest_sequence = sequence.trim_end_matches('*').parse().unwrap();
        }
        meta.compensated_bytes = if marks.contains('d') { 3 * meta.bytes } else { meta.bytes };
        if marks.ends_with('*') {
            self.being_compacted.insert(number);
        }
        self.levels[level].push(Arc::new(meta));
    }
}

fn options_of(line: &str) -> Options {
    let mut map = Options::default().to_json();
    for setting in line.split_whitespace() {
        let (name, value) = setting.split_once('=').unwrap();
        assert!(map.contains_key(name), "no option {name}");
        let value = serde_json::from_str(value).unwrap_or_else(|_| Value::from(value));
        map.insert(name.to_owned(), value);
    }
    // Sizes in the scripts are small numbers, below the ranges that users may choose from.
    let small: Map<String, Value> = map
        .clone()
        .into_iter()
        .filter(|(name, _)| !name.contains("bytes_for_level_base") && !name.contains("target_file_size_base"))
        .collect();
    let mut options = Options::from_json(&small).unwrap();
    options.max_bytes_for_level_base = map["max_bytes_for_level_base"].as_u64().unwrap();
    options.target_file_size_base = map["target_file_size_base"].as_u64().unwrap();
    options.sanitized()
}

fn numbers(files: &[Arc<FileMetaData>]) -> String {
    files.iter().map(|file| file.number.to_string()).collect::<Vec<_>>().join(" ")
}

fn answer(question: &str, tree: &Tree, options: &Options) -> String {
    let shape = tree.shape();
    let bytes = (0..tree.levels.len()).map(|level| shape.bytes(level)).collect::<Vec<_>>();
    let targets = level_targets(&bytes, options);
    match question {
        "targets" => {
            let mut out = format!("base {}:", targets.base_level);
            for target in &targets.bytes {
                match *target {
                    u64::MAX => out.push_str(" -"),
                    target => write!(out, " {target}").unwrap(),
                }
            }
            if let Some(level) = targets.lowest_unnecessary {
                write!(out, ", unnecessary to {level}").unwrap();
            }
            out
        }
        "scores" => scores(&shape, &targets, options)
            .iter()
            .filter(|(_, score)| *score > 0.0)
            .map(|(level, score)| format!("L{level} {score:.3}"))
            .collect::<Vec<_>>()
            .join(", "),
        "debt" => debt_bytes(&shape, &targets, options, 0).to_string(),
        "pending" => pending_compaction_bytes(&shape, &targets, options).to_string(),
        "pick" => {
            let parsed = options.parse().unwrap();
            let codec = |level: usize| level_compression(&parsed.codecs, level, targets.base_level, shape.last_level());
            let same = |from: usize, to: usize| codec(from) == codec(to);
            match pick_compaction(&shape, &targets, options, parsed.priority, &same) {
                None => "nothing".into(),
                Some(compaction) => {
                    let verb = if compaction.is_trivial_move { "move" } else { "merge" };
                    let inputs = compaction.inputs.iter().map(|i| format!("L{} {}", i.level, numbers(&i.files)));
                    let inputs = inputs.collect::<Vec<_>>().join(" with ");
                    let mut out = format!("{verb} {inputs} to L{}", compaction.output_level);
                    if !compaction.grandparents.is_empty() {
                        write!(out, " above {}", numbers(&compaction.grandparents)).unwrap();
                    }
                    if compaction.bottommost { out + ", bottommost" } else { out }
                }
            }
        }
        "codecs" => {
            let codecs = options.parse().unwrap().codecs;
            let mut out = format!("flush {:?}, base {}:", flush_compression(&codecs), targets.base_level);
            for level in 0..tree.levels.len() {
                write!(out, " {:?}", level_compression(&codecs, level, targets.base_level, shape.last_level()))
                    .unwrap();
            }
            out
        }
        other => panic!("no question {other}"),
    }
}

fn run(script: &str) {
    let (mut options, mut tree, mut case, mut question) = (Options::default(), Tree::default(), "", None);
    let mut asked = 0;
    for line in script.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(question) = question.take() {
            assert_eq!(answer(question, &tree, &options), line, "case {case:?}, {question}");
            asked += 1;
        } else if let Some(rest) = line.strip_prefix("options") {
            options = options_of(rest);
        } else if let Some(rest) = line.strip_prefix("case ") {
            case = rest;
            tree = Tree { levels: vec![Vec::new(); options.num_levels as usize], ..Tree::default() };
        } else if let Some(rest) = line.strip_prefix("> ") {
            question = Some(rest);
        } else if let Some(rest) = line.strip_prefix("running L") {
            let (level, range) = rest.split_once(' ').unwrap();
            let (smallest, largest) = range.split_once('-').unwrap();
            let output_level = level.parse().unwrap();
            tree.in_progress.push(CompactionInProgress {
                output_level,
                smallest: smallest.into(),
                largest: largest.into(),
            });
        } else if let Some(rest) = line.strip_prefix('L') {
            let (level, files) = rest.split_once(' ').unwrap();
            files.split_whitespace().for_each(|file| tree.add_file(level.parse().unwrap(), file));
        } else {
            panic!("not understood: {line}");
        }
    }
    assert!(asked > 0);
}

#[test]
fn level_targets_follow_the_tree() {
    run(include_str!("testdata/targets.txt"));
}

#[test]
fn scores_tell_the_neediest_level() {
    run(include_str!("testdata/scores.txt"));
}

#[test]
fn each_level_has_its_codec() {
    run(include_str!("testdata/codecs.txt"));
}

#[test]
fn picks_take_the_files_that_rocksdb_takes() {
    run(include_str!("testdata/picks.txt"));
}
