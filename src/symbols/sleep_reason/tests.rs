use super::super::sleep_rules::{SLEEP_RULES, VAGUE_SLEEP_RULES};
use super::{SCHEDULING, SleepReason, derive, fits};
use crate::event::{LeftAs, Reason};
use crate::symbols::fixtures::recording;
use std::collections::BTreeSet;

fn reason(stack: &str) -> Option<(&'static str, bool)> {
    let functions: Vec<&str> = stack.split_whitespace().collect();
    let is_scheduling = |name: &&str| SCHEDULING.iter().any(|pattern| fits(pattern, name));
    let first = functions.iter().position(|name| !is_scheduling(name)).unwrap();
    derive(&functions, first).map(|SleepReason { reason, idle }| match reason {
        Reason::Named(name) => (name, idle),
        Reason::Function(_) => unreachable!("no rule gives a function"),
    })
}

/// Stacks as 6.18 recorded them, without what all have in common at both ends, and a few of 6.1.
#[rustfmt::skip]
const HELD: &[(&str, &str)] = &[
    ("page fault", "schedule io_schedule folio_wait_bit_common filemap_read_folio filemap_fault __do_fault do_fault __handle_mm_fault handle_mm_fault exc_page_fault"),
    ("page fault", "schedule io_schedule folio_wait_bit_common filemap_fault __do_fault elf_load load_elf_binary bprm_execve"),
    ("disk read", "schedule io_schedule folio_wait_bit_common filemap_get_pages filemap_read vfs_read ksys_read"),
    ("disk read", "schedule io_schedule folio_wait_bit_common filemap_get_pages filemap_splice_read splice_direct_to_actor"),
    ("disk read", "schedule io_schedule folio_wait_bit_common filemap_get_pages filemap_read __kernel_read bprm_execve"),
    ("direct I/O", "schedule schedule_timeout io_schedule_timeout __iomap_dio_rw iomap_dio_rw ext4_file_read_iter vfs_read"),
    ("fsync", "schedule io_schedule folio_wait_bit folio_wait_writeback __filemap_fdatawait_range file_write_and_wait_range ext4_sync_file do_fsync __x64_sys_fsync"),
    ("fsync", "schedule io_schedule bit_wait_io __wait_on_bit out_of_line_wait_on_bit __sync_dirty_buffer ext4_write_inode __writeback_single_inode ext4_sync_file do_fsync"),
    ("fsync", "schedule schedule_timeout io_schedule_timeout wait_for_completion_io_timeout submit_bio_wait blkdev_issue_flush ext4_sync_file do_fsync"),
    ("fsync", "schedule jbd2_log_wait_commit ext4_sync_file do_fsync"),
    ("fsync", "schedule io_schedule folio_wait_bit folio_wait_writeback ext4_sync_file ext4_buffered_write_iter vfs_write"),
    ("sync", "schedule wb_wait_for_completion sync_inodes_sb __iterate_supers ksys_sync"),
    ("write-back throttling", "schedule schedule_timeout io_schedule_timeout balance_dirty_pages balance_dirty_pages_ratelimited_flags generic_perform_write ext4_buffered_write_iter vfs_write"),
    ("write-back throttling", "schedule io_schedule rq_qos_wait wbt_wait __rq_qos_throttle blk_mq_submit_bio"),
    ("disk queue", "schedule io_schedule blk_mq_get_tag __blk_mq_alloc_requests blk_mq_submit_bio"),
    ("journal", "schedule jbd2_log_do_checkpoint __jbd2_log_wait_for_space add_transaction_credits start_this_handle jbd2__journal_start"),
    ("journal", "schedule io_schedule bit_wait_io __wait_on_bit jbd2_journal_commit_transaction kjournald2 kthread"),
    ("journal", "schedule jbd2_log_wait_commit jbd2_complete_transaction ext4_evict_inode"),
    ("metadata read", "schedule io_schedule bit_wait_io __wait_on_bit out_of_line_wait_on_bit __ext4_find_entry ext4_lookup"),
    ("metadata read", "schedule io_schedule bit_wait_io __wait_on_bit out_of_line_wait_on_bit ext4_read_bh __read_extent_tree_block ext4_find_extent"),
    ("discard", "schedule schedule_timeout submit_bio_wait blkdev_issue_discard ext4_free_blocks evict do_unlinkat"),
    ("write-back", "schedule io_schedule folio_wait_bit folio_wait_writeback truncate_inode_pages_range"),
    ("disk I/O", "schedule io_schedule bit_wait_io __wait_on_bit out_of_line_wait_on_bit some_filesystem"),
    ("userfaultfd", "schedule handle_userfault do_anonymous_page __handle_mm_fault handle_mm_fault exc_page_fault"),
    ("AIO", "schedule read_events do_io_getevents __x64_sys_io_getevents"),
    ("io_uring", "schedule io_cqring_wait __do_sys_io_uring_enter"),
    ("pipe read", "schedule anon_pipe_read vfs_read"),
    ("pipe read", "schedule pipe_read vfs_read ksys_read"),
    ("pipe write", "schedule fifo_pipe_write vfs_write"),
    ("fifo open", "schedule wait_for_partner fifo_open do_dentry_open"),
    ("socket read", "schedule schedule_timeout unix_stream_read_generic unix_stream_recvmsg"),
    ("socket read", "schedule schedule_timeout __skb_wait_for_more_packets __skb_recv_udp udp_recvmsg"),
    ("socket read", "schedule schedule_timeout wait_woken sk_wait_data tcp_recvmsg_locked"),
    ("socket write", "schedule schedule_timeout wait_woken sk_stream_wait_memory tcp_sendmsg_locked"),
    ("socket connect", "schedule schedule_timeout wait_woken __inet_stream_connect"),
    ("file lock", "schedule locks_lock_inode_wait __do_sys_flock"),
    ("semop", "schedule schedule_hrtimeout_range_clock __do_semtimedop"),
    ("vfork", "schedule schedule_timeout __wait_for_common wait_for_completion_state kernel_clone __do_sys_vfork"),
    ("exec", "schedule begin_new_exec load_elf_binary bprm_execve"),
    ("lock", "schedule schedule_preempt_disabled __mutex_lock anon_pipe_write vfs_write"),
    ("lock", "schedule schedule_preempt_disabled rwsem_down_read_slowpath down_read do_user_addr_fault exc_page_fault"),
    ("lock", "schedule schedule_timeout ___down_common __down down"),
    ("lock", "schedule schedule_preempt_disabled rwsem_down_write_slowpath down_write ext4_sync_file do_fsync"),
    ("RCU", "schedule schedule_timeout wait_for_completion synchronize_rcu_normal"),
    ("work flush", "schedule schedule_timeout wait_for_completion __flush_work n_tty_read"),
    ("kernel timer", "schedule schedule_timeout msleep some_driver vfs_write"),
];

