//! What can go wrong between a source and the stages.

use std::io;

use super::nested::{NESTED, NESTED_HINT};
use crate::cmdline_cache::proc;
use crate::event::decode::DecoderError;
use crate::tracefs::{self, FormatError, HeaderPageError};

/// Why a trace cannot be set up, or not go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// tracefs refuses something.
    #[error(transparent)]
    Tracefs(#[from] tracefs::Error),
    /// The layout of sub-buffers is not what it was on any kernel so far.
    #[error("cannot read the sub-buffers' layout in events/header_page: {0}")]
    HeaderPage(#[from] HeaderPageError),
    /// So is an event's.
    #[error("cannot read the format of {event}: {source}")]
    Format {
        /// The event.
        event: String,
        /// What is wrong with it.
        source: FormatError,
    },
    /// A field that is needed is missing.
    #[error(transparent)]
    Decoder(#[from] DecoderError),
    /// Nobody's name can be had.
    #[error(transparent)]
    Proc(#[from] proc::Error),
    /// Tasks cannot be asked for by numbers that events do not carry.
    #[error("-p and --tid do not work in this pid namespace, which is {NESTED}")]
    Nested,
    /// The rings, or signals, cannot be waited for.
    #[error("cannot wait for the rings: {0}")]
    Poll(#[source] io::Error),
}

impl Error {
    /// The command that mends it, where there is one.
    pub fn hint(&self) -> Option<String> {
        match self {
            Error::Tracefs(error) => error.hint(),
            Error::Proc(error) => Some(error.hint().to_owned()),
            Error::Nested => Some(NESTED_HINT.to_owned()),
            _ => None,
        }
    }
}
