//! The values of options, and the filters that come of them.

use ftlock::cli;

use super::files::demo;

/// Options with a value that neither name a file nor start anything. Inputs name them by their places: new
/// ones go to the end.
const OPTIONS: [&str; 24] = [
    "--comm",
    "--cmdline",
    "--caller",
    "--type-filter",
    "--lock-filter",
    "--callstack-filter",
    "--cgroup-filter",
    "--context",
    "--min-wait",
    "--by",
    "--field",
    "--key",
    "--entries",
    "--max-stack",
    "--map-nr-entries",
    "--field-separator",
    "--format",
    "--cpu",
    "--pid",
    "--tid",
    "--buffer",
    "--stream",
    "--color",
    "--event",
];

/// Options of `report`, each by its number and with its value up to a NUL; they are used on the bundled
/// recording.
pub(crate) fn args(input: &[u8]) {
    let values = input.split(|&byte| byte == 0).filter_map(|part| part.split_first()).take(8);
    let words = values.flat_map(|(number, value)| {
        let option = OPTIONS[usize::from(*number) % OPTIONS.len()];
        let value = String::from_utf8_lossy(value);
        [format!("{option}={value}")]
    });
    let start = ["ftlock", "report", "-q", "--output=/dev/null"].map(str::to_owned);
    cli::run_words(start.into_iter().chain(words).chain([demo()]));
}