#[rustfmt::skip]
const IDLE: &[(&str, &str)] = &[
    ("socket accept", "schedule schedule_timeout __skb_wait_for_more_packets __skb_recv_datagram skb_recv_datagram unix_accept do_accept"),
    ("socket accept", "schedule schedule_timeout inet_csk_accept inet_accept do_accept"),
    ("terminal read", "schedule schedule_timeout wait_woken n_tty_read tty_read"),
    ("inotify", "schedule schedule_timeout wait_woken inotify_read"),
    ("eventfd", "schedule do_wait_intr_irq eventfd_read"),
    ("timer", "schedule do_wait_intr_irq timerfd_read_iter vfs_read"),
    ("timer", "schedule do_nanosleep hrtimer_nanosleep common_nsleep __x64_sys_clock_nanosleep"),
    ("poll", "schedule schedule_hrtimeout_range_clock poll_schedule_timeout do_sys_poll"),
    ("select", "schedule schedule_hrtimeout_range_clock poll_schedule_timeout do_select core_sys_select"),
    ("epoll", "schedule schedule_hrtimeout_range_clock do_epoll_wait"),
    ("epoll", "schedule schedule_hrtimeout_range_clock ep_poll do_epoll_wait"),
    ("futex", "schedule futex_do_wait __futex_wait futex_wait do_futex"),
    ("futex", "schedule futex_wait_queue futex_wait do_futex"),
    ("futex", "schedule rt_mutex_schedule rt_mutex_slowlock_block rt_mutex_wait_proxy_lock futex_lock_pi"),
    ("wait for child", "schedule do_wait kernel_wait4"),
    ("signal", "schedule sigsuspend __x64_sys_rt_sigsuspend"),
    ("stopped", "schedule do_signal_stop get_signal arch_do_signal_or_restart"),
    ("stopped", "schedule ptrace_stop ptrace_do_notify ptrace_notify syscall_trace_enter"),
    ("frozen", "schedule get_signal arch_do_signal_or_restart exit_to_user_mode_loop"),
    ("message receive", "schedule do_msgrcv"),
    ("message receive", "schedule schedule_hrtimeout_range_clock wq_sleep do_mq_timedreceive"),
    ("kernel thread without work", "schedule worker_thread kthread ret_from_fork"),
    ("kernel thread without work", "schedule schedule_timeout kcompactd kthread ret_from_fork"),
    ("kernel thread without work", "schedule schedule_timeout rcu_gp_fqs_loop rcu_gp_kthread kthread"),
    ("kernel thread without work", "schedule kthreadd ret_from_fork"),
    ("kernel thread without work", "schedule schedule_preempt_disabled kthread ret_from_fork"),
    ("kernel thread without work", "schedule schedule_timeout io_wq_worker ret_from_fork"),
    ("kernel thread without work", "schedule kjournald2 kthread ret_from_fork"),
];

