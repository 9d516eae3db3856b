//! The Parquet file where its reader is slow: whole groups are missing and counted, and what is there is read.

use std::fs;
use std::io::{self, Write};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};

use ftlock::cmdline_cache::{Certainty, TaskName};
use ftlock::contention::Wait;
use ftlock::event::{Comm, Context, Cpu, Head, LockFlags, Stamp, Tid};
use ftlock::output::parquet::WaitFile;
use ftlock::output::{ReportInfo, RunInfo};
use ftlock::pipeline::{Exporter, NamedWait, ParquetExport, Queue, Shows, Sink, StreamTexts};
use ftlock::report::{Cause, OffCpu, Table};
use ftlock::symbols::{CallerFinder, Kallsyms, StackTable};

use crate::rows::rows;

/// Takes each piece only when the test says so.
struct Gate(Receiver<()>, Arc<Mutex<Vec<u8>>>);

impl Write for Gate {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.recv().map_err(io::Error::other)?;
        self.1.lock().unwrap().extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn wait(ts_ns: u64) -> NamedWait {
    let (cpu, tid, context) = (Cpu(0), Tid(7), Context::Task);
    let certainty = Certainty::Known;
    let wait = Wait {
        begin: Head { stamp: Stamp::before(ts_ns), ts_ns, cpu, tid, context },
        end_ns: ts_ns + 1,
        lock: 64,
        cause: Cause::Lock(LockFlags(1)),
        ret: 0,
        stack: None,
        slept: false,
        off_cpu: OffCpu::default(),
        holder: None,
        uncertain: false,
        internal: false,
        idle: false,
    };
    NamedWait {
        wait,
        table: Table::Locks,
        name: TaskName { comm: Comm::new(b"task"), tgid: Some(tid), incarnation: 1, certainty },
        caller: None,
        lock_name: None,
        process: None,
        holder: None,
        chain: None,
        reason: None,
        cgroup: None,
        cmdline: None,
    }
}

#[test]
fn groups_that_find_no_room_are_left_out_and_the_others_are_whole() {
    let run = RunInfo { clock: "mono", kernel: "6.18", cpus: 1, command: &[] };
    let info = ReportInfo { run, host: None, date: None, start_ns: None, end_ns: None };
    let symbols = Kallsyms::parse(b"");
    let finder = CallerFinder::new(Arc::new(Kallsyms::parse(b"")));
    let stacks = StackTable::new(9, Arc::new(finder));
    let (open, gate) = channel();
    let arrived = Arc::new(Mutex::new(Vec::new()));
    // Room for one group only.
    let queue = Queue::new(Gate(gate, Arc::clone(&arrived)), WaitFile::MAX_GROUP_BYTES).unwrap();
    let (texts, shows) = (StreamTexts::default(), Shows::default());
    let file = WaitFile::new(&info).unwrap();
    let mut export = Box::new(ParquetExport::new(file, &symbols, (&texts, shows), queue));
    let group = 1 << 16;
    for n in 0..2 * group + 10 {
        export.wait(&wait(n), &stacks);
    }
    (0..10).for_each(|_| open.send(()).unwrap());
    let (missing, written) = export.finish(&[], &stacks);
    written.unwrap();
    assert_eq!(missing, group);

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("waits.parquet");
    fs::write(&path, &*arrived.lock().unwrap()).unwrap();
    let (rows, groups) = rows(&path);
    assert_eq!(groups, [1 << 16, 10]);
    let expected = (0..group).chain(2 * group..2 * group + 10);
    assert!(rows.iter().map(|row| row["ts"].as_u64().unwrap()).eq(expected));
}
