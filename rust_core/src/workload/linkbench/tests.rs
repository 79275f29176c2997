use super::client::Requester;
use super::graph::{FIRST_LINK_TYPE, LINK_TYPES};
use super::schema::{COUNT, Counts, ID1_TYPE, LINK, Links, NODE, VISIBLE, decode_list_entry};
use super::{FACEBOOK_MIX, FORK_2020_MIX, LinkBench, OPERATIONS, Parameters};
use crate::table::Schema;
use crate::task::Task;
use crate::workload::model_engine::ModelEngine;
use crate::workload::test_session::Recorded;
use crate::workload::{Client, Workload};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;

fn small(ids: u64) -> LinkBench {
    LinkBench::new(Parameters { ids, ..Parameters::default() }, 7)
}

fn drive(client: &mut dyn Client, engine: &ModelEngine, operations: u64) -> u64 {
    let mut task = Task::wall(0);
    let mut done = 0;
    while done < operations {
        let Some(plan) = client.plan(0) else { break };
        client.execute(engine, &mut task).unwrap();
        done += plan.operations;
    }
    done
}

#[test]
fn a_node_that_is_said_again_keeps_its_id() {
    let (workload, mut session) = (small(1000), Recorded::default());
    let mut client = workload.client(0);
    let mut ids = Vec::new();
    while ids.len() < 3 {
        let kind = client.plan(0).unwrap().kind;
        session.conflict_in = Some(0);
        assert!(client.speak(&mut session).is_err());
        client.speak(&mut session).unwrap();
        let nodes = session.take("insert_node");
        assert_eq!(nodes.len(), usize::from(OPERATIONS[kind] == "add_node"));
        ids.extend(nodes.iter().map(|node| node[0].integer()));
    }
    assert_eq!(ids, [1001, 1002, 1003].map(Some));
}

fn load(workload: &LinkBench, engine: &ModelEngine, loaders: u32) -> u64 {
    let mut clients: Vec<_> = (0..loaders).map(|index| workload.loader(index)).collect();
    let mut rows = 0;
    // Round-robin in single batches, so that several loaders share the chunks.
    loop {
        let before = rows;
        for client in &mut clients {
            rows += drive(&mut **client, engine, 1);
        }
        if rows == before {
            return rows;
        }
    }
}

/// Checks that counts, index entries and rows tell the same story, and returns the number of link rows.
fn check_invariants(workload: &LinkBench, engine: &ModelEngine) -> usize {
    let mut visible: BTreeMap<(u64, u64), u32> = BTreeMap::new();
    let (mut links, mut entries, mut counts) = (BTreeSet::new(), BTreeSet::new(), BTreeMap::new());
    for (key, value) in engine.entries() {
        match u32::from_be_bytes(key[..4].try_into().unwrap()) {
            LINK => {
                let link = Links::decode(&key, &value).unwrap();
                *visible.entry((link.id1, link.link_type)).or_default() += u32::from(link.visibility == VISIBLE);
                let mut entry = Vec::new();
                Links::index_key(&link, 0, &mut entry);
                links.insert(entry);
            }
            ID1_TYPE => {
                decode_list_entry(&key).unwrap();
                entries.insert(key);
            }
            COUNT => {
                let count = Counts::decode(&key, &value).unwrap();
                counts.insert((count.id, count.link_type), count.count);
            }
            number => assert_eq!(number, NODE),
        }
    }
    assert!(links == entries, "index entries differ from link rows");
    assert!(visible == counts, "counts differ from visible links");
    assert_eq!(workload.live_bytes(), engine.live_bytes());
    links.len()
}

#[test]
fn the_load_does_not_depend_on_the_number_of_loaders() {
    let states = [1, 3].map(|loaders| {
        let (workload, engine) = (small(5_000), ModelEngine::default());
        let rows = load(&workload, &engine, loaders);
        let links = check_invariants(&workload, &engine);
        let per_node = links as f64 / 5_000.0;
        assert!((4.3..4.7).contains(&per_node), "{per_node}");
        assert!(rows > 5_000 + links as u64);
        engine.state_hash()
    });
    assert_eq!(states[0], states[1]);
}

#[test]
fn the_same_seed_ends_in_the_same_state_with_the_same_next_random_number() {
    let run = |seed| {
        let workload = LinkBench::new(Parameters { ids: 2_000, ..Parameters::default() }, seed);
        let engine = ModelEngine::default();
        load(&workload, &engine, 1);
        let mut client = Requester::new(workload.shared.clone(), 0);
        drive(&mut client, &engine, 20_000);
        (engine.state_hash(), client.next_random())
    };
    assert_eq!(run(1), run(1));
    let (first, second) = (run(1), run(2));
    assert!(first.0 != second.0 && first.1 != second.1);
}

