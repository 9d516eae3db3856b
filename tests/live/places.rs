//! Places where tracing is not to be had: each told for what it is, with the command that mends it.

use std::process::{Command, Output};

use crate::support::live;

/// Runs a shell script in a mount namespace of its own; `$FTLOCK` is the program.
fn in_own_mounts(script: &str) -> Option<Output> {
    let run = Command::new("unshare")
        .args(["-m", "--propagation", "private", "sh", "-ec", script])
        .env("FTLOCK", env!("CARGO_BIN_EXE_ftlock"))
        .output();
    match run {
        Ok(output) if String::from_utf8_lossy(&output.stderr).starts_with("unshare:") => {
            println!("skipped: {}", String::from_utf8_lossy(&output.stderr));
            None
        }
        Ok(output) => Some(output),
        Err(error) => {
            println!("skipped: no unshare here: {error}");
            None
        }
    }
}

const COVER: &str = "while umount /sys/kernel/tracing 2>/dev/null; do :; done; ";

#[test]
fn bad_places_are_told_from_each_other() {
    let Some(_alone) = live() else { return };
    let cases = [
        (
            "an empty directory where tracefs should be",
            "mount -t tmpfs none /mnt; $FTLOCK record --tracefs /mnt -- true",
            3,
            "/mnt is not tracefs",
        ),
        (
            "not root",
            "exec setpriv --reuid 65534 --regid 65534 --clear-groups $FTLOCK record -- true",
            3,
            "hint: sudo /tmp/ftlock-places record -- true",
        ),
        (
            "a directory that is not there",
            "$FTLOCK record --tracefs /nonexistent -- true",
            3,
            "/nonexistent",
        ),
    ];
    for (what, script, status, told) in cases {
        // The program must be readable for others: a build folder may not be.
        let script = format!("cp $FTLOCK /tmp/ftlock-places; FTLOCK=/tmp/ftlock-places; {script}");
        let Some(run) = in_own_mounts(&script) else { return };
        let stderr = String::from_utf8_lossy(&run.stderr);
        assert_eq!(run.status.code(), Some(status), "{what}: {stderr}");
        assert!(stderr.contains(told), "{what}: {stderr}");
        assert!(stderr.starts_with("ftlock: ") && stderr.contains("\nhint: "), "{what}: {stderr}");
    }
    std::fs::remove_file("/tmp/ftlock-places").unwrap();
}

#[test]
fn where_tracing_is_not_allowed_the_demo_shows_a_recording() {
    let Some(_alone) = live() else { return };
    let script = "cp $FTLOCK /tmp/ftlock-demo; \
                  setpriv --reuid 65534 --regid 65534 --clear-groups /tmp/ftlock-demo demo -v; \
                  rm /tmp/ftlock-demo";
    let Some(run) = in_own_mounts(script) else { return };
    let (stdout, stderr) =
        (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
    assert_eq!(run.status.code(), Some(0), "{stderr}");
    assert!(stderr.contains("Permission denied") && stderr.contains("a recording"), "{stderr}");
    assert!(stdout.contains("demo-mapper-0") && stdout.contains("vm_mmap_pgoff+"), "{stdout}");
    assert!(stdout.contains("2,074 waits") && !stdout.contains("DOES NOT HOLD"), "{stdout}");
}

#[test]
fn an_unmounted_tracefs_is_mounted_and_that_is_said() {
    let Some(_alone) = live() else { return };
    let script = format!("{COVER}$FTLOCK record --stream none -- true");
    let Some(run) = in_own_mounts(&script) else { return };
    let stderr = String::from_utf8_lossy(&run.stderr);
    assert_eq!(run.status.code(), Some(0), "{stderr}");
    assert!(stderr.contains("mounted tracefs at /sys/kernel/tracing"), "{stderr}");
}

#[test]
fn a_mount_elsewhere_is_found_though_its_path_has_a_blank() {
    let Some(_alone) = live() else { return };
    let script = format!(
        "{COVER}mount -t tmpfs none /mnt; mkdir '/mnt/t f'; mount -t tracefs nodev '/mnt/t f'; \
         $FTLOCK check"
    );
    let Some(run) = in_own_mounts(&script) else { return };
    let stdout = String::from_utf8_lossy(&run.stdout);
    assert_eq!(run.status.code(), Some(0), "{stdout}");
    assert!(stdout.contains("/mnt/t f"), "{stdout}");
}

/// A container's own pid namespace: its numbers are other tasks' in the events.
#[test]
fn a_nested_pid_namespace_is_told_and_nobody_is_given_a_strangers_name() {
    let Some(_alone) = live() else { return };
    let script = "exec unshare -pf --mount-proc $FTLOCK record --stream json -- \
                  $FTLOCK demo-workload --duration 300ms";
    let Some(run) = in_own_mounts(script) else { return };
    let stderr = String::from_utf8_lossy(&run.stderr);
    assert_eq!(run.status.code(), Some(0), "{stderr}");
    assert!(stderr.contains("pid namespace"), "{stderr}");
    let stdout = String::from_utf8_lossy(&run.stdout);
    let waits: Vec<serde_json::Value> = stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .filter(|record: &serde_json::Value| record["record"] == "wait")
        .collect();
    let workload = |wait: &&serde_json::Value| {
        wait["comm"].as_str().is_some_and(|c| c.starts_with("demo-") || c.starts_with("ftlock"))
    };
    assert!(waits.len() > 50, "{}", waits.len());
    assert!(waits.iter().all(|wait| workload(&wait)), "{waits:?}");
}

#[test]
fn a_process_of_another_pid_namespace_cannot_be_asked_for() {
    let Some(_alone) = live() else { return };
    let script = "exec unshare -pf --mount-proc $FTLOCK record -p 1";
    let Some(run) = in_own_mounts(script) else { return };
    let stderr = String::from_utf8_lossy(&run.stderr);
    assert_eq!(run.status.code(), Some(3), "{stderr}");
    assert!(stderr.contains("pid namespace"), "{stderr}");
}
