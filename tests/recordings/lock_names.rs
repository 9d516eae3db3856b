//! Names of locks in recordings with stacks: how much of the waiting they cover, and whether they
//! agree with the kernel's own symbols.

use std::collections::BTreeSet;
use std::sync::Arc;

use ftlock::contention::Begins;
use ftlock::pipeline::NamedWait;
use ftlock::symbols::Kallsyms;

use crate::fixtures;
use crate::totals::Recorded;

/// The scenarios with stacks, and the least share of the waits' time that must be for locks a rule
/// names, in percent. armhf's stacks lack the caller's frame where it is the system call itself.
const RECORDED: [(&str, &[&str], u64); 7] = [
    ("amd64-6.1", &["stack", "stackonly"], 98),
    ("amd64-6.1-rt", &["stack", "stackonly"], 98),
    ("amd64-6.12", &["stack", "stackonly"], 98),
    ("amd64-6.18-live", &["stack"], 98),
    ("arm64-6.1", &["stackonly"], 98),
    ("armhf-6.1", &["stack", "stackonly"], 80),
    ("s390x-6.1", &["stack", "stackonly"], 98),
];

/// Where the kernel has a symbol at or before a lock, and the rule's name is another: the root of
/// the tree of nodes, the inner locks of a queued rwlock and of PREEMPT_RT's locks.
const OTHER_WORDS: [(&str, &str); 4] = [
    ("rcu_state+0x0", "rcu_node_lock"),
    ("tasklist_lock+0x4", "rwlock_wait_lock"),
    ("tasklist_lock+0x8", "tasklist_lock"),
    ("css_set_lock+0x0", "rtmutex_wait_lock"),
];

#[test]
fn rules_name_most_of_the_waiting_and_agree_with_the_symbols() {
    let mut compared = BTreeSet::new();
    for (kernel, scenarios, floor) in RECORDED {
        let Some(folder) = fixtures::shared(&format!("kernels/{kernel}")) else { return };
        let kallsyms = fixtures::read(&folder.join("_kernel/kallsyms.txt"));
        let symbols = Arc::new(Kallsyms::parse(&kallsyms));
        for scenario in scenarios {
            let recorded = Recorded::scenario(&folder.join(scenario));
            let (collected, _) = recorded.run_with(&symbols, false, Begins::All, 1 << 12);
            let time_ns = |waits: &mut dyn Iterator<Item = &NamedWait>| -> u64 {
                waits.map(|named| named.wait.wait_ns()).sum()
            };
            let named = || collected.waits.iter().filter(|named| named.lock_name.is_some());
            let percent = 100 * time_ns(&mut named()) / time_ns(&mut collected.waits.iter());
            println!("{kernel}/{scenario}: {percent} % of {} waits' time", collected.waits.len());
            assert!(percent >= floor, "{kernel}/{scenario}: {percent} %");
            for named in named() {
                let Some(symbol) = symbols.resolve_data(named.wait.lock) else { continue };
                let (name, symbol) = (named.lock_name.unwrap().name(), symbol.to_string());
                let agrees = symbol == format!("{name}+0x0");
                assert!(agrees || OTHER_WORDS.contains(&(&*symbol, name)), "{symbol} is no {name}");
                compared.insert(name);
            }
        }
    }
    // Locks of three subsystems, at least.
    let global = ["cgroup_threadgroup_rwsem", "rcu_node_lock", "tasklist_lock"];
    assert!(global.iter().all(|name| compared.contains(name)), "{compared:?}");
}
