use super::super::samples::{ClosedPipe, RUN, row, with_report, written};
use super::write;
use crate::event::{Comm, StackId, WaitKind};
use crate::report::{By, COLUMNS, Column, Part, Row, RowKey, Table};
use std::io;

fn wait_total() -> &'static Column {
    COLUMNS.iter().find(|column| column.id == "wait_total").unwrap()
}

fn key<const N: usize>(parts: [Part; N]) -> RowKey {
    RowKey::of(Table::Locks, parts)
}

fn svg(by: &[By], rows: &[Row]) -> String {
    with_report(by, rows, &[], |summary| written(|out| write(&RUN, summary, wait_total(), out)))
}

/// Each frame: its place and width in ns, its height, its title.
fn frames(svg: &str) -> Vec<(u64, u64, i64, String)> {
    let attribute = |element: &str, name: &str| -> String {
        let start = element.split_once(&format!(" {name}=\"")).unwrap().1;
        start.split_once('"').unwrap().0.to_owned()
    };
    let all = svg.split("<g><title>").skip(1).map(|frame| {
        let (title, rest) = frame.split_once("</title>").unwrap();
        let number = |name| attribute(rest, name).parse().unwrap();
        (number("fg:x"), number("fg:w"), attribute(rest, "y").parse().unwrap(), title.to_owned())
    });
    all.collect()
}

/// The frame at the bottom is as wide as all waits; each level fills what is below it, but for waits
/// whose stack ends there.
#[test]
fn the_frames_add_up_to_the_total() {
    let rows = [
        row(
            key([Part::Type(WaitKind::Mutex), Part::Stack(Some(StackId(0)), WaitKind::Mutex)]),
            700_000,
        ),
        row(
            key([
                Part::Type(WaitKind::RwsemRead),
                Part::Stack(Some(StackId(0)), WaitKind::RwsemRead),
            ]),
            200_000,
        ),
        row(key([Part::Type(WaitKind::Mutex), Part::Stack(None, WaitKind::Mutex)]), 100_000),
    ];
    let frames = frames(&svg(&[By::Type, By::Stack], &rows));
    let mut levels: Vec<i64> = frames.iter().map(|(_, _, y, _)| *y).collect();
    levels.sort_by_key(|y| -y);
    levels.dedup();
    let width = |level: &i64| -> u64 {
        frames.iter().filter(|(_, _, y, _)| y == level).map(|(_, width, _, _)| width).sum()
    };
    let widths: Vec<u64> = levels.iter().map(width).collect();
    assert_eq!(widths, [1_000_000, 1_000_000, 1_000_000, 900_000, 900_000]);
    let titles: Vec<&str> = frames.iter().map(|(_, _, _, title)| title.as_str()).collect();
    assert!(titles.contains(&"all (1,000,000 ns, 100%)"), "{titles:?}");
    assert!(titles.contains(&"mutex (800,000 ns, 80.00%)"), "{titles:?}");
    assert!(titles.contains(&"anon_pipe_write (700,000 ns, 70.00%)"), "{titles:?}");
}

#[test]
fn names_are_text_and_nothing_else() {
    for name in ["<script>", "a&b", "]]>", "\"' x", "\u{ffff}\u{1}", "a;b", "x 1"] {
        let key = key([Part::Comm(Some(Comm::new(name.as_bytes())))]);
        let svg = svg(&[By::Comm], &[row(key, 5)]);
        let frames = frames(&svg);
        assert_eq!(frames.len(), 2, "{name}: {frames:?}");
        assert!(!svg.contains(['\u{1}', '\u{1b}', '\u{ffff}']), "{name}");
        // The graph's own script, and the end of the title within the command.
        assert_eq!(svg.matches("<script").count(), 1, "{name}");
        assert!(svg.contains("make &lt;/title&gt;&lt;b&gt;\\x1b on host, 6.18.0"), "{svg}");
    }
}

#[test]
fn without_waits_it_says_so_and_a_closed_pipe_is_told_as_such() {
    assert!(svg(&[By::Type], &[]).contains("no waits"));
    let rows = [row(key([Part::Type(WaitKind::Mutex)]), 5)];
    for rows in [&rows[..], &[]] {
        let error = with_report(&[By::Type], rows, &[], |summary| {
            write(&RUN, summary, wait_total(), &mut ClosedPipe).unwrap_err()
        });
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    }
}
