//! The tracing data of a perf.data: the beginning of a file of version 6, in a version of its own
//! (tools/perf/util/trace-event-info.c, 6.18).

use super::super::error::Fault;
use super::super::option_id;
use super::super::texts::Texts;
use super::head::{MAGIC, text_part};
use super::input::Input;
use crate::tracefs::{Abi, Endian, SubbufLayout};

/// Since this version it ends with names of tasks.
const NAMES_SINCE: &str = "0.6";

/// How the traced kernel lays out numbers and sub-buffers, and its texts.
///
/// # Errors
/// If it ends early, or something else stands where a part should.
pub fn perf_texts(bytes: &[u8]) -> Result<(Abi, SubbufLayout, Texts), Fault> {
    let mut input = Input::over(bytes, Endian::Little);
    input.expect(MAGIC, "the magic")?;
    let version = input.name("the version")?;
    let endian = match input.u8("the byte order")? {
        0 => Endian::Little,
        _ => Endian::Big,
    };
    input.set_endian(endian);
    input.u8("the word size")?;
    input.u32("the page size")?;
    let mut texts = Texts::default();
    let last = match version.as_str() < NAMES_SINCE {
        true => option_id::PRINTK,
        false => option_id::CMDLINES,
    };
    for id in option_id::HEADER_INFO..=last {
        text_part(id, &mut input, &mut texts)?;
    }
    let layout = SubbufLayout::parse(&texts.header_page).map_err(Fault::HeaderPage)?;
    Ok((Abi::new(endian, &layout), layout, texts))
}
