//! Pages and formats: what the kernel, or a file in its name, may hand out.

use ftlock::event::decode::{Decoded, Decoder};
use ftlock::tracefs::{
    Abi, CpuStats, Endian, EventFormat, Resume, Step, SubbufLayout, Tail, is_behind_loss,
    parse_cpu_list, walk,
};

use super::kernels::{self, Kernel};

/// A page: the kernel it is of, how far it was read before, its bytes.
pub(crate) fn page(input: &[u8]) {
    let [kernel, resume, page @ ..] = input else { return };
    let Kernel { layout, abi, decoder, .. } = kernels::chosen_by(*kernel);
    let whole = read(page, layout, *abi, None, decoder);
    // Read in two pieces, as while it grows.
    let from = Resume { offset_bytes: usize::from(*resume) * 4, ts: whole.first_ts };
    read(page, layout, *abi, Some(from), decoder);
    is_behind_loss(page, layout, *abi);
    let half = page.get(page.len() / 2..).unwrap_or_default();
    if let Some(mut tail) = Tail::of(page, layout, *abi)
        && let Some(joined) = tail.join(half, layout, *abi)
    {
        let end = joined.records_at + joined.records.len();
        assert!(end <= layout.size_bytes(), "{joined:?} ends behind its sub-buffer");
    }
}

struct Read {
    first_ts: u64,
}

/// Reads all of a page; what is promised of every record is checked.
fn read(
    page: &[u8],
    layout: &SubbufLayout,
    abi: Abi,
    resume: Option<Resume>,
    decoder: &Decoder,
) -> Read {
    let bytes = page.as_ptr_range();
    let mut first_ts = None;
    let mut walked = walk(page, layout, abi, resume);
    let mut steps = 0;
    for step in walked.by_ref() {
        steps += 1;
        assert!(steps <= page.len() / 4 + 3, "more steps than words");
        let Step::Record(record) = step else { continue };
        first_ts.get_or_insert(record.ts);
        let payload = record.payload.as_ptr_range();
        assert!(bytes.start <= payload.start && payload.end <= bytes.end);
        decode(record.payload, decoder);
    }
    assert!(walked.next().is_none(), "ended, and then not");
    assert!(walked.data_size_bytes() <= layout.data_size_bytes);
    let end = walked.resume().offset_bytes;
    assert!(end <= layout.data_size_bytes, "to be read on at {end}");
    Read { first_ts: first_ts.unwrap_or(0) }
}

fn decode(payload: &[u8], decoder: &Decoder) {
    let Some(head) = decoder.head(payload) else { return };
    let range = payload.as_ptr_range();
    match decoder.decode(head.id, payload) {
        Ok(Decoded::Stack(frames)) => {
            assert!(frames.count() <= payload.len() / 4);
        }
        Ok(Decoded::Exec { filename: Some(text), .. } | Decoded::Moved { path: text, .. }) => {
            let place = text.as_ptr_range();
            assert!(text.is_empty() || range.start <= place.start && place.end <= range.end);
        }
        _ => {}
    }
    for field in decoder.format(head.id).iter().flat_map(|format| &format.fields) {
        let _value = field.value(payload, decoder.abi());
    }
}

/// Formats, a blank line with a `%` between them, and behind a NUL records, each behind its length.
pub(crate) fn format(input: &[u8]) {
    let mut parts = input.splitn(2, |&byte| byte == 0);
    let text = String::from_utf8_lossy(parts.next().unwrap_or_default()).into_owned();
    let records = parts.next().unwrap_or_default();
    // Other texts of the kernel, which tell of themselves by lines as well.
    let _layout = SubbufLayout::parse(&text);
    let _stats = CpuStats::parse(&text);
    let _cpus = parse_cpu_list(text.trim());
    let formats: Vec<_> = text.split("\n%\n").flat_map(EventFormat::parse).collect();
    for (endian, long_size_bytes) in
        [(Endian::Little, 8), (Endian::Big, 8), (Endian::Little, 4), (Endian::Big, 4)]
    {
        let abi = Abi { endian, long_size_bytes };
        let Ok(decoder) = Decoder::new(abi, formats.iter().cloned()) else { continue };
        let mut rest = records;
        while let [length, behind @ ..] = rest {
            let (record, behind) = behind.split_at(behind.len().min((*length).into()));
            rest = behind;
            decode(record, &decoder);
            for format in &formats {
                let _decoded = decoder.decode(format.id, record);
                for field in format.common.iter().chain(&format.fields) {
                    let (_, _) = (field.value(record, abi), field.text(record, abi));
                }
            }
        }
    }
}
