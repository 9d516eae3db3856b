//! What /proc says of one task now.

use std::fs::{self, File};
use std::io::Read;

use procfs::process::Process;

use super::proc::{PF_KTHREAD, kernels_comm};
use crate::event::Tid;

/// Command lines are kept up to this length, which is all that kernels before 4.2 showed.
const MAX_CMDLINE_BYTES: u64 = 4096;

/// The path of a task's cgroup in a hierarchy, as seen from our cgroup namespace.
pub(super) fn cgroup(tgid: Tid, tid: Tid, hierarchy: u32) -> Option<Vec<u8>> {
    let text = fs::read(format!("/proc/{tgid}/task/{tid}/cgroup")).ok()?;
    path_in(&text, hierarchy).map(<[u8]>::to_vec)
}

/// The threads of a process, its leader among them; none of one that is gone.
pub(super) fn threads(tgid: Tid) -> impl Iterator<Item = Tid> {
    let listed = fs::read_dir(format!("/proc/{tgid}/task")).into_iter().flatten().flatten();
    listed.filter_map(|entry| Some(Tid(entry.file_name().to_str()?.parse().ok()?)))
}

/// A line has the hierarchy's number, its controllers and the path, which may have colons; a path
/// has no line break (kernel/cgroup/cgroup.c, `cgroup_mkdir` and `proc_cgroup_show`, 6.18).
fn path_in(text: &[u8], hierarchy: u32) -> Option<&[u8]> {
    text.split(|&byte| byte == b'\n').find_map(|line| {
        let mut parts = line.splitn(3, |&byte| byte == b':');
        let number: u32 = str::from_utf8(parts.next()?).ok()?.parse().ok()?;
        let path = parts.nth(1)?;
        // What is shown of a dead task whose cgroup was removed.
        (number == hierarchy).then(|| path.strip_suffix(b" (deleted)").unwrap_or(path))
    })
}

/// The command line of a process, as `ps` shows it; `[name]` for a thread of the kernel. None
/// where it is gone or has none.
pub(super) fn cmdline(tgid: Tid, tid: Tid) -> Option<Vec<u8>> {
    let task = format!("/proc/{tgid}/task/{tid}");
    let mut bytes = Vec::new();
    let file = File::open(format!("{task}/cmdline")).ok()?;
    file.take(MAX_CMDLINE_BYTES).read_to_end(&mut bytes).ok()?;
    if let Some(shown) = shown(&bytes) {
        return Some(shown);
    }
    // A dying process has none any more either.
    let flags = Process::new(i32::try_from(tgid.0).ok()?).ok()?.stat().ok()?.flags;
    let comm = fs::read(format!("{task}/comm")).ok()?;
    let comm = kernels_comm(comm.strip_suffix(b"\n").unwrap_or(&comm), flags);
    (flags & PF_KTHREAD != 0).then(|| [b"[", comm.as_bytes(), b"]"].concat())
}

/// The arguments with blanks between them.
fn shown(bytes: &[u8]) -> Option<Vec<u8>> {
    let end = bytes.iter().rposition(|&byte| byte != 0)?;
    let arguments = bytes.get(..=end)?;
    Some(arguments.iter().map(|&byte| if byte == 0 { b' ' } else { byte }).collect())
}

#[cfg(test)]
mod tests {
    use super::{cmdline, path_in, shown};
    use crate::event::Tid;

    #[test]
    fn a_path_is_found_by_its_hierarchys_number() {
        let text = b"12:cpu,cpuacct:/a:b\n1:name=systemd:/x (deleted)\n0::/\xff c\n";
        let table: [(u32, Option<&[u8]>); 4] =
            [(12, Some(b"/a:b")), (1, Some(b"/x")), (0, Some(b"/\xff c")), (2, None)];
        for (hierarchy, path) in table {
            assert_eq!(path_in(text, hierarchy), path, "{hierarchy}");
        }
        assert_eq!(path_in(b"x\n0:\n:::\n", 0), None);
    }

    #[test]
    fn arguments_stand_apart_and_what_is_empty_is_none() {
        let table: [(&[u8], Option<&[u8]>); 5] = [
            (b"sleep\x00100\0", Some(b"sleep 100")),
            (b"a\0\0b\xff\0", Some(b"a  b\xff")),
            (b"nginx: master\0\0\0\0", Some(b"nginx: master")),
            (b"\0\0", None),
            (b"", None),
        ];
        for (bytes, expected) in table {
            assert_eq!(shown(bytes).as_deref(), expected, "{}", bytes.escape_ascii());
        }
    }

    #[test]
    fn our_own_is_what_we_were_started_with_a_kernel_threads_its_name_and_nobodys_none() {
        let own = Tid(std::process::id());
        let arguments: Vec<_> = std::env::args().collect();
        assert_eq!(cmdline(own, own), Some(arguments.join(" ").into_bytes()));
        assert_eq!(cmdline(Tid(1 << 30), Tid(1 << 30)), None);
        // Not to be seen in a container.
        if std::fs::read("/proc/2/comm").is_ok_and(|comm| comm == b"kthreadd\n") {
            assert_eq!(cmdline(Tid(2), Tid(2)).as_deref(), Some(b"[kthreadd]".as_slice()));
        }
    }
}
