use super::{Error, Unmappable, denied_hint};
use rustix::io::Errno;
use std::io;
use std::path::Path;

fn at(errno: Errno) -> Error {
    Error::at("open", Path::new("/t/ring"), errno.into())
}

#[test]
fn errors_say_what_failed_and_what_mends_it() {
    let path = || Path::new("/t").to_owned();
    let table = [
        (
            Error::NotMounted,
            "no tracefs is mounted",
            "sudo mount -t tracefs nodev /sys/kernel/tracing",
        ),
        (
            Error::Empty { path: path(), lockdown: Some("confidentiality".into()) },
            "/t is tracefs but empty",
            "kernel lockdown is in mode confidentiality: boot with lockdown=integrity or none to trace",
        ),
        (
            Error::Empty { path: path(), lockdown: None },
            "/t is tracefs but empty",
            "sudo cat /sys/kernel/security/lockdown  # confidentiality forbids all tracing",
        ),
        (
            Error::MissingEvent { system: "lock".into(), event: "contention_begin".into() },
            "this kernel has no event lock:contention_begin",
            "uname -r  # lock:contention_begin needs Linux 5.19 or later",
        ),
        (
            Error::NoMemory { size_kb: 1 << 20, cpus: 64, source: Errno::NOMEM.into() },
            "no memory for 1048576 KiB on each of 64 CPUs, 65536 MiB in all: \
             Cannot allocate memory (os error 12)",
            "ask for less, 262144 KiB for instance",
        ),
        (
            at(Errno::MFILE),
            "cannot open /t/ring: Too many open files (os error 24)",
            "ulimit -n $(ulimit -Hn)",
        ),
        (
            at(Errno::ROFS),
            "cannot open /t/ring: Read-only file system (os error 30)",
            "sudo mount -o remount,rw $(findmnt -n -o TARGET -T /t/ring)",
        ),
        (
            Error::Unmappable { path: path(), reason: Unmappable::Kernel },
            "cannot map /t: this kernel cannot map its rings (6.10 and later can)",
            "read the rings rather than map them",
        ),
    ];
    for (error, text, hint) in table {
        assert_eq!(error.to_string(), text);
        assert_eq!(error.hint().as_deref(), Some(hint), "{text}");
    }
    assert_eq!(at(Errno::IO).hint(), None);
}

#[test]
fn root_is_not_told_to_become_root() {
    for errno in [Errno::ACCESS, Errno::PERM] {
        assert!(matches!(at(errno), Error::Denied { action: "open", .. }));
        let hint = |is_root| denied_hint(Path::new("/t"), &io::Error::from(errno), is_root);
        assert_eq!(hint(false), "run it as root, with sudo");
        assert!(!hint(true).contains("sudo"));
    }
}
