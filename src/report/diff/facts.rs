//! What is known of the runs themselves, and why they may not be comparable.

use super::Lengths;
use crate::report::scaled;

/// What is known of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunFacts {
    /// The file it was read from.
    pub file: String,
    /// The traced command with its arguments; empty where there is none.
    pub command: Vec<String>,
    /// How long was traced, in ns.
    pub duration_ns: u64,
    /// The kernel's release.
    pub kernel: String,
    /// The machine's name, where known.
    pub host: Option<String>,
    /// CPUs traced.
    pub cpus: u64,
    /// Events that were written and not read.
    pub lost: u64,
    /// Waits that overlap a loss.
    pub uncertain: u64,
    /// What was traced, and of whom: in words, in the same order in every run. None where the file does not tell.
    pub traced: Option<Vec<String>>,
}

/// Everything that makes one run differ from the other before any wait, and what is missing of them. A line each.
pub fn notes(a: &RunFacts, b: &RunFacts) -> Vec<String> {
    let lengths = Lengths { a_ns: a.duration_ns, b_ns: b.duration_ns };
    let mut notes = Vec::new();
    let mut differ = |what: &str, is_other: bool, of: &dyn Fn(&RunFacts) -> String| {
        if is_other {
            notes.push(format!("{what}: A {}, B {}", of(a), of(b)));
        }
    };
    differ("not of the same length", !lengths.are_equal(), &|run| {
        scaled(run.duration_ns).to_string()
    });
    differ("not on as many CPUs", a.cpus != b.cpus, &|run| run.cpus.to_string());
    differ("not on the same kernel", a.kernel != b.kernel, &|run| run.kernel.clone());
    let hosts_differ = a.host.is_some() && b.host.is_some() && a.host != b.host;
    differ("not on the same machine", hosts_differ, &|run| run.host.clone().unwrap_or_default());
    differ("not the same command", a.command != b.command, &|run| match &run.command[..] {
        [] => "none".to_owned(),
        words => words.join(" "),
    });
    let traced = |run: &RunFacts| run.traced.clone().unwrap_or_default();
    let without = |run: &RunFacts, other: &RunFacts| {
        let own = traced(run);
        let own: Vec<_> = own.into_iter().filter(|word| !traced(other).contains(word)).collect();
        if own.is_empty() { "without".to_owned() } else { own.join(", ") }
    };
    if a.traced.is_some() && b.traced.is_some() && a.traced != b.traced {
        notes.push(format!("not traced alike: A {}, B {}", without(a, b), without(b, a)));
    }
    for (name, run) in [("A", a), ("B", b)] {
        if run.lost > 0 || run.uncertain > 0 {
            let RunFacts { lost, uncertain, .. } = run;
            notes.push(format!(
                "{name} lacks waits: {lost} events lost, {uncertain} waits uncertain"
            ));
        }
    }
    notes
}
