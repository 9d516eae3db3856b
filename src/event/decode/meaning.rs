//! What each event that is understood means, and which of its fields say so.

#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use super::{DecodeFault, Decoded, DecoderError, Frames, need, number};
use crate::event::{Body, Comm, FutexCall, FutexOp, LockFlags, SwitchStates, TaskEvent, Tid};
use crate::tracefs::Abi;
use crate::tracefs::EventFormat;
use crate::tracefs::Field;
use crate::tracefs::Number;

/// `clone_flags`: a further thread of the parent's process (include/uapi/linux/sched.h).
const CLONE_THREAD: u64 = 0x10000;
/// `clone_flags`: into the cgroup of a descriptor (5.7).
const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;

/// What a record is of, and the fields that are read from it.
#[derive(Debug)]
pub(super) enum Meaning {
    LockBegin { lock: Number, flags: Number },
    LockEnd { lock: Number, ret: Number },
    Task(TaskFields),
    Exec { tid: Number, old_tid: Number, filename: Option<Field> },
    Moved { root: Number, tid: Number, path: Field },
    Stack { size: Option<Number>, caller: Field },
    MmapLock { mm: Number },
    Switch { prev: Number, state: Number, states: SwitchStates, next: Number },
    Waking { tid: Number },
    Released { lock: Number },
    Futex(FutexFields),
    FutexExit { ret: Number },
    Other,
}

/// The calls that wait, each with arguments of its own.
#[derive(Debug)]
pub(super) enum FutexFields {
    Futex { address: Number, op: Number, value: Number, timeout: Number },
    Wait { address: Number, value: Number, flags: Number, timeout: Number },
    WaitAny { list: Number, timeout: Number },
}

#[derive(Debug)]
pub(super) enum TaskFields {
    New { tid: Number, comm: Field, clone_flags: Number },
    Fork { parent: Number, child: Number, child_comm: Field },
    Rename { tid: Number, old: Field, new: Field },
    Exit { tid: Number },
}

impl Meaning {
    pub(super) fn of(format: &EventFormat, abi: Abi) -> Result<Meaning, DecoderError> {
        let need = |name| need(format, name);
        let number = |name| number(format, name, abi);
        Ok(match format.name.as_str() {
            "contention_begin" => {
                Meaning::LockBegin { lock: number("lock_addr")?, flags: number("flags")? }
            }
            "contention_end" => {
                Meaning::LockEnd { lock: number("lock_addr")?, ret: number("ret")? }
            }
            "kernel_stack" => Meaning::Stack {
                size: format.field("size").map(|size| Number::new(size, abi)),
                caller: need("caller")?,
            },
            "task_newtask" => Meaning::Task(TaskFields::New {
                tid: number("pid")?,
                comm: need("comm")?,
                clone_flags: number("clone_flags")?,
            }),
            "sched_process_fork" => Meaning::Task(TaskFields::Fork {
                parent: number("parent_pid")?,
                child: number("child_pid")?,
                child_comm: need("child_comm")?,
            }),
            // Kernels from 6.14 until the field came back in 2026 leave the task out: it is
            // the current one, but for names written to another task's /proc file.
            "task_rename" => Meaning::Task(TaskFields::Rename {
                tid: number("pid").or_else(|_| number("common_pid"))?,
                old: need("oldcomm")?,
                new: need("newcomm")?,
            }),
            "sched_process_exec" => Meaning::Exec {
                tid: number("pid")?,
                old_tid: number("old_pid")?,
                filename: format.field("filename").cloned(),
            },
            "cgroup_attach_task" | "cgroup_transfer_tasks" => Meaning::Moved {
                root: number("dst_root")?,
                tid: number("pid")?,
                path: need("dst_path")?,
            },
            "sched_process_exit" => Meaning::Task(TaskFields::Exit { tid: number("pid")? }),
            "sched_switch" => Meaning::Switch {
                prev: number("prev_pid")?,
                state: number("prev_state")?,
                states: SwitchStates::parse(&format.print_format),
                next: number("next_pid")?,
            },
            "sched_waking" => Meaning::Waking { tid: number("pid")? },
            "contended_release" => Meaning::Released { lock: number("lock_addr")? },
            "sys_enter_futex" => Meaning::Futex(FutexFields::Futex {
                address: number("uaddr")?,
                op: number("op")?,
                value: number("val")?,
                timeout: number("utime")?,
            }),
            "sys_enter_futex_wait" => Meaning::Futex(FutexFields::Wait {
                address: number("uaddr")?,
                value: number("val")?,
                flags: number("flags")?,
                timeout: number("timeout")?,
            }),
            "sys_enter_futex_waitv" => Meaning::Futex(FutexFields::WaitAny {
                list: number("waiters")?,
                timeout: number("timeout")?,
            }),
            "sys_exit_futex" | "sys_exit_futex_wait" | "sys_exit_futex_waitv" => {
                Meaning::FutexExit { ret: number("ret")? }
            }
            "mmap_lock_acquire_returned" => Meaning::MmapLock { mm: number("mm")? },
            _ => Meaning::Other,
        })
    }

