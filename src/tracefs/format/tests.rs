//! Every form of declaration, each with a record that holds it.

#![allow(clippy::arithmetic_side_effects, reason = "sizes of literals")]

use proptest::prelude::*;

use super::{EventFormat, FormatError};
use crate::tracefs::abi::{Abi, Endian};
use crate::tracefs::field::FieldFault;
use crate::tracefs::header::SubbufLayout;
use crate::tracefs::value::Value;

const LITTLE: Abi = Abi { endian: Endian::Little, long_size_bytes: 8 };
const BIG: Abi = Abi { endian: Endian::Big, long_size_bytes: 4 };

const FORMAT: &str = "name: contention_begin\n\
    ID: 331\n\
    format:\n\
    \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
    \tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n\
    \tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n\
    \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\
    \tfield:unsigned char common_preempt_lazy_count;\toffset:8;\tsize:1;\tsigned:0;\n\
    \n\
    \tfield:void * lock_addr;\toffset:16;\tsize:8;\tsigned:0;\n\
    \tfield:unsigned int flags;\toffset:24;\tsize:4;\tsigned:0;\n\
    \n\
    print fmt: \"%p (flags=%s)\", REC->lock_addr, field: not one\n";

#[test]
fn a_format_file_gives_common_and_own_fields() {
    let format = EventFormat::parse(FORMAT).unwrap();
    assert_eq!((format.name.as_str(), format.id), ("contention_begin", 331));
    let names = |fields: &[super::Field]| -> Vec<String> {
        fields.iter().map(|field| field.name.to_string()).collect()
    };
    assert_eq!(
        names(&format.common),
        [
            "common_type",
            "common_flags",
            "common_preempt_count",
            "common_pid",
            "common_preempt_lazy_count"
        ]
    );
    assert_eq!(names(&format.fields), ["lock_addr", "flags"]);
    let lock = format.field("lock_addr").unwrap();
    assert_eq!((lock.offset, lock.size_bytes, lock.signed), (16, 8, false));
    assert!(format.field("common_pid").unwrap().signed);
    assert_eq!(format.field("ret"), None);
}

#[test]
fn each_fault_of_a_format_file_is_named_with_its_line() {
    let without = |line: &str| FORMAT.replace(line, "");
    assert_eq!(
        EventFormat::parse(&without("name: contention_begin\n")),
        Err(FormatError::Missing("name:"))
    );
    assert_eq!(EventFormat::parse(&without("ID: 331\n")), Err(FormatError::Missing("ID:")));
    for id in ["65536", "-1", "", "0x10"] {
        let error = EventFormat::parse(&FORMAT.replace("331", id)).unwrap_err();
        assert!(matches!(error, FormatError::BadId { line: 2, .. }), "{id:?}");
    }
    for (from, to) in [
        ("size:8;", "size:eight;"),
        ("\tsize:8;", ""),
        ("offset:16;", "offset:-16;"),
        ("offset:16;", "offset:4294967296;"),
        ("void * lock_addr", "void * "),
        ("void * lock_addr;", "void * lock_addr;junk;"),
    ] {
        let error = EventFormat::parse(&FORMAT.replace(from, to)).unwrap_err();
        assert!(matches!(error, FormatError::BadField { line: 10, .. }), "{to}: {error}");
    }
    let error = EventFormat::parse("name: x\nID: 1\nfield:;").unwrap_err();
    assert_eq!(error.to_string(), "event format line 3: not a field description: \"field:;\"");
}

/// A field alone in its event, at offset 0 of the record.
fn value<'a>(declaration: &str, size: usize, rest: &str, payload: &'a [u8], abi: Abi) -> Value<'a> {
    let text =
        format!("name: x\nID: 1\n\n\tfield:{declaration};\toffset:0;\tsize:{size};{rest}\n\n");
    let format = EventFormat::parse(&text).unwrap();
    let field = &format.common[0];
    assert_eq!(&*field.name, "x", "{declaration}");
    field.value(payload, abi)
}

