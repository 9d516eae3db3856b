use super::super::lock_rules::LOCK_RULES;
use super::{Class, derive};
use crate::event::WaitKind;
use std::collections::BTreeSet;

/// Stacks as kernels record them, the lock's own frames first. `|` stands before the caller.
#[test]
fn kind_and_stack_give_the_name() {
    use WaitKind::{
        Mutex, PercpuRead, PercpuWrite, RtMutex, RwlockRtWrite, RwlockWrite, RwsemRead, RwsemWrite,
        Spinlock,
    };
    let table = [
        (Spinlock, "_raw_spin_lock | __schedule schedule", Some("rq_lock")),
        (Spinlock, "_raw_spin_lock | try_to_wake_up wake_up_q", Some("rq_lock")),
        (Spinlock, "_raw_spin_lock_irqsave | try_to_wake_up wake_up_q", Some("pi_lock")),
        // Where taking it is inlined, nothing tells the two apart.
        (Spinlock, "queued_spin_lock_slowpath | try_to_wake_up wake_up_q", None),
        (Spinlock, "_raw_spin_lock __task_rq_lock | try_to_wake_up", Some("rq_lock")),
        (Spinlock, "_raw_spin_lock_irqsave | rmqueue_bulk __rmqueue_pcplist", Some("zone_lock")),
        (
            Spinlock,
            "_raw_spin_lock_irqsave folio_lruvec_lock_irqsave | release_pages",
            Some("lruvec_lock"),
        ),
        // The caller decides, not who called it.
        (Spinlock, "_raw_spin_lock | __queue_work call_timer_fn __run_timers", Some("pool_lock")),
        (Spinlock, "_raw_spin_lock | my_driver_irq __schedule", None),
        (Spinlock, "_raw_spin_lock lockref_get | dget_parent", Some("d_lock")),
        (Spinlock, "_raw_spin_lock lockref_get | gfs2_qd_search_bucket dput", None),
        (Spinlock, "_raw_spin_lock | filemap_remove_folio", Some("i_lock")),
        (Spinlock, "_raw_spin_lock_irq | filemap_remove_folio", Some("i_pages_lock")),
        // A lock's inner spinlock is not the lock.
        (
            Spinlock,
            "_raw_spin_lock_irq rwsem_down_write_slowpath down_write | path_openat",
            Some("rwsem_wait_lock"),
        ),
        (
            Spinlock,
            "queued_write_lock_slowpath _raw_write_lock_irq | do_exit",
            Some("rwlock_wait_lock"),
        ),
        (Spinlock, "_raw_spin_lock_irq | do_exit", Some("siglock")),
        (RwlockWrite, "_raw_write_lock_irq | do_exit", Some("tasklist_lock")),
        (RwsemRead, "down_read | do_exit", Some("mmap_lock")),
        (PercpuRead, "__percpu_down_read | exit_signals do_exit", Some("cgroup_threadgroup_rwsem")),
        (
            PercpuWrite,
            "percpu_down_write | cgroup_procs_write_start",
            Some("cgroup_threadgroup_rwsem"),
        ),
        (RwsemWrite, "rwsem_down_write_slowpath down_write | vm_mmap_pgoff", Some("mmap_lock")),
        (RwsemWrite, "down_write_killable | dup_mmap copy_process", Some("mmap_lock")),
        (RwsemWrite, "down_write | dup_mmap copy_process", Some("i_mmap_rwsem")),
        (RwsemWrite, "down_write | do_renameat2 __x64_sys_rename", Some("i_rwsem")),
        (Mutex, "__mutex_lock | do_renameat2 __x64_sys_rename", Some("s_vfs_rename_mutex")),
        (Mutex, "__mutex_lock | anon_pipe_write vfs_write", Some("pipe_mutex")),
        (Mutex, "__mutex_lock | pipe_read vfs_read", Some("pipe_mutex")),
        // PREEMPT_RT: spinlocks and mutexes are of one kind, rwsems and rwlocks of another.
        (RtMutex, "rtlock_slowlock_locked rt_spin_lock | futex_wake", Some("futex_hb_lock")),
        (RtMutex, "rtlock_slowlock_locked rt_spin_lock | do_exit", Some("siglock")),
        (RtMutex, "rtlock_slowlock_locked rt_write_lock | do_exit", Some("tasklist_lock")),
        (RtMutex, "__rt_mutex_slowlock_locked mutex_lock | pipe_read", Some("pipe_mutex")),
        (
            RtMutex,
            "__rt_mutex_slowlock_locked rwbase_write_lock | path_openat do_filp_open",
            Some("i_rwsem"),
        ),
        (RwlockRtWrite, "rt_write_lock | release_task", Some("tasklist_lock")),
        (RwlockRtWrite, "rwbase_write_lock down_write_killable | vm_mmap_pgoff", Some("mmap_lock")),
        (Spinlock, "_raw_spin_lock_irqsave rt_spin_lock | futex_wake", Some("rtmutex_wait_lock")),
        (WaitKind::Unknown, "_raw_spin_lock | __schedule", None),
    ];
    for (kind, stack, expected) in table {
        let words = stack.split_whitespace();
        let caller = words.clone().position(|word| word == "|").unwrap();
        let functions: Vec<&str> = words.filter(|word| *word != "|").collect();
        let name = derive(kind, &functions, caller).map(|derived| derived.name);
        assert_eq!(name, expected, "{} {stack}", kind.name());
    }
}

#[test]
fn no_stack_has_no_name() {
    assert_eq!(derive(WaitKind::Spinlock, &[], 0), None);
    assert_eq!(derive(WaitKind::Spinlock, &["", ""], 0), None);
}

/// A function that stands twice in one class would have its second rule never used.
#[test]
fn each_function_has_one_rule_in_its_class() {
    let mut seen = BTreeSet::new();
    for rule in LOCK_RULES {
        assert!(!rule.functions.is_empty() && rule.name.is_ascii());
        for function in rule.functions.split_whitespace() {
            let part = |part: &str| part.trim_end_matches('*').chars().all(is_of_a_name);
            assert!(function.split('<').all(part), "{function}");
            let class = format!("{:?}", rule.class);
            assert!(seen.insert((class, function)), "{} twice: {function}", rule.name);
        }
    }
    assert!(LOCK_RULES.iter().any(|rule| rule.class == Class::Semaphore));
}

fn is_of_a_name(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_'
}
