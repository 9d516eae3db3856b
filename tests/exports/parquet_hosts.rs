//! The Parquet files of several hosts, read together by DuckDB: its totals are those of their reports.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

/// For each file: its name, then of the waits for the kernel's locks that got them, how many and how long.
const QUERY: &str = "\
import duckdb, json, sys
rows = duckdb.sql(f'''
    select parse_filename(filename, true), count(*)::bigint, sum(wait_ns)::bigint
    from read_parquet('{sys.argv[1]}/*.parquet', filename = true)
    where \"table\" = 'locks' and ret >= 0 and not uncertain group by 1 order by 1
''').fetchall()
print(json.dumps(rows))
";

fn ftlock(arguments: &[&str], file: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ftlock"));
    let run = command.args(["report", "--quiet"]).args(arguments).arg(file).output().unwrap();
    assert_eq!(run.status.code(), Some(0), "{}", String::from_utf8_lossy(&run.stderr));
    run
}

/// A recording as a file that `report` reads.
fn unpacked(recording: &str, folder: &Path) -> PathBuf {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(recording);
    let bytes = std::fs::read(&from).unwrap();
    let mut whole = Vec::new();
    match recording.ends_with(".zst") {
        true => {
            let mut unpacking = ruzstd::decoding::StreamingDecoder::new(&bytes[..]).unwrap();
            std::io::Read::read_to_end(&mut unpacking, &mut whole).unwrap();
        }
        false => whole = bytes,
    }
    let path = folder.join(from.file_stem().unwrap());
    std::fs::write(&path, whole).unwrap();
    path
}

#[test]
fn duckdb_sums_the_files_of_three_hosts_to_what_their_reports_say() {
    let has_duckdb = Command::new("python3").args(["-c", "import duckdb"]).output();
    if !has_duckdb.is_ok_and(|python| python.status.success()) {
        println!("skipped: python3 has no module duckdb (pip install duckdb)");
        return;
    }
    let (files, waits) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let recordings =
        ["trace_dat/rec.v6.dat.zst", "perf_data/side.data.zst", "perf_data/pipe.data.zst"];
    let mut expected = Vec::new();
    for (recording, host) in recordings.into_iter().zip(["host-a", "host-b", "host-c"]) {
        let file = unpacked(recording, files.path());
        let parquet = waits.path().join(host).with_extension("parquet");
        ftlock(&["--format", "parquet", "--output", parquet.to_str().unwrap()], &file);
        let report: Value =
            serde_json::from_slice(&ftlock(&["--format", "json"], &file).stdout).unwrap();
        let totals = &report["totals"];
        let (count, wait_ns) = (&totals["contended"], &totals["wait_total"]);
        assert!(count.as_u64().unwrap() > 0, "{recording}: {totals}");
        expected.push(serde_json::json!([host, count, wait_ns]));
    }
    let asked = Command::new("python3").args(["-c", QUERY]).arg(waits.path()).output().unwrap();
    assert!(asked.status.success(), "{}", String::from_utf8_lossy(&asked.stderr));
    assert_eq!(serde_json::from_slice::<Value>(&asked.stdout).unwrap(), Value::from(expected));
}
