//! What a task sleeps for, by the functions on its stack: the rules, and nothing else.
//!
//! A sleep is *idle* if its task waits for something to do - a request, a time, a child's end - and
//! *held up* if something keeps it from going on with what it does. Where a function may be either,
//! as a read from a socket, it is held up: what is hidden is worse than what is shown.
//!
//! A function stands for itself anywhere on the stack. `a<b` is `a` called by `b`; a `*` stands for
//! any ending, or alone for any function. `^a` is `a` as the first function that is not the
//! scheduler's: then nothing that it called sleeps for reasons of its own. To add a rule, record with
//! `--sleep`, look which reasons are functions' names, and read in the kernel's source what those wait
//! for.

use super::sleep_reason::SleepRule;

const fn held(reason: &'static str, functions: &'static str) -> SleepRule {
    SleepRule { reason, idle: false, functions }
}

const fn idle(reason: &'static str, functions: &'static str) -> SleepRule {
    SleepRule { reason, idle: true, functions }
}

/// Any lock of the kernel's.
pub(super) const LOCK: &str = "lock";

/// Kernel threads that have nothing to do; also what those are that sleep so by their state alone.
pub(super) const WITHOUT_WORK: &str = "kernel thread without work";

/// Stopped by a signal or a debugger; also by state alone.
pub(super) const STOPPED: &str = "stopped";

