use super::super::samples::{ClosedPipe, LOCK, RUN, row, with_report, witness, written};
use super::{SCRIPT, SCRIPT_HASH, write};
use crate::event::{Comm, StackId, Tid, WaitKind};
use crate::output::table::Detail;
use crate::report::{By, Part, Profile, Row, RowKey, Series, Table};
use std::collections::BTreeSet;
use std::io::{self, Write as _};
use std::process::{Command, Stdio};

const MUTEX: Series = Series { idle: false, kind: WaitKind::Mutex };

fn profile() -> Profile {
    let mut profile = Profile::default();
    for (series, stack, begin_ns, end_ns) in [
        (MUTEX, Some(StackId(0)), 12_000_000_000, 12_000_003_000),
        (MUTEX, None, 12_000_001_000, 12_000_002_000),
        (Series { idle: true, ..MUTEX }, None, 12_000_000_000, 12_500_000_000),
    ] {
        profile.timeline.add(series, begin_ns, end_ns);
        profile.add(series, stack, end_ns - begin_ns);
    }
    profile
}

fn page(by: &[By], rows: &[Row], profile: &Profile) -> String {
    with_report(by, rows, &[], |summary| {
        written(|out| write(&RUN, summary, profile, Detail::Notable, out))
    })
}

/// The page between its own style and script.
fn body(page: &str) -> &str {
    let body = page.split_once("</style>").unwrap().1;
    body.rsplit_once("<script>").unwrap().0
}

fn task(name: &[u8]) -> RowKey {
    let comm = Some(Comm::new(name));
    RowKey::of(Table::Locks, [Part::Task { tid: Tid(7), incarnation: 0, comm }])
}

/// Whatever tasks and commands are called, the page consists of the same elements.
#[test]
fn names_become_no_elements_and_no_attributes() {
    let names: [&[u8]; 6] =
        [b"plain", b"<script>x", b"\"><img src=x", b"' onload='x", b"</td></table>", b"<!--&lt;"];
    let rows: Vec<Row> = names
        .iter()
        .map(|name| {
            let mut row = row(task(name), 5);
            row.stats.witness = Some(witness());
            row.stats.witness.as_mut().unwrap().comm = Some(Comm::new(name));
            row
        })
        .collect();
    let page = page(&[By::Task], &rows, &profile());
    let elements = |text: &str| -> BTreeSet<String> {
        let tags = text.split('<').skip(1).map(|tag| tag.split(['>', ' ', '/']).next().unwrap());
        tags.filter(|tag| !tag.is_empty()).map(str::to_owned).collect()
    };
    let ours = [
        "body",
        "dd",
        "details",
        "div",
        "dl",
        "dt",
        "figcaption",
        "figure",
        "g",
        "h1",
        "h2",
        "head",
        "header",
        "i",
        "li",
        "main",
        "ol",
        "p",
        "path",
        "pre",
        "rect",
        "section",
        "span",
        "summary",
        "svg",
        "table",
        "tbody",
        "td",
        "text",
        "th",
        "thead",
        "title",
        "tr",
    ];
    let ours: BTreeSet<String> = ours.map(str::to_owned).into();
    let found = elements(body(&page));
    assert!(found.is_subset(&ours), "{:?}", found.difference(&ours));
    assert_eq!(page.matches("<script").count(), 1);
    assert_eq!(page.matches("<tr>").count(), names.len() + 1);
    assert!(!body(&page).contains("onload='") && !page.contains('\u{1b}'));
    assert!(page.contains("<h1>make &lt;/title&gt;&lt;b&gt;\\x1b</h1>"), "{page}");
    assert!(page.contains("<title>make &lt;/title&gt;&lt;b&gt;\\x1b - ftlock</title>"));
}

