//! What a wait's row stands for.

use crate::cmdline_cache::{CmdlineCache, TaskName};
use crate::contention::Cause;
use crate::event::{Context, Reason};
use crate::report::{By, Owner, Part};

use super::named::{NamedHolder, NamedWait, known_comm};

/// The wait's value of one key.
pub(super) fn part(by: By, named: &NamedWait, cache: &CmdlineCache) -> Part {
    let NamedWait { wait, name, caller, .. } = named;
    let begin = &wait.begin;
    let kind = wait.cause.kind();
    let tid = begin.tid;
    match (by, begin.context) {
        (By::Caller, _) => Part::Caller(*caller, kind),
        (By::Stack, _) => Part::Stack(wait.stack, kind),
        (By::Lock, _) => lock(named),
        (By::Owner, _) => Part::Owner(named.holder.as_ref().map(owner)),
        (By::Reason, _) => Part::Reason(named.reason.unwrap_or(Reason::Named("unknown"))),
        (By::Chain, _) => Part::Chain(named.chain),
        (By::Type, _) => Part::Type(kind),
        (By::Cpu, _) => Part::Cpu(begin.cpu),
        (By::Context, context) => Part::Context(context),
        (By::Task, Context::Task) => {
            Part::Task { tid, incarnation: name.incarnation, comm: known_comm(name) }
        }
        (By::Task, context) => Part::Interrupt(context),
        (By::Cgroup, _) => Part::Cgroup(named.cgroup.and_then(|cgroup| cgroup.text)),
        (By::Comm, _) => Part::Comm(known_comm(name)),
        (By::Process, _) => {
            let leader = leader(named, cache);
            Part::Process {
                pid: name.tgid,
                incarnation: leader.map_or(0, |leader| leader.incarnation),
                comm: leader.as_ref().and_then(known_comm),
            }
        }
    }
}

/// A futex's address is one of its process.
fn lock(named: &NamedWait) -> Part {
    let (wait, kind) = (&named.wait, named.wait.cause.kind());
    let Cause::Futex(call) = wait.cause else { return Part::Lock(wait.lock, kind) };
    Part::Futex {
        pid: named.name.tgid,
        incarnation: named.process.map_or(0, |(_, incarnation)| incarnation),
        address: wait.lock,
        shared: call.shared,
        kind,
    }
}

fn owner(holder: &NamedHolder) -> Owner {
    Owner {
        tid: holder.holder.head.tid,
        incarnation: holder.name.incarnation,
        comm: known_comm(&holder.name),
    }
}

fn leader(named: &NamedWait, cache: &CmdlineCache) -> Option<TaskName> {
    let begin = &named.wait.begin;
    named.name.tgid.map(|tgid| cache.name_at(tgid, begin.cpu, begin.stamp))
}
