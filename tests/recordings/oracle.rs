//! Records against the kernel's lines of the same records, in their order.

use ftlock::event::LeftAs;
use ftlock::event::decode::{Decoded, RawHead};
use ftlock::event::{Body, Context, TaskEvent};
use ftlock::tracefs::Value;

use crate::kernel::Kernel;
use crate::kernel_text::Line;

/// One record that the kernel's text is compared with.
pub(crate) struct Record<'a> {
    pub(crate) kernel: &'a Kernel,
    pub(crate) ts: u64,
    pub(crate) payload: &'a [u8],
}

impl Record<'_> {
    /// Panics unless time, task, context, event and every field that the text shows are the
    /// record's. Gives the event's name.
    pub(crate) fn must_be(&self, line: &Line<'_>) -> &str {
        let head = self.kernel.decoder.head(self.payload).unwrap();
        let format = self.kernel.decoder.format(head.id).unwrap();
        let shown = || format!("{} at {}: {}", format.name, self.ts, line.body.escape_ascii());
        assert_eq!(line.time, self.time(line.time.contains('.')), "{}", shown());
        assert_eq!(head.tid.0, line.pid, "{}", shown());
        assert_eq!(latency_columns(head), shown_columns(line.flags), "{}", shown());
        assert!(
            line.candidates().any(|text| self.generic(head.id, text) && self.meaning(text, line)),
            "{}\n{:?}",
            shown(),
            self.kernel.decoder.decode(head.id, self.payload)
        );
        &format.name
    }

    /// Rounded to microseconds, as the kernel shows nanoseconds.
    fn time(&self, is_ns: bool) -> String {
        let us = (self.ts + 500) / 1000;
        match is_ns {
            true => format!("{}.{:06}", us / 1_000_000, us % 1_000_000),
            false => self.ts.to_string(),
        }
    }

    /// Each field's value is what the event's own print format makes of it.
    fn generic(&self, id: u16, text: &[u8]) -> bool {
        let format = self.kernel.decoder.format(id).unwrap();
        let field = |name: &str| format.field(name).unwrap();
        let abi = self.kernel.abi;
        match format.name.as_str() {
            "kernel_stack" => text == b"<stack trace>",
            "print" => {
                let marker = field("buf").text(self.payload, abi).unwrap();
                let marker = marker.strip_suffix(b"\n").unwrap_or(marker);
                text.strip_prefix(b"tracing_mark_write: ") == Some(marker)
            }
            "raw_data" => {
                let id = field("id").uint(self.payload, abi).unwrap();
                let bytes = field("buf").bytes(self.payload, abi).unwrap();
                let bytes: String = bytes.iter().map(|byte| format!(" {byte:02x}")).collect();
                text == format!("# {id:x} buf:{bytes}").as_bytes()
            }
            // The kernel prints system calls in a way of its own.
            name if name.starts_with("sys_") => text.starts_with(b"sys_futex"),
            name => {
                let print_format = &self.kernel.print_formats[&id];
                let shows_addresses = self.kernel.shows_addresses;
                let expected = print_format.expect(format, self.payload, abi, shows_addresses);
                text.strip_prefix(name.as_bytes())
                    .and_then(|text| text.strip_prefix(b": "))
                    .is_some_and(|text| expected.fits(text))
            }
        }
    }

    /// What the event means is what its text says.
    fn meaning(&self, text: &[u8], line: &Line<'_>) -> bool {
        let head = self.kernel.decoder.head(self.payload).unwrap();
        let address = |lock: u64| match self.kernel.shows_addresses {
            true => format!(" {lock:0width$x} ", width = 2 * self.kernel.abi.long_size_bytes),
            false => " ".to_owned(),
        };
        match self.kernel.decoder.decode(head.id, self.payload).unwrap() {
            Decoded::Plain(Body::LockBegin { lock, flags }) => {
                text.starts_with(b"contention_begin:")
                    && text.ends_with(format!("{}(flags={flags})", address(lock)).as_bytes())
            }
            Decoded::Plain(Body::LockEnd { lock, ret }) => {
                text.starts_with(b"contention_end:")
                    && text.ends_with(format!("{}(ret={ret})", address(lock)).as_bytes())
            }
            Decoded::Plain(Body::Task(task)) => task_fits(task, text),
            Decoded::Exec { tid, old_tid, filename } => {
                let end = format!(" pid={tid} old_pid={old_tid}");
                text == [b"sched_process_exec: filename=", filename.unwrap(), end.as_bytes()]
                    .concat()
            }
            Decoded::Plain(Body::Switch { prev, left_as, next }) => {
                let text = String::from_utf8_lossy(text);
                let (of_prev, of_next) = text.split_once(" ==> next_comm=").unwrap();
                let (of_prev, state) = of_prev.rsplit_once(" prev_state=").unwrap();
                of_prev.contains(&format!(" prev_pid={prev} prev_prio="))
                    && of_next.contains(&format!(" next_pid={next} next_prio="))
                    && left_as == letter(state)
            }
            Decoded::Plain(Body::Waking { tid }) => {
                let after = text.strip_prefix(b"sched_waking: comm=").unwrap();
                let pid = format!(" pid={tid} prio=");
                after.windows(pid.len()).any(|window| window == pid.as_bytes())
            }
            Decoded::Moved { hierarchy, .. } => {
                text.starts_with(format!("cgroup_attach_task: dst_root={hierarchy} ").as_bytes())
            }
            Decoded::Stack(frames) => frames.count() == line.stack.len(),
            Decoded::Plain(Body::MmapLock { mm }) => {
                let mm = address(mm).replacen(' ', "mm=", 1);
                text.starts_with(format!("mmap_lock_acquire_returned: {mm}").as_bytes())
            }
            Decoded::Plain(Body::Other) => true,
            Decoded::Plain(Body::FutexEnter(call)) => {
                // Newer kernels mark hexadecimal numbers as such.
                let text = String::from_utf8_lossy(text).replace("0x", "");
                let arguments = text.strip_prefix("sys_futex(").unwrap();
                arguments.starts_with(&format!("uaddr: {:x}, op: ", call.address))
                    && arguments.contains(&format!(", val: {:x}, ", call.value))
                    && call.timed != arguments.contains(", utime: 0,")
            }
            Decoded::Plain(Body::FutexExit { ret }) => {
                text == format!("sys_futex -> {ret:#x}").as_bytes()
            }
            Decoded::Plain(other) => unreachable!("no recorded kernel has it: {other:?}"),
            Decoded::Unknown => false,
        }
    }

    /// Panics unless the text shows every field of the event by its name, in hex and in decimal
    /// (option `fields`).
    pub(crate) fn fields_must_be(&self, line: &Line<'_>) {
        let head = self.kernel.decoder.head(self.payload).unwrap();
        let format = self.kernel.decoder.format(head.id).unwrap();
        let mut expected = format!("{}:", format.name).into_bytes();
        for field in &format.fields {
            expected.extend(format!(" {}=", field.name).bytes());
            let unused_bits = 64_u32.saturating_sub(8 * field.size_bytes);
            // The kernel shows them all with the sign of their width, but for single bytes,
            // which it shows in decimal only.
            let number = |number: u64| match unused_bits {
                56 => format!("({number})").into_bytes(),
                _ => {
                    let signed = (number << unused_bits).cast_signed() >> unused_bits;
                    format!("{number:#x} ({signed})").into_bytes()
                }
            };
            expected.extend(match field.value(self.payload, self.kernel.abi) {
                Value::Signed(value) => number(value.cast_unsigned() & u64::MAX >> unused_bits),
                Value::Unsigned(value) | Value::Address(value) => number(value),
                Value::Text(text) => text.to_vec(),
                other => panic!("{} {other:?}", field.name),
            });
        }
        assert!(
            line.candidates().any(|text| text == expected),
            "{}\n{}",
            expected.escape_ascii(),
            line.body.escape_ascii()
        );
    }
}

