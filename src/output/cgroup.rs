//! Paths of cgroups for people.

use std::borrow::Cow;

/// Digits of a container's id, and how many of them engines show.
const ID_DIGITS: usize = 64;
const SHORT_DIGITS: usize = 12;

/// The path with each container's id cut to the digits that `docker ps` and `crictl ps` begin with.
///
/// An id is 64 hexadecimal digits that stand alone, whatever the engine puts before and behind them.
pub(super) fn short(path: &[u8]) -> Cow<'_, [u8]> {
    let is_digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    if path.len() < ID_DIGITS {
        return path.into();
    }
    let mut shown = Vec::with_capacity(path.len());
    for word in path.split_inclusive(|byte| !byte.is_ascii_alphanumeric()) {
        let digits = word.iter().take_while(|byte| is_digit(byte)).count();
        let ends = word.get(digits).is_none_or(|byte| !byte.is_ascii_alphanumeric());
        match word.get(SHORT_DIGITS..) {
            Some(rest) if digits == ID_DIGITS && ends => {
                shown.extend(word.get(..SHORT_DIGITS).unwrap_or(word));
                shown.extend(rest.get(ID_DIGITS - SHORT_DIGITS..).unwrap_or(&[]));
            }
            _ => shown.extend(word),
        }
    }
    shown.into()
}

#[cfg(test)]
mod tests {
    use super::short;

    const ID: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    /// As the engines name their cgroups, with systemd's driver and with their own.
    #[test]
    fn a_containers_id_is_cut_and_nothing_else() {
        let table = [
            ("/system.slice/docker-{}.scope", "/system.slice/docker-0123456789ab.scope"),
            ("/docker/{}", "/docker/0123456789ab"),
            ("/docker/{}/init", "/docker/0123456789ab/init"),
            ("/docker/{}/docker/{}", "/docker/0123456789ab/docker/0123456789ab"),
            (
                "/kubepods.slice/kubepods-pod3_b.slice/cri-containerd-{}.scope",
                "/kubepods.slice/kubepods-pod3_b.slice/cri-containerd-0123456789ab.scope",
            ),
            ("/kubepods/burstable/pod3-b/{}", "/kubepods/burstable/pod3-b/0123456789ab"),
            ("/machine.slice/libpod-{}.scope", "/machine.slice/libpod-0123456789ab.scope"),
            ("/libpod_parent/libpod-conmon-{}", "/libpod_parent/libpod-conmon-0123456789ab"),
            ("/kubepods/crio-{}", "/kubepods/crio-0123456789ab"),
            ("/actions_job/{}", "/actions_job/0123456789ab"),
            ("{}", "0123456789ab"),
            // Not an id: too long, in a word, without all its digits.
            ("/{}0", "/{}0"),
            ("/x{}", "/x{}"),
            ("/{}z/b", "/{}z/b"),
            ("/", "/"),
            ("", ""),
        ];
        for (path, shown) in table {
            let (path, shown) = (path.replace("{}", ID), shown.replace("{}", ID));
            assert_eq!(short(path.as_bytes()), shown.as_bytes(), "{path}");
        }
        let upper = ID.to_uppercase();
        assert_eq!(short(upper.as_bytes()), upper.as_bytes());
        assert_eq!(short(&ID.as_bytes()[1..]), &ID.as_bytes()[1..]);
        let bytes = [b"/\xff-", ID.as_bytes(), b"\xff"].concat();
        assert_eq!(short(&bytes), b"/\xff-0123456789ab\xff".as_slice());
    }
}
