//! Which lock a function waits for: the rules, and nothing else.
//!
//! A rule names a lock after the kernel's own field or variable where it has one, and lists the
//! functions that take it. To add one, record with `--stream json`, look which `caller`s come
//! without a `lock_name`, and read in the kernel's source what they lock.
//!
//! A function stands for itself as the caller or as one of the lock's own functions below it.
//! `a<b` is `a` called by `b`, which tells two locks of one function apart by how each is taken.
//! A `*` stands for any ending. Where a function takes two locks of one class that nothing tells
//! apart, it has no rule: a wrong name is worse than an address.

use super::lock_name::{Class, LockRule};
use Class::{Inner, Mutex, Percpu, Rwlock, Rwsem, Semaphore, Spin};

const fn rule(class: Class, name: &'static str, functions: &'static str) -> LockRule {
    LockRule { class, name, functions }
}

/// The rules; the first one that fits counts. Read against kernels 6.1, 6.12 and 6.18.
#[rustfmt::skip]
pub(super) const LOCK_RULES: &[LockRule] = &[
    // Spinlocks inside other locks, whoever wanted those.
    rule(Inner, "rwlock_wait_lock", "queued_read_lock_slowpath queued_write_lock_slowpath"),
    rule(Inner, "pi_lock", "try_to_take_rt_mutex task_blocks_on_rt_mutex* rt_mutex_adjust_*"),
    rule(Inner, "rwsem_wait_lock", "rwsem_* __rwsem_* _raw_*<downgrade_write"),
    rule(Inner, "mutex_wait_lock", "__mutex_* __ww_mutex_*"),
    rule(Inner, "rtmutex_wait_lock",
        "rt_mutex_* __rt_mutex_* rtlock_* rwbase_* __rwbase_* \
         _raw_*<rt_spin_* _raw_*<rt_read_* _raw_*<rt_write_*"),
    rule(Inner, "semaphore_lock", "_raw_*<down _raw_*<up _raw_*<down_timeout _raw_*<down_trylock"),

    // Scheduler. The pi_lock is taken with interrupts saved, the run queue's below it.
    rule(Spin, "pi_lock",
        "_raw_spin_lock_irqsave<try_to_wake_up _raw_spin_lock_irqsave<task_rq_lock \
         _raw_spin_lock_irqsave<wake_up_new_task task_work_run task_work_cancel*"),
    rule(Spin, "rq_lock",
        "raw_spin_rq_lock_nested _raw_spin_rq_lock_irqsave __task_rq_lock \
         _raw_spin_lock<task_rq_lock _raw_spin_lock<try_to_wake_up double_rq_lock \
         _double_lock_balance __schedule sched_tick scheduler_tick sched_balance_* load_balance \
         newidle_balance update_blocked_averages sched_ttwu_pending ttwu_queue_* do_sched_yield \
         move_queued_task sched_rr_get_interval hrtick"),
    rule(Spin, "cpu_stopper_lock", "cpu_stop_queue_work cpu_stop_queue_two_works cpu_stopper_thread"),
    rule(Spin, "task_group_lock", "sched_online_group sched_release_group"),

    // Waiting for events.
    rule(Spin, "completion_lock", "complete complete_all complete_with_flags wait_for_completion* __wait_for_common"),
    rule(Spin, "swait_queue_lock", "prepare_to_swait_* swake_up_* finish_swait"),
    rule(Spin, "wait_queue_lock",
        "prepare_to_wait* finish_wait add_wait_queue* remove_wait_queue __wake_up* \
         do_wait_intr* wait_woken eventfd_* timerfd_*"),

    // Timers and time.
    rule(Spin, "timer_base_lock",
        "lock_timer_base __run_timers __run_timer_base run_timer_base add_timer_on __mod_timer \
         run_timer_softirq get_next_timer_interrupt __get_next_timer_interrupt timer_expire_remote"),
    rule(Spin, "tmigr_lock", "tmigr_*"),
    rule(Spin, "hrtimer_base_lock",
        "lock_hrtimer_base hrtimer_start_range_ns hrtimer_try_to_cancel hrtimer_interrupt \
         __hrtimer_run_queues hrtimer_run_queues hrtimer_run_softirq hrtimer_get_next_event \
         hrtimer_next_event_without __hrtimer_get_remaining"),
    rule(Spin, "it_lock", "__lock_timer lock_timer posix_timer_fn"),
    rule(Spin, "jiffies_lock", "tick_do_update_jiffies64"),
    rule(Spin, "timekeeper_lock", "timekeeping_advance update_wall_time do_adjtimex"),
    rule(Spin, "tick_broadcast_lock", "__tick_broadcast_oneshot_control tick_handle_oneshot_broadcast"),

    // RCU, work queues, stoppers of all kinds.
    rule(Spin, "rcu_node_lock",
        "rcu_core rcu_gp_kthread rcu_gp_fqs_loop rcu_gp_init rcu_gp_cleanup rcu_report_* \
         __rcu_report_* rcu_accelerate_cbs_unlocked note_gp_changes force_qs_rnp rcu_note_context_switch \
         rcu_preempt_deferred_qs_irqrestore sync_rcu_exp_* __sync_rcu_exp_* rcu_exp_* start_poll_synchronize_rcu*"),
    rule(Mutex, "exp_mutex", "exp_funnel_lock"),
    rule(Spin, "rcu_nocb_lock", "rcu_nocb_* __call_rcu_nocb_wake call_rcu_nocb nocb_*"),
    rule(Spin, "krc_lock", "kvfree_call_rcu kfree_rcu_* add_ptr_to_bulk_krc_lock"),
    rule(Spin, "srcu_lock", "srcu_* process_srcu"),
    rule(Spin, "pool_lock",
        "__queue_work process_one_work worker_thread wq_worker_sleeping wq_worker_running \
         try_to_grab_pending start_flush_work idle_worker_timeout create_worker wq_worker_comm"),

    // Page allocator, LRU, slab, vmalloc.
    rule(Spin, "zone_lock",
        "rmqueue_bulk free_pcppages_bulk __rmqueue_pcplist free_one_page rmqueue rmqueue_buddy \
         get_page_from_freelist __free_pages_ok unreserve_highatomic_pageblock page_reporting_cycle"),
    rule(Spin, "pcp_lock", "drain_pages_zone drain_pages"),
    rule(Spin, "lruvec_lock",
        "folio_lruvec_lock* folio_lruvec_relock* lruvec_lock* folio_batch_move_lru __page_cache_release \
         release_pages folios_put_refs folio_isolate_lru isolate_lru_page shrink_inactive_list \
         shrink_active_list evict_folios check_move_unevictable_folios mlock_folio_batch"),
    rule(Spin, "list_lru_lock", "list_lru_* __list_lru_* lock_list_lru_*"),
    rule(Spin, "slab_list_lock",
        "get_partial_node get_partial_node_bulk get_any_partial __put_partials __unfreeze_partials \
         __slab_free deactivate_slab free_to_partial_list cache_alloc_refill cache_flusharray"),
    rule(Spin, "slab_barn_lock", "barn_*"),
    rule(Spin, "vmap_area_lock",
        "alloc_vmap_area free_vmap_area* find_vmap_area find_unlink_vmap_area remove_vm_area \
         purge_vmap_node __purge_vmap_area_lazy vb_alloc vb_free setup_vmalloc_vm*"),
    rule(Mutex, "pcpu_alloc_mutex", "pcpu_alloc*"),
    rule(Spin, "pcpu_lock", "pcpu_alloc* free_percpu pcpu_balance_*"),
    rule(Rwsem, "shrinker_rwsem", "shrink_slab register_shrinker* unregister_shrinker"),
    rule(Spin, "percpu_counter_lock", "percpu_counter_* __percpu_counter_*"),
    rule(Spin, "ida_lock", "ida_*"),
    rule(Spin, "hugetlb_lock", "alloc_hugetlb_folio free_huge_folio hugetlb_acct_memory gather_surplus_pages"),

    // Address spaces. Fork takes the file's tree plainly, the parent's mmap_lock killably.
    rule(Rwsem, "exec_update_lock", "down_write*<begin_new_exec exec_mmap mm_access do_io_accounting proc_pid_stack proc_pid_syscall"),
    rule(Rwsem, "mmap_lock",
        "vm_mmap_pgoff __vm_munmap vm_munmap vm_brk* do_mprotect_pkey do_mremap mremap __do_sys_mremap \
         __do_sys_brk __se_sys_brk __x64_sys_brk __arm64_sys_brk sys_brk \
         lock_mm_and_find_vma do_user_addr_fault __do_page_fault do_page_fault do_exception do_dat_exception \
         do_madvise madvise_* __do_sys_process_madvise exit_mmap exit_mm mm_release \
         do_exit down_read*<begin_new_exec __rwbase_read*<begin_new_exec \
         down_write_killable<dup_mmap dup_mm m_start proc_get_vma show_smaps_rollup pagemap_read clear_refs_write \
         __access_remote_vm access_remote_vm __get_user_pages* get_user_pages_* __gup_longterm_locked \
         gup_fast_fallback internal_get_user_pages_fast fixup_user_fault __mm_populate do_mlock \
         apply_mlockall_flags __do_sys_munlockall __do_sys_mlockall setup_arg_pages get_arg_page \
         copy_strings* __install_special_mapping map_vdso* do_mbind kernel_mbind do_migrate_pages \
         do_pages_* userfaultfd_* mfill_atomic* khugepaged_scan_mm_slot collapse_huge_page \
         hpage_collapse_scan_* ksm_* unmerge_ksm_pages prctl_set_mm* prctl_set_vma acct_collect"),
    rule(Rwsem, "i_mmap_rwsem",
        "unlink_file_vma* vma_link vma_link_file down_write<dup_mmap rmap_walk_file \
         __rmap_walk_file unmap_mapping_*"),
    rule(Rwsem, "anon_vma_rwsem",
        "unlink_anon_vmas anon_vma_clone anon_vma_fork __anon_vma_prepare rmap_walk_anon \
         folio_lock_anon_vma_read __put_anon_vma"),
    rule(Rwsem, "vma_lock", "__vma_start_write vma_start_write __split_vma"),
    rule(Spin, "page_table_lock",
        "__pte_offset_map_lock pte_offset_map_lock do_anonymous_page do_fault do_fault_around do_read_fault \
         do_cow_fault do_shared_fault finish_fault do_wp_page wp_page_copy handle_pte_fault __handle_mm_fault \
         handle_mm_fault zap_pte_range zap_page_range_* unmap_page_range copy_pte_range copy_page_range \
         change_pte_range change_protection* change_pmd_range move_page_tables move_ptes follow_page_pte \
         filemap_map_pages set_pte_range do_swap_page do_numa_page __pte_alloc pmd_install __pmd_alloc \
         __pud_alloc __p4d_alloc do_huge_pmd_* zap_huge_pmd copy_huge_pmd change_huge_pmd __split_huge_pmd __anon_vma_prepare"),
    rule(Spin, "pgd_lock", "pgd_alloc pgd_free sync_global_pgds*"),
    rule(Mutex, "delayed_uprobe_lock", "uprobe_clear_state"),
    rule(Percpu, "dup_mmap_sem", "uprobe_start_dup_mmap"),
    rule(Rwlock, "kvm_mmu_lock", "kvm_mmu_* kvm_tdp_* direct_page_fault"),

    // Page cache and inodes.
    rule(Spin, "i_lock", "_raw_spin_lock<filemap_remove_folio _raw_spin_lock<__remove_mapping"),
    rule(Spin, "i_pages_lock",
        "__filemap_add_folio _raw_spin_lock_irq<filemap_remove_folio _raw_spin_lock_irq<__remove_mapping \
         __folio_end_writeback __folio_start_writeback folio_end_writeback __folio_mark_dirty \
         shmem_add_to_page_cache shmem_delete_from_page_cache tag_pages_for_writeback \
         replace_page_cache_folio __folio_migrate_mapping folio_migrate_mapping"),
    rule(Spin, "s_inode_wblist_lock", "sb_mark_inode_writeback sb_clear_inode_writeback"),
    rule(Spin, "s_inode_list_lock", "inode_sb_list_add new_inode"),
    rule(Spin, "inode_hash_lock",
        "iget_locked iget5_locked ilookup* insert_inode_locked* inode_insert5 __insert_inode_hash __remove_inode_hash"),
    rule(Spin, "i_lock", "igrab iput inode_add_bytes inode_sub_bytes __mark_inode_dirty inode_add_lru"),
    rule(Spin, "wb_list_lock",
        "locked_inode_to_wb_and_lock_list inode_io_list_del wb_writeback writeback_sb_inodes"),
    rule(Rwsem, "wb_switch_rwsem", "sync_inodes_sb"),
    rule(Spin, "wb_work_lock", "wb_wakeup_delayed wb_queue_work wb_wakeup"),
    rule(Spin, "i_private_lock", "find_get_block_common __find_get_block* __getblk_slow mark_buffer_dirty_inode __bforget block_dirty_folio create_empty_buffers"),
    rule(Spin, "shmem_info_lock", "shmem_recalc_inode shmem_charge"),
    rule(Spin, "shmem_stat_lock", "shmem_reserve_inode shmem_free_inode shmem_evict_inode __shmem_get_inode shmem_get_inode"),
    rule(Rwsem, "i_rwsem",
        "path_openat open_last_lookups do_filp_open do_unlinkat do_rmdir do_renameat2 do_linkat \
         filename_create start_dirop __start_dirop start_removing* start_creating* end_dirop \
         sys_rename sys_renameat sys_renameat2 sys_unlink sys_unlinkat sys_mkdir sys_mkdirat sys_rmdir \
         lock_rename* lock_two_directories lock_two_nondirectories __lock_two_inodes vfs_rename vfs_unlink vfs_rmdir vfs_link \
         iterate_dir wrap_directory_iterator lookup_slow walk_component lookup_one_* lookup_one \
         lookup_positive_unlocked do_truncate chmod_common chown_common vfs_utimes vfs_setxattr* vfs_removexattr* \
         dcache_dir_lseek generic_file_write_iter shmem_file_write_iter ext4_buffered_write_iter \
         ext4_file_write_iter ext4_file_read_iter ext4_dio_* btrfs_inode_lock inode_lock* simple_recursive_removal"),
    rule(Mutex, "s_vfs_rename_mutex", "do_renameat2 lock_rename lock_rename_child"),
    rule(Rwsem, "s_umount", "super_lock* grab_super* deactivate_super user_get_super iterate_supers* __iterate_supers"),
    rule(Percpu, "sb_writers", "mnt_want_write* sb_start_* vfs_write freeze_super file_start_write vfs_writev"),
    rule(Rwsem, "kernfs_rwsem", "kernfs_*"),
    rule(Mutex, "kernfs_open_file_mutex", "kernfs_fop_* kernfs_seq_start"),
    rule(Mutex, "seq_file_lock", "seq_read_iter seq_lseek"),
    rule(Mutex, "f_pos_lock", "fdget_pos __fdget_pos"),
    rule(Spin, "sysctl_lock", "proc_sys_*"),
    rule(Rwlock, "proc_subdir_lock", "proc_lookup_de proc_readdir_de proc_register remove_proc_*"),
    rule(Spin, "flc_lock", "posix_lock_inode flock_lock_inode"),
    rule(Mutex, "disk_open_mutex", "bdev_open* bdev_release blkdev_put blkdev_get_by_dev"),

    // Dentries, mounts and open files.
    rule(Spin, "rename_lock", "d_move d_exchange"),
    rule(Spin, "d_lock",
        "lockref_*<__legitimize_path lockref_*<try_to_unlazy* lockref_*<dput lockref_*<fast_dput lockref_*<dget* \
         lockref_*<d_* lockref_*<path_* lockref_*<complete_walk lockref_*<lookup_fast dput fast_dput d_alloc d_alloc_parallel \
         d_alloc_cursor d_lookup __d_lookup* __d_move d_delete __dentry_kill dentry_kill shrink_lock_dentry \
         shrink_dentry_list d_invalidate d_instantiate* d_add __d_add __d_drop d_drop dget_parent lock_parent \
         __lock_parent scan_positives dcache_readdir d_make_discardable simple_unlink"),
    rule(Spin, "mount_lock", "mntput_no_expire"),
    rule(Spin, "file_lock", "alloc_fd close_fd file_close_fd pick_file do_dup2 ksys_dup3 expand_files dup_fd put_unused_fd"),
    rule(Spin, "fs_lock", "copy_fs_struct set_fs_pwd set_fs_root"),

    // Pipes, poll, sockets.
    rule(Mutex, "pipe_mutex", "anon_pipe_* fifo_pipe_* pipe_* fifo_open splice_* do_splice"),
    rule(Rwlock, "ep_lock", "ep_poll_callback ep_* do_epoll_*"),
    rule(Spin, "ep_lock", "ep_poll_callback ep_done_scan ep_start_scan ep_poll do_epoll_wait ep_send_events"),
    rule(Mutex, "ep_mtx", "ep_* __ep_* do_epoll_*"),
    rule(Spin, "sk_lock",
        "lock_sock_nested __lock_sock_fast lock_sock_fast release_sock __release_sock tcp_v4_rcv tcp_v6_rcv \
         tcp_write_timer tcp_delack_timer tcp_keepalive_timer tcp_tsq_handler tcp_tasklet_func"),
    rule(Spin, "skb_queue_lock",
        "skb_queue_* skb_dequeue* skb_unlink skb_append __skb_try_recv_datagram sock_queue_rcv_skb* __sock_queue_rcv_skb \
         __skb_recv_udp __udp_enqueue_schedule_skb first_packet_length udp_rmem_release"),
    // The socket's state lock, and from 6.18 on its receive queue's in the same functions.
    rule(Spin, "unix_gc_lock", "unix_gc __unix_gc unix_inflight unix_notinflight unix_add_edges unix_del_edges"),
    rule(Spin, "unix_sk_lock",
        "unix_stream_* unix_dgram_* unix_state_double_lock unix_release_sock unix_accept unix_shutdown unix_peer_get"),
    rule(Mutex, "unix_iolock", "unix_stream_* unix_dgram_* __unix_dgram_recvmsg"),
    rule(Spin, "inet_bind_lock", "inet_csk_get_port inet_put_port __inet_put_port __inet_inherit_port inet_bhash2_*"),
    rule(Spin, "inet_ehash_lock", "inet_unhash inet_ehash_* __inet_check_established"),
    rule(Spin, "backlog_lock", "enqueue_to_backlog backlog_lock_*"),
    rule(Mutex, "rtnl_mutex", "rtnl_* rtnetlink_rcv_msg dev_ifconf dev_ioctl"),

    // Futexes, signals, processes.
    rule(Spin, "futex_hb_lock",
        "futex_wake futex_wake_op futex_wait_setup futex_q_lock futex_unqueue futex_requeue futex_lock_pi \
         futex_unlock_pi futex_wait_requeue_pi futex_wait_multiple* futex_unqueue_multiple"),
    rule(Spin, "siglock",
        "__lock_task_sighand lock_task_sighand get_signal do_sigtimedwait do_send_sig_info do_send_specific \
         force_sig_info_to_task __set_current_blocked set_current_blocked sigprocmask \
         __x64_sys_rt_sigprocmask __arm64_sys_rt_sigprocmask __se_sys_rt_sigprocmask do_sigaction exit_signals \
         do_exit do_group_exit do_notify_parent do_notify_parent_cldstop release_task __exit_signal copy_process \
         wait_consider_task calculate_sigpending flush_signals signal_delivered signal_setup_done signalfd_* \
         do_sigaltstack acct_collect thread_group_cputimer run_posix_cpu_timers do_setitimer do_getitimer"),
    rule(Rwlock, "tasklist_lock",
        "do_exit exit_notify release_task copy_process __do_wait do_wait mm_update_next_owner de_thread begin_new_exec \
         forget_original_parent __do_sys_setpgid __se_sys_setpgid __x64_sys_setpgid ksys_setsid \
         __do_sys_getpriority __se_sys_getpriority __x64_sys_getpriority __arm64_sys_getpriority \
         __do_sys_setpriority __se_sys_setpriority __x64_sys_setpriority __arm64_sys_setpriority \
         do_prlimit __do_sys_prlimit64 kill_something_info kill_pgrp* ptrace_* get_signal disassociate_ctty \
         session_clear_tty zap_pid_ns_processes get_children_pid children_seq_*"),
    rule(Spin, "alloc_lock",
        "do_prlimit ptrace_may_access __set_task_comm __get_task_comm get_task_mm get_task_exe_file \
         exit_files switch_task_namespaces"),
    rule(Spin, "pidmap_lock", "alloc_pid free_pid free_pids"),
    rule(Spin, "ucounts_lock", "alloc_ucounts put_ucounts get_ucounts*"),
    rule(Spin, "uidhash_lock", "alloc_uid free_uid find_user"),
    rule(Spin, "ksm_mmlist_lock", "__ksm_enter __ksm_exit"),
    rule(Spin, "khugepaged_mm_lock", "__khugepaged_enter __khugepaged_exit"),
    rule(Percpu, "cgroup_threadgroup_rwsem",
        "cgroup_procs_write_start __cgroup_procs_write cgroup_attach_lock cgroup_css_set_fork cgroup_can_fork \
         exit_signals copy_process do_exit de_thread begin_new_exec"),
    rule(Mutex, "cgroup_mutex", "cgroup_* css_killed_work_fn css_release_work_fn css_free_rwork_fn proc_cgroup_show"),
    rule(Spin, "cgroup_rstat_lock", "cgroup_rstat_* __cgroup_rstat_lock css_rstat_* __css_rstat_lock"),
    rule(Spin, "cgroup_file_kn_lock", "cgroup_file_notify"),
    rule(Spin, "css_set_lock", "cgroup_* css_task_iter_* put_css_set* find_css_set"),
    rule(Rwsem, "uts_sem", "__do_sys_newuname"),
    rule(Mutex, "jump_label_mutex", "static_key_* jump_label_lock"),
    rule(Mutex, "text_mutex", "arch_jump_label_transform_*"),
    rule(Percpu, "cpu_hotplug_lock", "cpus_read_lock cpus_write_lock"),
    rule(Semaphore, "console_sem", "console_* vprintk_emit"),

    // Disks and file systems.
    rule(Spin, "dd_lock", "dd_dispatch_request dd_insert_requests dd_insert_request dd_bio_merge"),
    rule(Spin, "bfqd_lock", "bfq_dispatch_request bfq_insert_requests bfq_insert_request bfq_bio_merge bfq_finish_requeue_request"),
    rule(Spin, "mq_flush_lock", "blk_flush_complete_seq flush_end_io mq_flush_data_end_io blk_insert_flush"),
    rule(Spin, "virtblk_vq_lock", "virtio_queue_rq virtio_queue_rqs virtio_commit_rqs virtblk_*"),
    rule(Spin, "nvme_sq_lock", "nvme_queue_rq nvme_queue_rqs nvme_submit_cmds nvme_sq_copy_cmd"),
    rule(Rwsem, "i_data_sem", "ext4_map_blocks ext4_do_writepages ext4_da_* ext4_truncate ext4_ext_truncate ext4_punch_hole ext4_release_file"),
    rule(Rwsem, "xattr_sem", "ext4_xattr_*"),
    rule(Rwlock, "i_es_lock", "ext4_es_*"),
    rule(Rwlock, "j_state_lock", "jbd2_* __jbd2_* start_this_handle add_transaction_credits wait_transaction_*"),
    rule(Mutex, "j_checkpoint_mutex", "jbd2_log_do_checkpoint __jbd2_log_wait_for_space jbd2_journal_flush"),
    rule(Spin, "i_completed_io_lock", "ext4_put_io_end_defer ext4_end_io_rsv_work ext4_do_flush_completed_IO"),
    rule(Spin, "i_raw_lock", "ext4_do_update_inode ext4_mark_iloc_dirty"),
    rule(Spin, "i_block_reservation_lock", "ext4_da_update_reserve_space ext4_da_reserve_space ext4_da_release_space"),
    rule(Spin, "s_es_lock", "ext4_es_* __es_insert_extent"),
    rule(Spin, "bgl_lock", "__ext4_new_inode ext4_free_inode ext4_mb_mark_context"),
    rule(Mutex, "s_orphan_lock", "ext4_orphan_*"),
    rule(Rwsem, "btrfs_tree_lock", "btrfs_tree_lock* btrfs_tree_read_lock* __btrfs_tree_lock __btrfs_tree_read_lock"),
    rule(Rwsem, "xfs_inode_lock", "xfs_ilock*"),
    rule(Semaphore, "xfs_buf_lock", "xfs_buf_lock"),

    // Tracing itself.
    rule(Spin, "ring_buffer_reader_lock", "ring_buffer_* rb_*"),
    rule(Mutex, "event_mutex", "event_enable_write system_enable_write event_trigger_* event_filter_write f_start t_start s_start trigger_start"),
    rule(Mutex, "trace_types_lock", "tracing_set_tracer tracing_open tracing_release tracing_open_pipe tracing_release_pipe tracing_buffers_* tracing_set_clock \
         tracing_check_open_get_tr tracing_single_release_tr tracing_release_generic_tr tracing_release_file_tr \
         tracing_update_buffers tracing_entries_read trace_array_put rb_simple_write"),
];