/// Each cell under its heading, in words and for the script as a number.
#[test]
fn tables_are_complete_without_the_script() {
    let lock = |lock| RowKey::of(Table::Locks, [Part::Lock(lock, WaitKind::Mutex)]);
    let rows = [
        row(lock(LOCK), 1_500_000),
        row(lock(0x9000), 500_000),
        row(RowKey::Overflow(Table::Locks, Some(WaitKind::Mutex)), 2_000_000),
    ];
    let page = page(&[By::Lock], &rows, &Profile::default());
    let table = page.split_once("<tbody>").unwrap().1.split_once("</tbody>").unwrap().0;
    let cells = |row: &str| -> Vec<String> {
        let cells = row.split("</td>").filter_map(|cell| cell.split_once("<td")?.1.split_once('>'));
        cells.map(|(_, text)| text.split('<').next().unwrap().to_owned()).collect()
    };
    let found: Vec<Vec<String>> = table.trim().lines().map(cells).collect();
    let expected = [
        ["ffff888133445566", "~pipe_mutex", "mutex", "2", "1.50 ms", "0 ns", "", ""],
        ["0000000000009000", "tasklist_lock", "mutex", "2", "500.00 us", "0 ns", "", ""],
        ["-", "-", "(overflow) mutex", "2", "2.00 ms", "0 ns", "", ""],
    ];
    assert_eq!(found, expected);
    assert_eq!(page.matches("<th scope").count(), expected[0].len());
    assert!(
        page.contains(
            "data-value=\"1500000\">1.50 ms<span class=\"part\"><i style=\"width:37.50%\">"
        )
    );
    assert!(page.contains(" 6 waits in 1.00 s on 0 CPUs"), "no footer");
    // Nobody waited in the profile: no pictures of it.
    assert!(!page.contains("id=\"timeline\"") && !page.contains("id=\"flame\""));
}

/// Idle waits are in neither: they keep nobody from going on.
#[test]
fn the_pictures_show_what_the_profile_has() {
    let page = page(&[By::Type], &[], &profile());
    let flame = page.split_once("class=\"flame\"").unwrap().1;
    let frames =
        flame.split("<title>").skip(1).map(|frame| frame.split_once("</title>").unwrap().0);
    let frames: Vec<&str> = frames.collect();
    let expected = [
        "all waits&#10;4.00 us, 100.000 %",
        "mutex&#10;4.00 us, 100.000 %",
        "-&#10;1.00 us, 25.000 %",
        "0x77&#10;3.00 us, 75.000 %",
        "nfs_lookup [nfs]&#10;3.00 us, 75.000 %",
        "anon_pipe_write&#10;3.00 us, 75.000 %",
    ];
    assert_eq!(frames, expected.map(|frame| frame.replace(".000 %", ".00 %")));
    let timeline =
        page.split_once("id=\"timeline\"").unwrap().1.split_once("</section>").unwrap().0;
    assert!(timeline.contains("class=\"k0\"") && !timeline.contains("idle"), "{timeline}");
}

#[test]
fn a_page_is_bounded() {
    let rows: Vec<Row> = (0..5000_u32)
        .map(|n| row(RowKey::of(Table::Locks, [Part::Lock(n.into(), WaitKind::Mutex)]), 5))
        .collect();
    let page = page(&[By::Lock], &rows, &Profile::default());
    assert_eq!(page.matches("<tr>").count(), 2001);
    assert!(page.contains("3,000 more rows are not shown"));
}

/// As coreutils computes it: with another one no browser runs the script.
#[test]
fn the_policy_allows_the_script() {
    let sum = Command::new("sha256sum").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let Ok(mut sum) = sum else { panic!("no sha256sum") };
    sum.stdin.take().unwrap().write_all(SCRIPT.as_bytes()).unwrap();
    let text = String::from_utf8(sum.wait_with_output().unwrap().stdout).unwrap();
    let digits: Vec<u32> = text.chars().take(64).map(|digit| digit.to_digit(16).unwrap()).collect();
    let bits: Vec<u32> =
        digits.iter().flat_map(|digit| [3, 2, 1, 0].map(|bit| digit >> bit & 1)).collect();
    let letters: Vec<char> =
        ('A'..='Z').chain('a'..='z').chain('0'..='9').chain(['+', '/']).collect();
    let letter = |bits: &[u32]| {
        let value = (0..6).fold(0, |value, bit| value << 1 | bits.get(bit).copied().unwrap_or(0));
        letters[value as usize]
    };
    let base64: String = bits.chunks(6).map(letter).chain(['=']).collect();
    assert_eq!(base64, SCRIPT_HASH);
    assert!(!SCRIPT.contains("</"), "it would end the element");
}

#[test]
fn a_closed_pipe_is_told_as_such() {
    let error = with_report(&[By::Type], &[], &[], |summary| {
        write(&RUN, summary, &profile(), Detail::Rows, &mut ClosedPipe).unwrap_err()
    });
    assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
}
