//! x
use super::args::CheckArgs;
pub(super) fn run(_args: &CheckArgs) -> anyhow::Result<u8> { Ok(0) }
