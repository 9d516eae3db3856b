//! Files that we write: read back by us and by trace-cmd, also half-written ones.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use ftlock::trace_file::{Error, Setup, TraceFile, Version, Writer};

use crate::fixtures;
use crate::trace_dat::{check_with_trace_cmd, contents, report};
use crate::trace_dat_recording::Recording;

const VERSIONS: [Version; 2] = [Version::V6, Version::V7];

fn recordings() -> [Recording; 4] {
    [
        Recording::of_live("msg"),
        Recording::of_live("sub16"),
        Recording::of_scenario("amd64-6.12", "subbuf-64k"),
        Recording::of_scenario("amd64-6.12", "overflow-overwrite-64k"),
    ]
}

/// A writer that is dropped has done no more than one that was killed then.
#[test]
fn a_file_is_whole_before_and_after_it_is_finished() {
    let folder = tempfile::tempdir().unwrap();
    for (recording, number) in recordings().iter().zip(0..) {
        for version in VERSIONS {
            let path = folder.path().join(format!("{number}-{version:?}.dat"));
            let mut writer = recording.writer(version, &path);
            let nothing = contents(&TraceFile::open(&path).unwrap());
            assert!(nothing.events.values().all(Vec::is_empty));
            check_with_trace_cmd(&path);
            recording.append_to(&mut writer);
            recording.must_be_in(&path, version);

            let total: usize = recording.raw.iter().map(Vec::len).sum();
            assert_eq!(writer.rings_bytes(), total as u64);
            let names = b"1 init\n77 a name of 16 b\n";
            let finished = writer.finish(names).unwrap();
            assert_eq!((finished.unmoved_rings, finished.names_left_out_bytes), (0, 0));
            let metadata = fs::metadata(&path).unwrap();
            assert_eq!(metadata.len(), finished.size_bytes);
            let texts: usize = recording.setup.texts.formats().map(str::len).sum();
            assert!(metadata.len() < (total + texts + (1 << 20)) as u64, "{}", metadata.len());
            recording.must_be_in(&path, version);
            let file = TraceFile::open(&path).unwrap();
            let names: Vec<_> = file.texts.saved_names().collect();
            assert_eq!(names, [(1, &b"init"[..]), (77, b"a name of 16 b")]);
        }
    }
}

/// Of a file that trace-cmd recorded itself, its text is the same once we have written it anew.
#[test]
fn trace_cmd_prints_the_same_text_of_its_file_and_of_ours() {
    let theirs = fixtures::own().join("trace_dat/rec.v7z.dat");
    let file = TraceFile::open(&theirs).unwrap();
    let buffer = file.buffers.iter().find(|buffer| buffer.name == "ftl_rec").unwrap();
    let folder = tempfile::tempdir().unwrap();
    for version in VERSIONS {
        let path = folder.path().join("ours.dat");
        let setup = Setup {
            version,
            subbuf_size: buffer.page_size_bytes,
            cpus: buffer.cpus.iter().map(|extent| extent.cpu).collect(),
            clock: buffer.clock.clone().unwrap(),
            uname: file.options.uname.clone().unwrap(),
            writer: "ftlock".to_owned(),
            ftlock: Vec::new(),
            texts: file.texts.clone(),
        };
        let mut writer = Writer::create(&path, &setup).unwrap();
        for extent in &buffer.cpus {
            let mut ring = file.cpu_data(buffer, extent);
            while let Some(piece) = ring.next(1 << 16).unwrap() {
                writer.append(extent.cpu, piece).unwrap();
            }
        }
        writer.set_stats(0, "entries: 17\noverrun: 4\n").unwrap();
        writer.finish(&file.texts.saved_cmdlines).unwrap();
        let read = TraceFile::open(&path).unwrap();
        let stats: Vec<_> =
            read.options.cpu_stats.iter().map(|text| text.trim_end().to_owned()).collect();
        assert_eq!(stats, ["CPU: 0\nentries: 17\noverrun: 4", "CPU: 1"]);
        let (Some(of_theirs), Some(of_ours)) = (report(&theirs), report(&path)) else { return };
        assert!(of_theirs.lines().count() > 4484, "{of_theirs}");
        // Theirs has the instance's name before each line, ours is the top level's.
        let stripped: Vec<_> =
            of_theirs.lines().map(|line| line.strip_prefix("ftl_rec: ").unwrap_or(line)).collect();
        let differing = stripped.iter().zip(of_ours.lines()).find(|(one, other)| **one != *other);
        assert_eq!(differing, None);
        assert_eq!(stripped.len(), of_ours.lines().count());
    }
}

/// A small file system of its own, unmounted in the end.
struct Small {
    folder: tempfile::TempDir,
}

