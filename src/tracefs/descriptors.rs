//! The limit on open files, which a machine of many CPUs exceeds.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::error::Error;

/// Raises this process's soft limit on open files as far as `needed` asks and the hard one allows.
///
/// A limit that is high enough stays as it is. An error says that even the hard one is too low.
pub fn raise_descriptor_limit(needed: u64) -> Result<(), Error> {
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|soft| soft >= needed) {
        return Ok(());
    }
    if let Some(hard) = limit.maximum.filter(|&hard| hard < needed) {
        return Err(Error::DescriptorLimit { needed, limit: hard });
    }
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    setrlimit(Resource::Nofile, raised)
        .map_err(|_| Error::DescriptorLimit { needed, limit: limit.current.unwrap_or(0) })
}