#[test]
fn the_stack_gives_the_reason() {
    for (idle, stacks) in [(false, HELD), (true, IDLE)] {
        for &(expected, stack) in stacks {
            assert_eq!(reason(stack), Some((expected, idle)), "{stack}");
            // On top of it, all have these.
            let whole = format!("__schedule {stack} do_syscall_64 entry_SYSCALL_64_after_hwframe");
            assert_eq!(reason(&whole), Some((expected, idle)), "{stack}");
        }
    }
}

#[test]
fn what_no_rule_knows_has_no_reason() {
    let stacks = [
        "schedule my_driver_wait my_driver_ioctl vfs_ioctl",
        // A thread that works sleeps for what it works on.
        "schedule schedule_timeout wait_for_completion my_work process_one_work worker_thread kthread",
        // What a signal's delivery waits for is not that signal.
        "schedule my_coredump_pipe get_signal arch_do_signal_or_restart",
    ];
    for stack in stacks {
        assert_eq!(reason(stack), None, "{stack}");
    }
}

#[test]
fn without_a_stack_the_state_is_all_there_is() {
    let table = [
        (LeftAs::Uninterruptible, "uninterruptible sleep", false),
        (LeftAs::Interruptible, "interruptible sleep", false),
        (LeftAs::Idle, "kernel thread without work", true),
        (LeftAs::Stopped, "stopped", true),
    ];
    for (state, name, idle) in table {
        assert_eq!(SleepReason::of_state(state), SleepReason { reason: Reason::Named(name), idle });
    }
}

/// A function that stands twice would have its second rule never used.
#[test]
fn each_function_has_one_rule() {
    for rules in [SLEEP_RULES, VAGUE_SLEEP_RULES] {
        let mut seen = BTreeSet::new();
        for rule in rules {
            for pattern in rule.functions.split_whitespace() {
                let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
                let part = |part: &str| part.trim_end_matches('*').chars().all(plain);
                assert!(pattern.trim_start_matches('^').split('<').all(part), "{pattern}");
                assert!(seen.insert(pattern), "{}: {pattern} stands twice", rule.reason);
            }
        }
        assert!(seen.len() > 10);
    }
}

/// Code that is in modules, which no recorded kernel had loaded.
const IN_MODULES: [&str; 6] = ["NFS", "SMB", "9P", "binder", "USB", "sound"];

#[test]
fn each_rule_knows_a_function_of_some_kernel() {
    let mut names = BTreeSet::new();
    for kernel in ["amd64-6.1", "amd64-6.12", "amd64-6.18-live"] {
        let Some(list) = recording(kernel, "_kernel/kallsyms.txt.zst") else { return };
        for line in String::from_utf8(list).unwrap().lines() {
            let name = line.split_whitespace().nth(2).unwrap_or_default();
            names.insert(name.split('.').next().unwrap_or_default().to_owned());
        }
    }
    let is_known = |part: &str| match part.strip_suffix('*') {
        Some(prefix) => {
            names.range(prefix.to_owned()..).next().is_some_and(|name| name.starts_with(prefix))
        }
        None => names.contains(part),
    };
    for rule in SLEEP_RULES.iter().chain(VAGUE_SLEEP_RULES) {
        let mut patterns = rule.functions.split_whitespace();
        let known =
            patterns.any(|pattern| pattern.trim_start_matches('^').split('<').all(is_known));
        assert_eq!(known, !IN_MODULES.contains(&rule.reason), "{}", rule.reason);
    }
}