#[test]
fn numbers_addresses_and_text_are_told_apart() {
    use Value::{Address, Fault, Signed, Text, Unsigned};
    let bytes = b"\xfe\xff\xff\xff\xff\xff\xff\xff";
    let table = [
        ("int x", 4, "\tsigned:1;", Signed(-2)),
        ("pid_t x", 4, "\tsigned:0;", Unsigned(0xffff_fffe)),
        ("long x", 8, "\tsigned:1;", Signed(-2)),
        ("u8 x", 1, "\tsigned:0;", Unsigned(0xfe)),
        ("bool x", 1, "\tsigned:0;", Unsigned(0xfe)),
        ("enum some_mode x", 4, "\tsigned:0;", Unsigned(0xffff_fffe)),
        ("void * x", 8, "\tsigned:0;", Address(0xffff_ffff_ffff_fffe)),
        ("void* x", 4, "\tsigned:0;", Address(0xffff_fffe)),
        ("const char * x", 8, "\tsigned:0;", Address(0xffff_ffff_ffff_fffe)),
        ("__attribute__((user)) T * x", 4, "\tsigned:0;", Address(0xffff_fffe)),
        // Before kernels said which numbers have a sign, their types did.
        ("int x", 4, "", Signed(-2)),
        ("s16 x", 2, "", Signed(-2)),
        ("unsigned short x", 2, "", Unsigned(0xfffe)),
        ("size_t x", 8, "", Unsigned(0xffff_ffff_ffff_fffe)),
        ("u32 x", 4, "", Unsigned(0xffff_fffe)),
        ("int x", 16, "\tsigned:1;", Fault(FieldFault::PastEnd)),
        ("char x[9]", 9, "\tsigned:0;", Fault(FieldFault::PastEnd)),
        ("char x[2]", 2, "\tsigned:1;", Text(b"\xfe\xff")),
        ("char x[TASK_COMM_LEN]", 2, "\tsigned:0;", Text(b"\xfe\xff")),
        ("char x[32 + 1]", 3, "\tsigned:0;", Text(b"\xfe\xff\xff")),
        ("char x", 0, "\tsigned:0;", Text(bytes)),
        ("char x[]", 0, "\tsigned:0;", Text(bytes)),
    ];
    for (declaration, size, rest, expected) in table {
        assert_eq!(value(declaration, size, rest, bytes, LITTLE), expected, "{declaration}");
    }
    let cut = value("char x[6]", 6, "\tsigned:1;", b"ab\0cd\0", LITTLE);
    assert_eq!(cut, Text(b"ab"));
}