    /// What a begin or an end of a wait for a lock says.
    #[inline]
    pub(super) fn lock_event(&self, payload: &[u8]) -> Option<Body> {
        match self {
            Meaning::LockBegin { lock, flags } => {
                let flags = u32::try_from(flags.uint(payload)?).ok()?;
                Some(Body::LockBegin { lock: lock.uint(payload)?, flags: LockFlags(flags) })
            }
            Meaning::LockEnd { lock, ret } => {
                let ret = i32::try_from(ret.int(payload)?).ok()?;
                Some(Body::LockEnd { lock: lock.uint(payload)?, ret })
            }
            _ => None,
        }
    }

    pub(super) fn read<'a>(&self, payload: &'a [u8], abi: Abi) -> Result<Decoded<'a>, DecodeFault> {
        let record = Record { payload, abi };
        let body = match self {
            Meaning::LockBegin { .. } | Meaning::LockEnd { .. } => {
                self.lock_event(payload).ok_or(DecodeFault::Field)?
            }
            Meaning::Task(fields) => Body::Task(record.task(fields)?),
            Meaning::MmapLock { mm } => Body::MmapLock { mm: record.uint(mm)? },
            Meaning::Switch { prev, state, states, next } => Body::Switch {
                prev: record.tid(prev)?,
                left_as: states.of(record.uint(state)?),
                next: record.tid(next)?,
            },
            Meaning::Waking { tid } => Body::Waking { tid: record.tid(tid)? },
            Meaning::Released { lock } => Body::Released { lock: record.uint(lock)? },
            Meaning::Futex(fields) => record.futex(fields)?.map_or(Body::Other, Body::FutexEnter),
            Meaning::FutexExit { ret } => {
                Body::FutexExit { ret: ret.int(payload).ok_or(DecodeFault::Field)? }
            }
            Meaning::Other => Body::Other,
            Meaning::Exec { .. } | Meaning::Moved { .. } | Meaning::Stack { .. } => {
                return self.read_borrowed(record);
            }
        };
        Ok(Decoded::Plain(body))
    }

    /// What has text or addresses, which stay in the record.
    fn read_borrowed<'a>(&self, record: Record<'a>) -> Result<Decoded<'a>, DecodeFault> {
        let Record { payload, abi } = record;
        Ok(match self {
            Meaning::Exec { tid, old_tid, filename } => Decoded::Exec {
                tid: record.tid(tid)?,
                old_tid: record.tid(old_tid)?,
                filename: filename.as_ref().and_then(|field| field.text(payload, abi)),
            },
            Meaning::Moved { root, tid, path } => Decoded::Moved {
                hierarchy: record.narrow(root)?,
                tid: record.tid(tid)?,
                path: path.text(payload, abi).ok_or(DecodeFault::Name)?,
            },
            Meaning::Stack { size, caller } => {
                Decoded::Stack(record.frames(size.as_ref(), caller)?)
            }
            _ => Decoded::Plain(Body::Other),
        })
    }
}

/// One record, being read.
#[derive(Clone, Copy)]
struct Record<'a> {
    payload: &'a [u8],
    abi: Abi,
}

