//! The events of the generated machine: their formats, and their records.

use ftlock::tracefs::EventFormat;

const COMMON: &str = "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
    \tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n\
    \tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n\
    \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n";

const BEGIN: u16 = 1;
const END: u16 = 2;
const NEW: u16 = 3;
const RENAME: u16 = 4;
const EXIT: u16 = 5;

/// Name, id, fields: each a declaration, an offset and a size.
type Event = (&'static str, u16, &'static [(&'static str, usize, usize)]);

/// The formats of all of them.
pub(crate) fn formats() -> Vec<EventFormat> {
    format_texts().iter().map(|text| EventFormat::parse(text).unwrap()).collect()
}

/// The texts of the formats, as the kernel's `format` files have them.
pub(crate) fn format_texts() -> Vec<String> {
    let events: [Event; 5] = [
        ("contention_begin", BEGIN, &[("void * lock_addr", 8, 8), ("unsigned int flags", 16, 4)]),
        ("contention_end", END, &[("void * lock_addr", 8, 8), ("int ret", 16, 4)]),
        (
            "task_newtask",
            NEW,
            &[("pid_t pid", 8, 4), ("char comm[16]", 12, 16), ("u64 clone_flags", 32, 8)],
        ),
        (
            "task_rename",
            RENAME,
            &[("pid_t pid", 8, 4), ("char oldcomm[16]", 12, 16), ("char newcomm[16]", 28, 16)],
        ),
        ("sched_process_exit", EXIT, &[("char comm[16]", 8, 16), ("pid_t pid", 24, 4)]),
    ];
    let text = |(name, id, fields): Event| {
        let fields = fields.iter().map(|(declaration, offset, size)| {
            format!("\tfield:{declaration};\toffset:{offset};\tsize:{size};\tsigned:0;\n")
        });
        let fields: String = fields.collect();
        let print = "print fmt: \"%d\", REC->common_pid";
        format!("name: {name}\nID: {id}\nformat:\n{COMMON}\n{fields}\n{print}\n")
    };
    events.map(text).into()
}

/// What happens on a CPU, on top of a task.
#[derive(Debug, Clone, Copy)]
pub(crate) struct On {
    pub(crate) tid: u32,
    pub(crate) in_softirq: bool,
}

pub(crate) type Comm = [u8; 16];

/// The bytes of a record, common fields first.
pub(crate) struct Record(Vec<u8>);

impl Record {
    fn new(id: u16, on: On) -> Record {
        let mut bytes = Vec::with_capacity(48);
        bytes.extend(id.to_le_bytes());
        bytes.extend([if on.in_softirq { 0x10 } else { 0 }, 0]);
        bytes.extend(on.tid.to_le_bytes());
        Record(bytes)
    }

    fn and(mut self, bytes: &[u8]) -> Record {
        self.0.extend(bytes);
        self
    }

    pub(crate) fn begin(on: On, lock: u64, flags: u32) -> Record {
        Record::new(BEGIN, on).and(&lock.to_le_bytes()).and(&flags.to_le_bytes())
    }

    pub(crate) fn end(on: On, lock: u64) -> Record {
        Record::new(END, on).and(&lock.to_le_bytes()).and(&0i32.to_le_bytes())
    }

    pub(crate) fn new_task(on: On, child: u32, comm: &Comm) -> Record {
        let own_process = 0x0120_0000u64;
        let record = Record::new(NEW, on).and(&child.to_le_bytes()).and(comm);
        record.and(&[0; 4]).and(&own_process.to_le_bytes())
    }

    pub(crate) fn rename(on: On, tid: u32, old: &Comm, new: &Comm) -> Record {
        Record::new(RENAME, on).and(&tid.to_le_bytes()).and(old).and(new)
    }

    pub(crate) fn exit(on: On, comm: &Comm) -> Record {
        Record::new(EXIT, on).and(comm).and(&on.tid.to_le_bytes())
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }
}