#[test]
fn arrays_have_the_width_of_their_elements() {
    let bytes = [1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0xff, 7];
    let table: [(&str, usize, &[Value<'_>]); 9] = [
        ("unsigned long x[1]", 8, &[Value::Unsigned(0x2_0000_0001)]),
        ("nid_t x[2]", 8, &[Value::Unsigned(1), Value::Unsigned(2)]),
        ("u16 x[(int)sizeof(long[2]) - 14]", 4, &[Value::Unsigned(1), Value::Unsigned(0)]),
        ("unsigned char x[2]", 2, &[Value::Unsigned(1), Value::Unsigned(0)]),
        ("void * x[1]", 8, &[Value::Address(0x2_0000_0001)]),
        ("struct three x", 3, &[Value::Unsigned(1), Value::Unsigned(0), Value::Unsigned(0)]),
        ("u32 x[2][2]", 8, &[Value::Unsigned(1), Value::Unsigned(2)]),
        // To the record's end, without the rest that is no whole element.
        (
            "unsigned long x",
            0,
            &[Value::Unsigned(0x2_0000_0001), Value::Unsigned(0xff00_0000_0000_0003)],
        ),
        ("u64 x[]", 0, &[Value::Unsigned(0x2_0000_0001), Value::Unsigned(0xff00_0000_0000_0003)]),
    ];
    for (declaration, size, expected) in table {
        let Value::List(list) = value(declaration, size, "\tsigned:0;", &bytes, LITTLE) else {
            panic!("{declaration} is no list");
        };
        assert_eq!(list.collect::<Vec<_>>(), expected, "{declaration}");
    }
    let Value::List(list) = value("long x[1]", 4, "\tsigned:1;", &[0xff; 4], BIG) else {
        panic!("no list");
    };
    assert_eq!(list.collect::<Vec<_>>(), [Value::Signed(-1)]);
}

#[test]
fn located_fields_are_found_and_never_outside_the_record() {
    use Value::{Fault, Text};
    let outside = Fault(FieldFault::PointsOutside);
    // The location word stands at 0; "hello\0" begins at 6, which is 2 behind the word's end.
    let record = |offset: u16, length: u16| {
        let mut payload = (u32::from(length) << 16 | u32::from(offset)).to_le_bytes().to_vec();
        payload.extend(b"..hello\0");
        payload
    };
    let table = [
        ("__data_loc char[] x", 6, 6, Text(b"hello")),
        ("__data_loc char[] x", 6, 3, Text(b"hel")),
        ("__data_loc char[] x", 6, 0, Text(b"")),
        ("__data_loc char[] x", 60_000, 0, Text(b"")),
        ("__data_loc char[] x", 6, 7, outside.clone()),
        ("__data_loc char[] x", 13, 1, outside.clone()),
        ("__data_loc char[] x", u16::MAX, u16::MAX, outside.clone()),
        ("__rel_loc char[] x", 2, 6, Text(b"hello")),
        ("__rel_loc char x[]", 2, 6, Text(b"hello")),
        ("__rel_loc char x[]", 2, 0, Text(b"")),
        ("__rel_loc char x[]", 2, 7, outside),
    ];
    for (declaration, offset, length, expected) in table {
        let payload = record(offset, length);
        let found = value(declaration, 4, "\tsigned:0;", &payload, LITTLE);
        assert_eq!(found, expected, "{declaration} {offset} {length}");
    }
    let cut = &record(6, 6)[..3];
    assert_eq!(value("__data_loc char[] x", 4, "", cut, LITTLE), Fault(FieldFault::PastEnd));
    assert_eq!(value("__data_loc char[] x", 8, "", b"", LITTLE), Fault(FieldFault::LocationWidth));

    // Big endian, with elements; and the oldest form, whose word is the offset alone.
    let payload = [0, 4, 0, 4, 0, 1, 0, 2];
    let Value::List(list) = value("__data_loc u16[] x", 4, "\tsigned:0;", &payload, BIG) else {
        panic!("no list");
    };
    assert_eq!(list.collect::<Vec<_>>(), [Value::Unsigned(1), Value::Unsigned(2)]);
    assert_eq!(value("__data_loc x", 2, "", b"\x04\0..old\0", LITTLE), Text(b"old"));
}

#[test]
fn cpu_masks_are_words_of_the_kernels_size() {
    let payload = [4, 0, 8, 0, 5, 0, 0, 0, 0, 0, 0, 0x80];
    for declaration in ["__data_loc cpumask_t *[] x", "__data_loc cpumask_t x"] {
        let Value::List(list) = value(declaration, 4, "\tsigned:0;", &payload, LITTLE) else {
            panic!("no list");
        };
        assert_eq!(list.collect::<Vec<_>>(), [Value::Unsigned(0x8000_0000_0000_0005)]);
    }
    let payload = [0, 8, 0, 4, 0, 0, 0, 1, 0x80, 0, 0, 0];
    let Value::List(list) = value("__data_loc cpumask_t x", 4, "\tsigned:0;", &payload, BIG) else {
        panic!("no list");
    };
    assert_eq!(list.collect::<Vec<_>>(), [Value::Unsigned(1), Value::Unsigned(1 << 31)]);
}

proptest! {
    #[test]
    fn any_text_is_parsed_or_refused(text in r"(?s).{0,200}") {
        drop(EventFormat::parse(&text));
        drop(SubbufLayout::parse(&text));
    }

    #[test]
    fn a_damaged_file_is_parsed_or_refused(
        damage in prop::collection::vec((any::<prop::sample::Index>(), r"[\[\];:\n\t0-9 é]{0,3}"), 1..6),
    ) {
        let mut text: Vec<String> = FORMAT.chars().map(String::from).collect();
        for (index, replacement) in damage {
            let place = index.index(text.len());
            text[place] = replacement;
        }
        let text = text.concat();
        drop(EventFormat::parse(&text));
        drop(SubbufLayout::parse(&text));
    }

    /// Descriptions of wild fields, read from wild records: a value or a named fault.
    #[test]
    fn any_field_reads_inside_its_record(
        declaration in r"(__data_loc |__rel_loc )?(unsigned |const )?(char|int|long|u64|cpumask_t|struct s)?( \*)?(\[\])? x?(\[[0-9\[\]+() ]{0,6}\])?",
        numbers in prop::array::uniform2(prop_oneof![0_u32..24, any::<u32>()]),
        signed in prop::sample::select(vec!["", "\tsigned:0;", "\tsigned:1;"]),
        payload in prop::collection::vec(any::<u8>(), 0..40),
        abi in prop::sample::select(vec![LITTLE, BIG]),
    ) {
        let [offset, size] = numbers;
        let line = format!("field:{declaration};\toffset:{offset};\tsize:{size};{signed}");
        let Ok(format) = EventFormat::parse(&format!("name: n\nID: 1\n{line}\n")) else {
            return Ok(());
        };
        let field = &format.common[0];
        let _ = (field.uint(&payload, abi), field.int(&payload, abi));
        let record = payload.as_ptr_range();
        for bytes in field.bytes(&payload, abi).into_iter().chain(field.text(&payload, abi)) {
            let bytes = bytes.as_ptr_range();
            // An empty value lies nowhere.
            prop_assert!(bytes.is_empty() || (record.start <= bytes.start && bytes.end <= record.end));
        }
        if let Value::List(list) = field.value(&payload, abi) {
            prop_assert!(list.count() <= payload.len());
        }
    }
}
