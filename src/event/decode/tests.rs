//! Hand-made records of hand-made formats. Real ones are in `tests/recordings`.

use super::{DecodeFault, Decoded, Decoder, DecoderError, RawHead};
use crate::event::{Body, Comm, LockFlags, TaskEvent, Tid};
use crate::tracefs::EventFormat;
use crate::tracefs::{Abi, Endian};

const ABI: Abi = Abi { endian: Endian::Little, long_size_bytes: 8 };
const ABI_32: Abi = Abi { endian: Endian::Big, long_size_bytes: 4 };

const COMMON: [(&str, u32, u32); 4] = [
    ("unsigned short common_type", 0, 2),
    ("unsigned char common_flags", 2, 1),
    ("unsigned char common_preempt_count", 3, 1),
    ("int common_pid", 4, 4),
];
const BEGIN: [(&str, u32, u32); 2] = [("void * lock_addr", 8, 8), ("unsigned int flags", 16, 4)];
const STACK: [(&str, u32, u32); 2] = [("int size", 8, 4), ("unsigned long caller[8]", 16, 64)];

fn format(name: &str, id: u16, fields: &[(&str, u32, u32)]) -> EventFormat {
    let lines = |fields: &[(&str, u32, u32)]| -> String {
        let line = |(declaration, offset, size): &(&str, u32, u32)| {
            format!("\tfield:{declaration};\toffset:{offset};\tsize:{size};\n")
        };
        fields.iter().map(line).collect()
    };
    let text = format!("name: {name}\nID: {id}\nformat:\n{}\n{}\n", lines(&COMMON), lines(fields));
    EventFormat::parse(&text).unwrap()
}

fn decoder(name: &str, fields: &[(&str, u32, u32)]) -> Decoder {
    Decoder::new(ABI, [format(name, 7, fields)]).unwrap()
}

/// A record of event 7 by task 0x0102.
fn record(rest: &[u8]) -> Vec<u8> {
    let mut payload = vec![7, 0, 0x40, 0x21, 2, 1, 0, 0];
    payload.extend(rest);
    payload
}

#[test]
fn the_head_is_read_by_the_names_of_the_common_fields() {
    let decoder = decoder("contention_begin", &BEGIN);
    let head = RawHead { id: 7, flags: 0x40, preempt_count: 0x21, tid: Tid(0x102) };
    assert_eq!(decoder.head(&record(b"")), Some(head));
    assert_eq!(decoder.head(&record(b"")[..7]), None);
    assert_eq!(decoder.format(7).map(|format| format.name.as_str()), Some("contention_begin"));
}

#[test]
fn a_record_may_be_longer_than_its_format_but_not_shorter() {
    let decoder = decoder("contention_begin", &BEGIN);
    let payload = record(b"\x11\0\0\0\0\0\0\xff\x21\0\0\x80tail");
    let begin = Decoded::Plain(Body::LockBegin {
        lock: 0xff00_0000_0000_0011,
        flags: LockFlags(0x8000_0021),
    });
    for length in 20..=payload.len() {
        assert_eq!(decoder.decode(7, &payload[..length]), Ok(begin.clone()));
    }
    for length in 0..20 {
        assert_eq!(decoder.decode(7, &payload[..length]), Err(DecodeFault::Field), "{length}");
    }
    assert_eq!(decoder.decode(8, &payload), Ok(Decoded::Unknown));
    assert_eq!(decoder.decode(u16::MAX, b""), Ok(Decoded::Unknown));
}

#[test]
fn names_are_read_from_arrays_and_from_wherever_they_are_located() {
    let rename = |tid| {
        let (old, new) = (Comm::new(b"ab"), Comm::new(b"0123456789abcdef"));
        Ok(Decoded::Plain(Body::Task(TaskEvent::Rename { tid: Tid(tid), old, new })))
    };
    let arrays = [("pid_t pid", 8, 4), ("char oldcomm[16]", 12, 16), ("char newcomm[16]", 28, 16)];
    let payload = record(b"\x09\0\0\0ab\0\xff\xfe\xfd..........0123456789abcdefjunk");
    assert_eq!(decoder("task_rename", &arrays).decode(7, &payload), rename(9));
    // Where the event does not say whom it renames, it is the current task.
    assert_eq!(decoder("task_rename", &arrays[1..]).decode(7, &payload), rename(0x102));

    let located = [
        ("pid_t pid", 8, 4),
        ("__data_loc char[] oldcomm", 12, 4),
        ("__data_loc char[] newcomm", 16, 4),
    ];
    let decoder = decoder("task_rename", &located);
    let payload = record(b"\x09\0\0\0\x14\0\x03\0\x17\0\x11\0ab\x000123456789abcdef\0");
    assert_eq!(decoder.decode(7, &payload), rename(9));
    // The last name's NUL is gone, and with it the name's place in the record.
    assert_eq!(decoder.decode(7, &payload[..payload.len() - 1]), Err(DecodeFault::Name));
}

