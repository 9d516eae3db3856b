//! Which CPUs there are, and lists of them.

use std::fs;
use std::path::Path;

use super::error::Error;

/// The largest CPU number taken: `NR_CPUS` goes up to 8192 (arch/x86/Kconfig, 6.18).
const MAX_CPU: u16 = 8191;

/// A CPU list that is not understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CpuListError {
    /// Neither a number nor a range of them.
    #[error("not a CPU or a range of CPUs: {0:?}")]
    Part(String),
    /// A range that ends before it begins.
    #[error("CPU range runs backwards: {0:?}")]
    Backwards(String),
    /// A number no kernel has.
    #[error("CPU number beyond {MAX_CPU}: {0:?}")]
    TooLarge(String),
}

/// CPU numbers, ascending and each once, from a list like `0,3-7`.
pub fn parse_cpu_list(text: &str) -> Result<Vec<u16>, CpuListError> {
    let mut cpus = Vec::new();
    for part in text.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (cpu(first, part)?, cpu(last, part)?);
        if last < first {
            return Err(CpuListError::Backwards(part.to_owned()));
        }
        cpus.extend(first..=last);
        cpus.sort_unstable();
        cpus.dedup(); // Here, so that no list grows beyond MAX_CPU.
    }
    Ok(cpus)
}

fn cpu(number: &str, part: &str) -> Result<u16, CpuListError> {
    let number = number.trim();
    if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(CpuListError::Part(part.to_owned()));
    }
    match number.parse() {
        Ok(cpu) if cpu <= MAX_CPU => Ok(cpu),
        _ => Err(CpuListError::TooLarge(part.to_owned())),
    }
}

/// The CPUs that have a ring, ascending: the directories of `per_cpu`.
///
/// These are the *possible* CPUs, and not always 0 to n-1.
pub(super) fn in_directory(per_cpu: &Path) -> Result<Vec<u16>, Error> {
    let failed = |source| Error::at("list", per_cpu, source);
    let mut cpus = Vec::new();
    for entry in fs::read_dir(per_cpu).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix("cpu"));
        cpus.extend(number.and_then(|number| cpu(number, number).ok()));
    }
    cpus.sort_unstable();
    Ok(cpus)
}

#[cfg(test)]
mod tests {
    use super::{CpuListError, in_directory, parse_cpu_list};
    use std::fs;

    #[test]
    fn lists_give_each_cpu_once_and_in_order() {
        for (text, cpus) in [
            ("0", &[0][..]),
            ("0,3-7", &[0, 3, 4, 5, 6, 7]),
            ("5-6,0,5", &[0, 5, 6]),
            (" 2 , 4-4\n", &[2, 4]),
            ("8191", &[8191]),
        ] {
            assert_eq!(parse_cpu_list(text).unwrap(), cpus, "{text}");
        }
        assert_eq!(parse_cpu_list("0-8191,0-8191").unwrap().len(), 8192);
    }

    #[test]
    fn what_is_no_list_is_named() {
        for text in ["", ",", "a", "1-", "-1", "+1", "1-2-3", "0x1"] {
            assert!(matches!(parse_cpu_list(text), Err(CpuListError::Part(_))), "{text}");
        }
        assert_eq!(parse_cpu_list("0,7-3"), Err(CpuListError::Backwards("7-3".into())));
        for text in ["8192", "0-4294967295", "99999999999999999999"] {
            assert_eq!(parse_cpu_list(text), Err(CpuListError::TooLarge(text.into())));
        }
    }

    #[test]
    fn cpus_are_the_directories_and_not_a_count() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["cpu10", "cpu4", "cpu5", "cpux", "cpu", "stats"] {
            fs::create_dir(dir.path().join(name)).unwrap();
        }
        assert_eq!(in_directory(dir.path()).unwrap(), [4, 5, 10]);
        let gone = dir.path().join("gone");
        let error = in_directory(&gone).unwrap_err().to_string();
        assert_eq!(
            error,
            format!("cannot list {}: No such file or directory (os error 2)", gone.display())
        );
    }
}