impl<'a> Record<'a> {
    #[inline]
    fn uint(self, field: &Number) -> Result<u64, DecodeFault> {
        field.uint(self.payload).ok_or(DecodeFault::Field)
    }

    #[inline]
    fn narrow(self, field: &Number) -> Result<u32, DecodeFault> {
        u32::try_from(self.uint(field)?).map_err(|_| DecodeFault::Field)
    }

    #[inline]
    fn int(self, field: &Number) -> Result<i32, DecodeFault> {
        let value = field.int(self.payload).ok_or(DecodeFault::Field)?;
        i32::try_from(value).map_err(|_| DecodeFault::Field)
    }

    #[inline]
    fn tid(self, field: &Number) -> Result<Tid, DecodeFault> {
        self.narrow(field).map(Tid)
    }

    fn comm(self, field: &Field) -> Result<Comm, DecodeFault> {
        field.text(self.payload, self.abi).map(Comm::new).ok_or(DecodeFault::Name)
    }

    fn task(self, fields: &TaskFields) -> Result<TaskEvent, DecodeFault> {
        Ok(match fields {
            TaskFields::New { tid, comm, clone_flags } => {
                let clone_flags = self.uint(clone_flags)?;
                TaskEvent::New {
                    tid: self.tid(tid)?,
                    comm: self.comm(comm)?,
                    thread: clone_flags & CLONE_THREAD != 0,
                    own_cgroup: clone_flags & CLONE_INTO_CGROUP != 0,
                }
            }
            TaskFields::Fork { parent, child, child_comm } => TaskEvent::Fork {
                parent: self.tid(parent)?,
                child: self.tid(child)?,
                child_comm: self.comm(child_comm)?,
            },
            TaskFields::Rename { tid, old, new } => TaskEvent::Rename {
                tid: self.tid(tid)?,
                old: self.comm(old)?,
                new: self.comm(new)?,
            },
            TaskFields::Exit { tid } => TaskEvent::Exit { tid: self.tid(tid)? },
        })
    }

    /// Nothing of a call that does not wait: its other arguments may be anything.
    fn futex(self, fields: &FutexFields) -> Result<Option<FutexCall>, DecodeFault> {
        Ok(Some(match fields {
            FutexFields::Futex { address, op, value, timeout } => {
                let Some((op, shared)) = FutexOp::from_op(self.argument(op)?) else {
                    return Ok(None);
                };
                FutexCall {
                    op,
                    address: self.uint(address)?,
                    value: self.argument(value)?,
                    shared,
                    timed: self.uint(timeout)? != 0,
                }
            }
            FutexFields::Wait { address, value, flags, timeout } => FutexCall {
                op: FutexOp::Wait,
                address: self.uint(address)?,
                value: self.argument(value)?,
                shared: FutexOp::shared_by_flags(self.argument(flags)?),
                timed: self.uint(timeout)? != 0,
            },
            FutexFields::WaitAny { list, timeout } => FutexCall {
                op: FutexOp::WaitAny,
                address: self.uint(list)?,
                value: 0,
                shared: false,
                timed: self.uint(timeout)? != 0,
            },
        }))
    }

    /// A 32-bit argument of a system call, which is recorded as a register: its upper half may be
    /// anything (kernel/trace/trace_syscalls.c, 6.18).
    fn argument(self, field: &Number) -> Result<u32, DecodeFault> {
        let register = self.uint(field)? & u64::from(u32::MAX);
        u32::try_from(register).map_err(|_| DecodeFault::Field)
    }

    /// The format gives `caller` eight elements whatever there are: `size` counts them
    /// (kernel/trace/trace_entries.h, 6.18), where there is one.
    fn frames(self, size: Option<&Number>, caller: &Field) -> Result<Frames<'a>, DecodeFault> {
        let room = self.payload.get(caller.offset as usize..).ok_or(DecodeFault::Field)?;
        let words = match size {
            None => room,
            Some(size) => {
                let frames = usize::try_from(self.int(size)?).unwrap_or(0);
                room.get(..frames.saturating_mul(self.abi.long_size_bytes)).unwrap_or(room)
            }
        };
        Ok(Frames { words, abi: self.abi })
    }
}