#[test]
fn clone_flags_tell_threads_from_processes_and_who_gets_a_cgroup_of_its_own() {
    let fields = [("pid_t pid", 8, 4), ("char comm[16]", 12, 16), ("u64 clone_flags", 32, 8)];
    let decoder = decoder("task_newtask", &fields);
    let cases = [
        (0x1_0000_u64, true, false),
        (0x3d_0f00, true, false),
        (0x120_0000, false, false),
        (0x2_0120_0000, false, true),
    ];
    for (flags, thread, own_cgroup) in cases {
        let mut payload = record(b"\x09\0\0\0child\0..........hole");
        payload.extend(flags.to_le_bytes());
        let task = TaskEvent::New { tid: Tid(9), comm: Comm::new(b"child"), thread, own_cgroup };
        assert_eq!(decoder.decode(7, &payload), Ok(Decoded::Plain(Body::Task(task))), "{flags:#x}");
    }
}

#[test]
fn a_program_has_its_file_and_a_move_its_hierarchy_and_path() {
    let exec =
        [("__data_loc char[] filename", 8, 4), ("pid_t pid", 12, 4), ("pid_t old_pid", 16, 4)];
    let payload = record(b"\x14\0\x05\0\x09\0\0\0\x0a\0\0\0/\xffsh\0");
    let told = |filename| Ok(Decoded::Exec { tid: Tid(9), old_tid: Tid(10), filename });
    let decoder_of = |fields: &[_]| decoder("sched_process_exec", fields);
    assert_eq!(decoder_of(&exec).decode(7, &payload), told(Some(b"/\xffsh")));
    assert_eq!(decoder_of(&exec[1..]).decode(7, &payload), told(None));

    let moved = [("int dst_root", 8, 4), ("int pid", 12, 4), ("__data_loc char[] dst_path", 16, 4)];
    let payload = record(b"\x08\0\0\0\x09\0\0\0\x14\0\x04\0/ab\0");
    let told = Decoded::Moved { hierarchy: 8, tid: Tid(9), path: b"/ab" };
    let decoder = decoder("cgroup_attach_task", &moved);
    assert_eq!(decoder.decode(7, &payload), Ok(told));
    assert_eq!(decoder.decode(7, &payload[..23]), Err(DecodeFault::Name));
}

#[test]
fn a_stack_has_as_many_frames_as_it_says_and_the_record_holds() {
    let frames = |size: i32, words: &[u64]| -> Vec<u64> {
        let mut payload = record(&size.to_le_bytes());
        payload.extend(b"junk");
        payload.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        match decoder("kernel_stack", &STACK).decode(7, &payload) {
            Ok(Decoded::Stack(frames)) => frames.collect(),
            other => panic!("{other:?}"),
        }
    };
    let nine = [1, 2, 3, 4, 5, 6, 7, 8, 9];
    assert_eq!(frames(2, &nine), [1, 2]);
    assert_eq!(frames(9, &nine), nine, "the format's eight is no limit");
    assert_eq!(frames(i32::MAX, &nine), nine);
    assert!(frames(0, &nine).is_empty());
    assert!(frames(-1, &nine).is_empty());
    assert_eq!(frames(3, &[1, u64::MAX, 3]), [1]);
    assert_eq!(frames(3, &[1, 0x7fff_ffff, 3]), [1, 0x7fff_ffff, 3]);
}

#[test]
fn a_32_bit_kernels_stack_without_a_size_ends_at_all_ones() {
    let format = format("kernel_stack", 7, &[("unsigned long caller[8]", 8, 32)]);
    let decoder = Decoder::new(ABI_32, [format]).unwrap();
    let payload = record(&[0xc0, 0, 0, 1, 0xc0, 0, 0, 2, 0xff, 0xff, 0xff, 0xff, 9, 9, 9, 9, 1]);
    let Ok(Decoded::Stack(mut frames)) = decoder.decode(7, &payload) else { panic!("no stack") };
    assert_eq!(frames.by_ref().collect::<Vec<_>>(), [0xc000_0001, 0xc000_0002]);
    assert_eq!(frames.next(), None);
}

#[test]
fn a_missing_field_is_named_with_its_event() {
    let table: [(&str, &[&str]); 10] = [
        ("cgroup_attach_task", &["dst_root", "pid", "dst_path"]),
        ("cgroup_transfer_tasks", &["dst_root", "pid", "dst_path"]),
        ("contention_begin", &["lock_addr", "flags"]),
        ("contention_end", &["lock_addr", "ret"]),
        ("task_newtask", &["pid", "comm", "clone_flags"]),
        ("task_rename", &["oldcomm", "newcomm"]),
        ("sched_process_fork", &["parent_pid", "child_pid", "child_comm"]),
        ("sched_process_exec", &["pid", "old_pid"]),
        ("sched_process_exit", &["pid"]),
        ("kernel_stack", &["caller"]),
    ];
    for (event, needed) in table {
        for missing in needed {
            let declarations: Vec<_> = needed.iter().map(|field| format!("int {field}")).collect();
            let fields: Vec<_> = declarations
                .iter()
                .filter(|declaration| !declaration.ends_with(&format!(" {missing}")))
                .map(|declaration| (declaration.as_str(), 8, 4))
                .collect();
            let error = Decoder::new(ABI, [format(event, 7, &fields)]).unwrap_err();
            assert_eq!(error.to_string(), format!("event {event} has no field \"{missing}\""));
        }
    }
    let headless = EventFormat::parse("name: hyp_enter\nID: 1\n").unwrap();
    let missing = DecoderError::MissingField { event: "hyp_enter".into(), field: "common_type" };
    assert_eq!(Decoder::new(ABI, [headless]).unwrap_err(), missing);
    assert_eq!(Decoder::new(ABI, []).unwrap_err(), DecoderError::NoFormats);
}