#[test]
fn counts_and_index_entries_stay_true_under_four_threads() {
    // Few ids, so that clients meet on the same rows.
    let (workload, engine) = (small(50), ModelEngine::default());
    let loaded = { load(&workload, &engine, 1) as usize };
    std::thread::scope(|scope| {
        for index in 0..4 {
            let (workload, engine) = (&workload, &engine);
            scope.spawn(move || drive(&mut *workload.client(index), engine, 10_000));
        }
    });
    assert!(check_invariants(&workload, &engine) > loaded, "no link was added");
}

#[test]
fn requests_come_in_the_published_shares() {
    for (mix, shares) in [("facebook", FACEBOOK_MIX), ("fork2020", FORK_2020_MIX)] {
        let workload = LinkBench::new(Parameters { ids: 1_000, mix: mix.into(), ..Parameters::default() }, 1);
        let mut client = workload.client(0);
        let mut counts = [0_u32; 10];
        (0..200_000).for_each(|_| counts[client.plan(0).unwrap().kind] += 1);
        for ((count, share), name) in counts.into_iter().zip(shares).zip(OPERATIONS) {
            let found = f64::from(count) / 2_000.0;
            assert!((found - share).abs() < 0.5, "{mix} {name}: {found} against {share}");
        }
    }
}

#[test]
fn an_update_of_a_link_makes_the_planner_look_at_the_list_that_it_is_in() {
    let (workload, engine) = (small(500), ModelEngine::default());
    load(&workload, &engine, 1);
    let (mut client, mut task, mut sums) = (workload.client(0), Task::wall(0), [[0.0; 2]; 10]);
    let links = || engine.entries().iter().filter(|(key, _)| key[..4] == LINK.to_be_bytes()).count();
    for _ in 0..1000 {
        let kind = client.plan(0).unwrap().kind;
        let before = [engine.counted.load(Ordering::Relaxed), links() as u64];
        client.execute(&engine, &mut task).unwrap();
        let looked = engine.counted.load(Ordering::Relaxed) - before[0];
        sums[kind][0] += 1.0;
        sums[kind][1] += looked as f64;
        // A link that is new is inserted, and no planner is asked.
        assert!(looked == 0 || (kind < 3 && looked == 1 && links() as u64 == before[1]), "{}", OPERATIONS[kind]);
    }
    let share = |kind: usize| sums[kind][1] / sums[kind][0];
    assert!(share(2) > share(0) + 0.3, "{sums:?}");
    assert!(share(1) > 0.1, "{sums:?}");
}

#[test]
fn lists_that_reach_the_limit_are_continued_and_forgotten_at_their_end() {
    let parameters = Parameters { ids: 200, list_limit: 3, history_percent: 50.0, ..Parameters::default() };
    let workload = LinkBench::new(parameters, 1);
    let engine = ModelEngine::default();
    load(&workload, &engine, 1);
    let mut client = Requester::new(workload.shared.clone(), 0);
    let (mut most, mut shrank) = (0, false);
    for _ in 0..5_000 {
        let before = client.remembered_lists();
        drive(&mut client, &engine, 1);
        most = most.max(client.remembered_lists());
        shrank |= client.remembered_lists() < before;
    }
    assert!(most > 3 && shrank, "{most} remembered, shrank: {shrank}");
}

#[test]
fn a_planned_write_asks_for_about_the_bytes_that_it_writes() {
    let (workload, engine) = (small(2_000), ModelEngine::default());
    load(&workload, &engine, 1);
    let (mut client, mut task, mut asked) = (workload.client(0), Task::wall(0), 0);
    let before = crate::engine::Engine::stats(&engine).user_bytes_written;
    for _ in 0..20_000 {
        asked += client.plan(0).unwrap().write_bytes;
        client.execute(&engine, &mut task).unwrap();
    }
    let written = crate::engine::Engine::stats(&engine).user_bytes_written - before;
    let ratio = asked as f64 / written as f64;
    assert!((0.7..1.5).contains(&ratio), "{asked} asked for {written}");
}

#[test]
fn both_link_types_are_loaded() {
    let workload = small(1_000);
    let of_type = |n| (1..=1_000).map(|id| workload.shared.graph.loaded_links(id, FIRST_LINK_TYPE + n)).sum::<u64>();
    assert!((0..LINK_TYPES).all(|n| of_type(n) > 1_000));
}