fn task_fits(task: TaskEvent, text: &[u8]) -> bool {
    let begin = |parts: &[&[u8]]| text.starts_with(&parts.concat());
    let end = |parts: &[&[u8]]| text.ends_with(&parts.concat());
    match task {
        TaskEvent::New { tid, comm, thread, .. } => {
            let head = format!("task_newtask: pid={tid} comm=");
            let head = [head.as_bytes(), comm.as_bytes(), b" clone_flags="].concat();
            text.strip_prefix(head.as_slice()).is_some_and(|flags| {
                let digits = flags.split(|&byte| byte == b' ').next().unwrap();
                let digits = std::str::from_utf8(digits).unwrap();
                let flags = u64::from_str_radix(digits, 16).unwrap();
                (flags & 0x10000 != 0) == thread
            })
        }
        TaskEvent::Fork { parent, child, child_comm } => {
            let parent = format!(" pid={parent} child_comm=");
            let child = format!(" child_pid={child}");
            begin(&[b"sched_process_fork: comm="])
                && end(&[parent.as_bytes(), child_comm.as_bytes(), child.as_bytes()])
        }
        TaskEvent::Rename { tid, old, new } => {
            let head = format!("task_rename: pid={tid} oldcomm=");
            let (old, new) = (old.as_bytes(), new.as_bytes());
            begin(&[head.as_bytes(), old, b" newcomm=", new, b" oom_score_adj="])
        }
        // The last two are no events of the kernel's trace.
        TaskEvent::Exec { .. }
        | TaskEvent::Moved { .. }
        | TaskEvent::Heir { .. }
        | TaskEvent::Named { .. } => false,
        TaskEvent::Exit { tid } => {
            let pid = format!(" pid={tid} prio=");
            begin(&[b"sched_process_exit: comm="])
                && text.windows(pid.len()).any(|window| window == pid.as_bytes())
        }
    }
}

/// Context, preemption depth and migration depth as `trace_print_lat_fmt` of
/// kernel/trace/trace_output.c (6.18) shows them.
fn latency_columns(head: RawHead) -> [u8; 3] {
    let (hardirq, softirq) = (head.flags & 0x08 != 0, head.flags & 0x10 != 0);
    let context = match Context::from_common_flags(head.flags) {
        Context::Nmi if hardirq => b'Z',
        Context::Nmi => b'z',
        Context::Hardirq if softirq => b'H',
        Context::Hardirq => b'h',
        Context::Softirq => b's',
        Context::Task => b'.',
    };
    let digit = |depth: u8| b".123456789abcdef"[usize::from(depth)];
    [context, digit(head.preempt_count & 0xf), digit(head.preempt_count >> 4)]
}

fn shown_columns(flags: &[u8]) -> [u8; 3] {
    match *flags {
        [_, _, context, preempt, migrate] => [context, preempt, migrate],
        [_, _, _, context, preempt, _, migrate] => [context, preempt, migrate],
        _ => panic!("{}", flags.escape_ascii()),
    }
}

/// What the kernel's letter for a state stands for; a `+` says that the task was preempted.
fn letter(state: &str) -> LeftAs {
    match state {
        "R" | "R+" => LeftAs::Runnable,
        "S" => LeftAs::Interruptible,
        "D" => LeftAs::Uninterruptible,
        "I" => LeftAs::Idle,
        "T" | "t" | "P" => LeftAs::Stopped,
        "X" | "Z" => LeftAs::Dead,
        other => panic!("prev_state={other}"),
    }
}