/// The rules; the innermost function decides, and of its rules the first. Read against kernels 6.1,
/// 6.12 and 6.18.
#[rustfmt::skip]
pub(super) const SLEEP_RULES: &[SleepRule] = &[
    // Locks. Contention of user space's is told by the futex calls themselves.
    idle("futex",
        "futex_do_wait futex_wait_queue futex_wait_multiple futex_unqueue_multiple __futex_wait futex_wait \
         futex_wait_requeue_pi rt_mutex_slowlock_block<rt_mutex_wait_proxy_lock rt_mutex_wait_proxy_lock \
         futex_lock_pi"),
    held(LOCK,
        "mutex_lock mutex_lock_* __mutex_lock* ww_mutex_lock* __ww_mutex_lock* rwsem_down_* down_read* \
         down_write* down down_interruptible down_killable down_timeout __down* ___down_common \
         percpu_rwsem_wait percpu_down_write __percpu_down_read rt_mutex_slowlock* __rt_mutex_slowlock* \
         rt_mutex_lock* rtlock_slowlock* rt_spin_lock* rt_read_lock rt_write_lock* rwbase_read_lock \
         rwbase_write_lock __rwbase_read_lock __lock_sock __vma_start_write __vma_enter_locked"),
    held("page lock", "__folio_lock* folio_wait_bit_common<__filemap_get_folio*"),

    // Kernel threads. A thread's own function that sleeps itself is its loop.
    idle(WITHOUT_WORK,
        "^*<kthread ^kthread ^kthreadd ^io_wq_worker ^io_sq_thread ^vhost_task_fn ^irq_wait_for_interrupt \
         ^kswapd_try_to_sleep ^kthread_parkme ^__kthread_parkme ^rcu_tasks_one_gp<rcu_tasks_kthread \
         ^rcu_gp_fqs_loop ^rcu_nocb_gp_kthread ^svc_recv ^svc_get_next_xprt"),

    // Memory.
    held("page fault",
        "filemap_fault __do_fault do_fault handle_mm_fault __handle_mm_fault do_user_addr_fault \
         exc_page_fault do_page_fault"),
    held("swap in", "do_swap_page swap_readpage swap_read_folio* read_swap_cache_async swapin_readahead"),
    held("page migration", "migration_entry_wait* pmd_migration_entry_wait"),
    held("userfaultfd", "handle_userfault"),
    held("memory reclaim",
        "reclaim_throttle try_to_free_pages do_try_to_free_pages shrink_node shrink_lruvec \
         try_to_free_mem_cgroup_pages throttle_direct_reclaim"),
    held("memory cgroup", "mem_cgroup_handle_over_high __mem_cgroup_handle_over_high mem_cgroup_oom_synchronize"),

    // Files and disks.
    held("disk read",
        "filemap_get_pages filemap_update_page filemap_read filemap_splice_read generic_file_read_iter \
         blkdev_read_iter do_read_cache_folio"),
    held("direct I/O",
        "__iomap_dio_rw iomap_dio_rw iomap_dio_complete blkdev_direct_IO __blkdev_direct_IO* \
         __blockdev_direct_IO do_blockdev_direct_IO btrfs_dio_read btrfs_dio_write btrfs_direct_write"),
    held("fsync",
        "do_fsync vfs_fsync_range vfs_fsync ext4_sync_file xfs_file_fsync btrfs_sync_file f2fs_sync_file \
         f2fs_do_sync_file blkdev_fsync generic_file_fsync __generic_file_fsync file_write_and_wait_range \
         file_fdatawait_range __x64_sys_fsync __x64_sys_fdatasync __do_sys_msync __do_sys_sync_file_range \
         ksys_sync_file_range"),
    held("sync",
        "ksys_sync sync_filesystem sync_inodes_sb wb_wait_for_completion __iterate_supers iterate_supers \
         __do_sys_syncfs sync_bdevs"),
    held("write-back throttling",
        "balance_dirty_pages balance_dirty_pages_ratelimited* wbt_wait rq_qos_wait __rq_qos_throttle"),
    held("disk queue", "blk_mq_get_tag __blk_mq_get_tag blk_queue_enter __bio_queue_enter blk_mq_freeze_queue_wait*"),
    held("journal",
        "jbd2_log_do_checkpoint __jbd2_log_wait_for_space add_transaction_credits start_this_handle \
         do_get_write_access wait_transaction_locked jbd2_journal_commit_transaction \
         jbd2_journal_lock_updates xlog_grant_head_wait xlog_grant_head_check btrfs_wait_for_commit"),
    held("metadata read",
        "__ext4_find_entry ext4_read_bh ext4_read_bh_lock ext4_bread ext4_bread_batch __ext4_get_inode_loc \
         __read_extent_tree_block ext4_wait_block_bitmap ext4_read_inode_bitmap __ext4_read_dirblock \
         xfs_buf_iowait xfs_buf_read_map read_extent_buffer_pages* __bread_gfp f2fs_get_read_data_folio"),
    held("discard", "blkdev_issue_discard blkdev_issue_zeroout ext4_issue_discard"),
    held("AIO", "read_events do_io_getevents"),
    held("io_uring", "io_cqring_wait io_cqring_wait_schedule __do_sys_io_uring_enter"),
    held("file lock",
        "locks_lock_inode_wait posix_lock_inode_wait flock_lock_inode_wait __do_sys_flock fcntl_setlk* \
         do_lock_file_wait __break_lease"),
    held("directory look-up", "d_alloc_parallel d_wait_lookup"),
    held("inode", "__wait_on_freeing_inode inode_wait_for_writeback __inode_wait_for_writeback"),
    held("NFS", "rpc_wait_bit_killable nfs_wait_bit_killable __rpc_execute rpc_wait_for_completion_task nfs_wait_on_request"),
    held("SMB", "wait_for_response compound_send_recv"),
    held("9P", "p9_client_rpc p9_virtio_request"),
    held("FUSE", "request_wait_answer __fuse_request_send __fuse_simple_request fuse_simple_request"),
    idle("FUSE server", "fuse_dev_do_read fuse_dev_read"),

    // Pipes, sockets, terminals, messages.
    held("pipe read", "anon_pipe_read pipe_read fifo_pipe_read pipe_wait_readable ipipe_prep"),
    held("pipe write", "anon_pipe_write pipe_write fifo_pipe_write pipe_wait_writable opipe_prep"),
    held("fifo open", "wait_for_partner fifo_open"),
    idle("socket accept", "unix_accept inet_csk_accept inet_accept vsock_accept do_accept"),
    held("socket connect",
        "__inet_stream_connect inet_stream_connect inet_wait_for_connect unix_stream_connect \
         sk_stream_wait_connect vsock_connect"),
    held("socket read",
        "unix_stream_read_generic unix_stream_data_wait __unix_dgram_recvmsg unix_dgram_recvmsg \
         sk_wait_data tcp_recvmsg tcp_recvmsg_locked __skb_recv_udp udp_recvmsg udpv6_recvmsg netlink_recvmsg \
         packet_recvmsg raw_recvmsg vsock_connectible_recvmsg sock_recvmsg sock_read_iter"),
    held("socket write",
        "sock_alloc_send_pskb sk_stream_wait_memory unix_wait_for_peer unix_dgram_sendmsg netlink_attachskb \
         sock_wait_for_wmem vsock_connectible_sendmsg sock_sendmsg sock_write_iter"),
    held("socket close", "sk_stream_wait_close"),
    idle("terminal read", "n_tty_read tty_read"),
    held("terminal write", "n_tty_write tty_write_wait tty_wait_until_sent file_tty_write"),
    idle("message receive", "do_msgrcv do_mq_timedreceive"),
    held("message send", "do_msgsnd do_mq_timedsend"),
    held("semop", "__do_semtimedop do_semtimedop"),

    // Idle waiting.
    idle("timer",
        "do_nanosleep hrtimer_nanosleep alarm_timer_nsleep alarmtimer_do_nsleep timerfd_read timerfd_read_iter"),
    idle("poll", "do_sys_poll do_poll"),
    idle("select", "do_select core_sys_select"),
    idle("epoll", "do_epoll_wait ep_poll"),
    idle("wait for child", "do_wait kernel_wait4 kernel_waitid"),
    idle("signal", "__do_sys_pause sigsuspend do_sigtimedwait signalfd_read signalfd_read_iter signalfd_dequeue"),
    idle(STOPPED, "do_signal_stop ptrace_stop ptrace_do_notify do_jobctl_trap"),
    idle("frozen", "^get_signal do_freezer_trap __refrigerator"),
    idle("inotify", "inotify_read fanotify_read"),
    idle("eventfd", "eventfd_read eventfd_write"),
    idle("kernel log", "devkmsg_read syslog_print do_syslog"),
    idle("trace pipe", "wait_on_pipe ring_buffer_wait tracing_wait_pipe"),
    idle("binder", "binder_wait_for_work binder_thread_read"),
    idle("virtual CPU", "kvm_vcpu_block kvm_vcpu_halt"),

    // Life of tasks.
    held("vfork", "^kernel_clone ^wait_for_vfork_done"),
    held("exec", "^begin_new_exec ^de_thread"),
    held("core dump", "coredump_wait do_coredump vfs_coredump coredump_task_exit"),
    held("exit of a namespace", "zap_pid_ns_processes"),
    held("cgroup", "cgroup_rmdir cgroup_lock_and_drain_offline"),
    held("ptrace", "wait_task_inactive ptrace_attach"),

    // In the kernel.
    held("RCU",
        "synchronize_rcu* __synchronize_srcu synchronize_srcu* rcu_barrier* srcu_barrier __wait_rcu_gp* \
         synchronize_rcu_tasks* exp_funnel_lock"),
    held("work flush", "__flush_work flush_work __flush_workqueue drain_workqueue __cancel_work_timer __cancel_work_sync"),
    held("kernel thread start", "__kthread_create_on_node kthread_create_on_node kthread_stop kthread_park"),
    held("CPU stop", "affine_move_task stop_one_cpu stop_two_cpus stop_cpus __stop_cpus stop_machine* cpuhp_kick_ap*"),
    held("kernel timer", "msleep msleep_interruptible usleep_range_state"),
    held("module", "__request_module call_usermodehelper_exec idempotent_wait_for_completion"),
    held("firmware", "_request_firmware fw_load_sysfs_fallback"),
    held("disk command", "blk_execute_rq blk_execute_rq_nowait scsi_execute_cmd __nvme_submit_sync_cmd"),
    held("GPU", "dma_fence_wait* dma_fence_default_wait dma_resv_wait_timeout drm_atomic_helper_wait_for_*"),
    held("USB", "usb_start_wait_urb usb_control_msg usb_bulk_msg"),
    held("sound", "snd_pcm_drain wait_for_avail __snd_pcm_lib_xfer"),
    held("random numbers", "rng_dev_read wait_for_random_bytes"),
];

/// Rules for where none of the others fits; the first one counts, wherever its function stands.
#[rustfmt::skip]
pub(super) const VAGUE_SLEEP_RULES: &[SleepRule] = &[
    held("journal", "jbd2_log_wait_commit xfs_log_force* xlog_wait_on_iclog xlog_force_lsn"),
    held("write-back",
        "folio_wait_writeback folio_wait_stable wait_on_page_writeback __filemap_fdatawait_range \
         filemap_fdatawait_* writeback_sb_inodes"),
    held("page lock", "folio_wait_bit* folio_lock*"),
    held("disk flush", "blkdev_issue_flush"),
    held("disk I/O",
        "submit_bio_wait __wait_on_buffer bit_wait_io io_schedule io_schedule_timeout wait_for_completion_io*"),
    held("socket read", "__skb_wait_for_more_packets"),
    held("exit", "do_exit do_group_exit"),
];
