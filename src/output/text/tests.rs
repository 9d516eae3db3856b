use super::super::samples::{pipe_wait, symbols, written};
use super::super::{FieldValue, RawEvent, StreamLoss};
use super::{RawContext, event, header, loss, wait};
use crate::event::{Comm, Context, Cpu, LockFlags, Tid};
use crate::report::Cause;

#[test]
fn waits_stand_under_their_headings_while_they_fit() {
    let symbols = symbols();
    let hackbench = Comm::new(b"hackbench");
    let rcu = Comm::new(b"rcu_preempt");
    let wide = Comm::new("日本語".as_bytes());
    let evil = Comm::new(b"a\x1b[2J\nb\xff");
    let pipe = pipe_wait(&hackbench);
    let spin = super::StreamWait {
        begin_ns: 12_345_701_600,
        wait_ns: 3_100,
        cpu: Cpu(0),
        tid: Tid(4702),
        cause: Cause::Lock(LockFlags(1)),
        caller: Some(0x26de),
        ..pipe
    };
    let softirq = super::StreamWait {
        begin_ns: 12_345_911_000,
        wait_ns: 840,
        tid: Tid(15),
        comm: Some(&rcu),
        context: Context::Softirq,
        caller: Some(0x304e),
        ..spin
    };
    let failed = super::StreamWait { ret: -4, uncertain: true, comm: Some(&wide), ..pipe };
    let unknown = super::StreamWait { comm: None, caller: Some(0x7fff_0000_0000), ..pipe };
    let hostile = super::StreamWait { comm: Some(&evil), caller: None, ret: -99, ..pipe };
    let text = written(|out| {
        header(out)?;
        for each in [pipe, spin, softirq, failed, unknown, hostile] {
            wait(&each, &symbols, out)?;
        }
        Ok(())
    });
    let expected = "        TIME  CPU  TASK                   TYPE          WAIT  CALLER
   12.345678    1  hackbench-4711         mutex      1.20 ms  anon_pipe_write+0x43
   12.345702    0  hackbench-4702         spinlock   3.10 us  unix_stream_read_generic+0x6de
   12.345911    0  [softirq] on rcu_preempt-15  spinlock  840 ns  try_to_wake_up+0x4e
   12.345678    1  日本語-4711            mutex      1.20 ms?  anon_pipe_write+0x43  failed EINTR
   12.345678    1  ?4711                  mutex      1.20 ms  0x7fff00000000
   12.345678    1  a\\x1b[2J\\nb\\xff-4711   mutex      1.20 ms  -  failed -99
";
    assert_eq!(text, expected);
}

#[test]
fn a_loss_says_where_and_since_when() {
    let gap = StreamLoss {
        cpu: Cpu(1),
        missed: Some(123),
        after_ns: 12_000_000_000,
        before_ns: 12_500_000_000,
    };
    let unknown = StreamLoss { missed: None, ..gap };
    assert_eq!(
        written(|out| loss(&gap, out).and_then(|()| loss(&unknown, out))),
        "   12.500000    1  [lost 123 events since 12.000000]\n   12.500000    1  [lost events since 12.000000]\n",
    );
}

/// The head of the line is the kernel's own, from a 6.18's `trace`.
#[test]
fn raw_events_read_like_trace_pipe() {
    let comm = Comm::new(b"hackbench");
    let wakeup = RawEvent {
        ts_ns: 2_768_513_919_000,
        cpu: Cpu(1),
        tid: Tid(25985),
        comm: Some(&comm),
        flags: 0x25,
        preempt_count: 4,
        event: "sched_wakeup",
    };
    let fields = [
        ("comm", FieldValue::Text(b"hack\nbench")),
        ("pid", FieldValue::Signed(-1)),
        ("lock_addr", FieldValue::Address(0xffff_8881_0000_0000)),
        ("args", FieldValue::List(vec![FieldValue::Unsigned(1), FieldValue::Unsigned(u64::MAX)])),
        ("cut", FieldValue::Fault),
    ];
    assert_eq!(
        written(|out| event(&wakeup, fields, out)),
        "       hackbench-25985   [001] dN.4.  2768.513919: sched_wakeup: \
         comm=hack\\nbench pid=-1 lock_addr=0xffff888100000000 args={1,18446744073709551615} cut=?\n",
    );
    let unnamed = RawEvent { comm: None, ..wakeup };
    assert!(written(|out| event(&unnamed, [], out)).starts_with("           <...>-25985   [001]"));
}

/// Letters as `trace_print_lat_fmt` gives them.
#[test]
fn raw_flags_read_as_the_kernels() {
    let table = [
        (0x00, 0x00, "....."),
        (0x01, 0x02, "d..2."),
        (0x25, 0x04, "dN.4."),
        (0x24, 0x01, ".N.1."),
        (0x0d, 0x05, "dnh5."),
        (0x35, 0x03, "dNs3."),
        (0x09, 0x02, "d.h2."),
        (0x19, 0x0f, "d.Hf."),
        (0x81, 0x10, "D...1"),
        (0x80, 0x00, "b...."),
        (0x22, 0x00, ".L..."),
        (0x02, 0x00, ".l..."),
        (0x06, 0x00, ".b..."),
        (0x26, 0x00, ".B..."),
        (0x20, 0x00, ".p..."),
        (0x41, 0xf1, "d.z1f"),
        (0x49, 0x00, "d.Z.."),
    ];
    for (flags, preempt_count, text) in table {
        assert_eq!(RawContext { flags, preempt_count }.to_string(), text, "{flags:#x}");
    }
}
