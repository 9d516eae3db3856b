//! Tasks that call themselves what does harm elsewhere, in each form of a live run's results.

use std::fs;
use std::path::Path;
use std::process::{Output, Stdio};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::cases::{arena, call_me, churn};
use crate::clean::{NAMES, is_clean, is_clean_markup};
use crate::decoder::decode;
use crate::support::{ftlock, has_instance, live, until};

/// Records this process while its threads fight under such names.
fn recorded(view: &[&str], folder: &Path) -> Output {
    let own = std::process::id().to_string();
    let mut run = ftlock(&[&["record", "-p", &own], view].concat());
    let mut child = run.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    until("it traces", || {
        has_instance(child.id())
            || child.try_wait().unwrap().is_some_and(|status| panic!("{status}"))
    });
    let fight = |name: &'static [u8]| {
        move || {
            call_me(name);
            churn(folder, Duration::from_millis(700));
        }
    };
    let stdout = child.stdout.take().unwrap();
    let stderr = child.stderr.take().unwrap();
    let [stdout, stderr] = thread::scope(|scope| {
        let read = [Box::new(stdout) as Box<dyn std::io::Read + Send>, Box::new(stderr)].map(
            |mut stream| {
                scope.spawn(move || {
                    let mut bytes = Vec::new();
                    stream.read_to_end(&mut bytes).unwrap();
                    bytes
                })
            },
        );
        let threads = NAMES.map(|name| scope.spawn(fight(name)));
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        kill_process(Pid::from_child(&child), Signal::INT).unwrap();
        read.map(|thread| thread.join().unwrap())
    });
    Output { status: child.wait().unwrap(), stdout, stderr }
}

#[test]
fn no_name_reaches_a_terminal_a_cell_or_a_page_as_anything_but_text() {
    let Some(_alone) = live() else { return };
    let folder = arena();
    let file = folder.path().join("output");
    let written = ["--output", file.to_str().unwrap()];
    let text: &[&[&str]] = &[
        &["--by", "task", "-v"],
        &["--by", "comm", "--stream", "text", "--sched"],
        &["--by", "owner", "--sched"],
        &["--by", "comm", "-x", ","],
        &["--stream", "json"],
        &["--raw"],
    ];
    for view in text {
        let run = recorded(view, folder.path());
        assert!(run.status.success(), "{view:?}: {}", String::from_utf8_lossy(&run.stderr));
        is_clean(&format!("{view:?}"), &run.stdout);
        is_clean(&format!("what {view:?} says"), &run.stderr);
        let stdout = String::from_utf8(run.stdout).unwrap();
        assert!(stdout.contains("[2J") && stdout.contains("\\xff"), "{view:?}: {stdout}");
    }
    for format in ["csv", "json", "folded"] {
        let view = [&["--by", "comm,type", "--format", format][..], &written].concat();
        assert!(recorded(&view, folder.path()).status.success(), "{format}");
        is_clean(format, &fs::read(&file).unwrap());
    }
    for format in [
        "html",
        #[cfg(feature = "flamegraph")]
        "flamegraph",
    ] {
        let view = [&["--by", "comm", "--format", format][..], &written].concat();
        assert!(recorded(&view, folder.path()).status.success(), "{format}");
        is_clean_markup(format, &fs::read(&file).unwrap());
    }
    let view = [&["--format", "perfetto"][..], &written].concat();
    assert!(recorded(&view, folder.path()).status.success());
    let decoded = decode(&fs::read(&file).unwrap());
    let threads = decoded.tracks.values().filter_map(|track| track.thread.as_ref()?.2.as_ref());
    let names: Vec<&String> = threads.collect();
    assert!(names.iter().any(|name| name.contains("\\x1b[2J")), "{names:?}");
    names.iter().for_each(|name| is_clean("the trace for Perfetto", name.as_bytes()));
}