impl Small {
    fn mount(size: &str) -> Option<Small> {
        let folder = tempfile::tempdir().unwrap();
        let option = format!("size={size}");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &option, "tmpfs"]).arg(folder.path());
        let mounted = mount.output().is_ok_and(|output| output.status.success());
        if !mounted {
            println!("skipped: no file system can be mounted here");
            return None;
        }
        Some(Small { folder })
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("trace.dat")
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        Command::new("umount").arg(self.folder.path()).status().unwrap();
    }
}

#[test]
fn on_a_full_disk_everything_up_to_there_can_be_read() {
    let recording = Recording::of_live("msg");
    let size = recording.setup.subbuf_size as usize;
    for version in VERSIONS {
        let Some(small) = Small::mount("2m") else { return };
        let mut writer = recording.writer(version, &small.path());
        let mut pieces = recording.raw.iter().zip(0..).cycle();
        let error = loop {
            let (raw, cpu) = pieces.next().unwrap();
            if let Err(error) = writer.append(cpu, &raw[..raw.len().min(7 * size)]) {
                break error;
            }
        };
        let Error::Io { source, .. } = &error else { panic!("{error}") };
        assert_eq!(source.kind(), std::io::ErrorKind::StorageFull);
        assert!(error.hint().unwrap().starts_with("df -h "));
        let bytes = writer.rings_bytes();
        assert!((1 << 20..2 << 20).contains(&bytes), "{bytes}");
        let count = |path: &Path| {
            let file = TraceFile::open(path).unwrap();
            assert!(file.notes.is_empty(), "{:?}", file.notes);
            contents(&file).events.into_values().map(|events| events.len()).sum::<usize>()
        };
        let before = count(&small.path());
        assert!(before > 10_000, "{before}");
        check_with_trace_cmd(&small.path());
        // There is no room for a second copy of the ring that would have to move.
        let finished = writer.finish(b"1 init\n").unwrap();
        assert_eq!(finished.unmoved_rings, 1);
        assert_eq!(count(&small.path()), before);
        check_with_trace_cmd(&small.path());
        assert!(fs::metadata(small.path()).unwrap().blocks() * 512 <= 2 << 20);
    }
}

#[test]
fn cpus_without_a_ring_leave_a_gap_in_the_numbers() {
    let recording = Recording::of_live("msg");
    let folder = tempfile::tempdir().unwrap();
    for (version, cpus) in [(Version::V6, &[0, 1, 2, 3, 4, 5][..]), (Version::V7, &[2, 5])] {
        let path = folder.path().join("gap.dat");
        let setup = Setup { version, cpus: vec![2, 5], ..recording.setup.clone() };
        let mut writer = Writer::create(&path, &setup).unwrap();
        writer.append(2, &recording.raw[0]).unwrap();
        writer.append(5, &recording.raw[1]).unwrap();
        writer.finish(b"").unwrap();
        let file = TraceFile::open(&path).unwrap();
        let numbers: Vec<_> = file.buffers[0].cpus.iter().map(|extent| extent.cpu).collect();
        assert_eq!(numbers, cpus);
        let events = contents(&file).events;
        assert_eq!((events[&2].len(), events[&5].len()), (1699, 798));
        check_with_trace_cmd(&path);
    }
}

#[test]
fn names_that_have_no_room_are_left_out_by_whole_lines() {
    let recording = Recording::of_live("msg");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("names.dat");
    let writer = recording.writer(Version::V6, &path);
    let names: String = (1..40_000).map(|tid| format!("{tid} name\n")).collect();
    let left_out = writer.finish(names.as_bytes()).unwrap().names_left_out_bytes;
    assert!(left_out > 0);
    let file = TraceFile::open(&path).unwrap();
    let mut read = file.texts.saved_names();
    let kept = read.by_ref().zip(1..).map(|((tid, name), expected)| {
        assert_eq!((tid, name), (expected, &b"name"[..]));
        format!("{tid} name\n").len()
    });
    assert_eq!(kept.sum::<usize>() + left_out, names.len());
    assert_eq!(read.unread_lines(), 0);
}

#[test]
fn where_nothing_can_be_written_is_said() {
    let recording = Recording::of_live("msg");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("missing/trace.dat");
    let error = Writer::create(&path, &recording.setup).unwrap_err();
    assert!(error.to_string().starts_with(&format!("cannot create {}: ", path.display())));
    let error = Writer::create(Path::new("/dev/null"), &recording.setup).unwrap_err();
    assert!(error.to_string().starts_with("cannot write /dev/null: "), "{error}");
    let path = folder.path().join("trace.dat");
    let mut writer = recording.writer(Version::V7, &path);
    assert!(matches!(writer.append(2, &[]), Err(Error::NoPlace { cpu: 2, .. })));
}
