//! Writes what the fuzzer starts from: `cargo run --example fuzz_seeds -- FOLDER` makes `FOLDER/TARGET/` of
//! the recordings in `tests/data`, and of those beside the project where they are, which are never committed.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    missing_docs,
    reason = "it may stop at whatever is not as it should be"
)]

#[path = "../tests/recordings/fixtures.rs"]
#[allow(dead_code, reason = "tests ask more of it")]
mod fixtures;
#[path = "../tests/fuzzing/mod.rs"]
mod fuzzing;

use std::fs;
use std::path::{Path, PathBuf};

use fuzzing::{files, kernels};

/// A larger seed costs more than it shows.
const MOST_BYTES: usize = 200 << 10;

/// Pages of one ring that become seeds.
const PAGES: usize = 3;

/// What ftlock says in a file of its own.
const SAID: &str = r#"{"record":"run","schema":1,"ftlock":"0.1.0","kernel":"6.18","host":"h","clock":"mono","cpus":[0,1],"own_tid":9,"is_nested":false,"command":["sh","-c","x"],"whose":"command","only_cpus":null,"stacks":true,"mmap_lock":true,"extras":{"split":true,"holders":true,"holder_stacks":true,"futexes":true,"sleeps":true},"flags":[],"cgroups":{"id":0,"is_nested":false},"cmdlines":true}
{"record":"task","at_ns":100,"tid":1,"tgid":1,"comm":"init","start_time":13,"kernel_thread":false}
{"record":"start","at_ns":200,"date_ns":1796052050585808984}
{"record":"cgroup","at_ns":300,"behind":false,"tid":1,"tgid":1,"text":"/a"}
{"record":"cmdline","at_ns":300,"behind":true,"tid":1,"tgid":1,"text":"sh -c \\xff"}
{"record":"gap","cpu":1,"at_ns":400,"read_up_to_ns":350}
{"record":"window","up_to_ns":500}
{"record":"task","at_ns":600,"tid":2,"tgid":1,"comm":"b","start_time":14,"kernel_thread":true}
{"record":"forgot"}
{"record":"end","at_ns":900,"duration_ns":700,"own_cpu_ns":5,"is_all_saved":true,"disturbances":["x"]}
"#;

struct Seeds(PathBuf);

impl Seeds {
    fn add(&self, target: &str, name: &str, bytes: &[u8]) {
        let folder = self.0.join(target);
        fs::create_dir_all(&folder).unwrap();
        if bytes.len() <= MOST_BYTES {
            fs::write(folder.join(name), bytes).unwrap();
        }
    }

    /// Pages of every recording, alone and within a trace.
    fn pages(&self) {
        for (number, name) in (0_u8..).zip(kernels::NAMES) {
            let kernel = kernels::chosen_by(number);
            let page_bytes = kernel.layout.size_bytes();
            let folder = kernels::project().join("tests/data/kernels").join(name);
            for scenario in fixtures::entries(&folder) {
                let ring = |cpu: u8| fixtures::read_any(&scenario.join(format!("cpu{cpu}.raw")));
                let (Some(first), Some(second)) = (ring(0), ring(1)) else { continue };
                let is_usual = |ring: &Vec<u8>| ring.len().is_multiple_of(page_bytes);
                if !is_usual(&first) || fixtures::name(&scenario).contains("subbuf") {
                    continue;
                }
                let name = format!("{name}-{}", fixtures::name(&scenario));
                for (place, page) in first.chunks(page_bytes).take(PAGES).enumerate() {
                    let page = [&[number, 0], page].concat();
                    self.add("page", &format!("{name}-{place}"), &page);
                }
                let [first, second] =
                    [&first, &second].map(|ring| &ring[..page_bytes.min(ring.len())]);
                let view = u8::try_from(name.len() % 10).unwrap();
                let head = [&[view, number], SAID.as_bytes(), &[0]].concat();
                self.add("saved_run", &name, &[&head, first, second].concat());
                let trace = files::trace(kernel, SAID.as_bytes(), &[first, second]);
                self.add("trace_dat", &name, &[&[view][..], &trace].concat());
            }
        }
    }

    /// Every event's format, alone and those that are understood together.
    fn formats(&self) {
        for (number, name) in (0_u8..).zip(kernels::NAMES) {
            let kernel = kernels::chosen_by(number);
            let records = b"\0\x20aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\x08bbbbbbbb";
            let all = kernel.formats.join("\n%\n");
            self.add("format", name, &[all.as_bytes(), records].concat());
            self.add("format", &format!("{name}-page"), kernel.header_page.as_bytes());
            for (place, format) in kernel.formats.iter().enumerate() {
                let format = [format.as_bytes(), records].concat();
                self.add("format", &format!("{name}-{place}"), &format);
            }
        }
    }

    /// Files as they are, and some as they stand beside the project.
    fn trace_files(&self) {
        let own = kernels::project().join("tests/data/trace_dat");
        let names = ["rec.v6.dat", "rec.v7z.dat"];
        let own = names.map(|name| (name.to_owned(), fixtures::read(&own.join(name))));
        let demo = ("demo".to_owned(), fs::read(files::demo()).unwrap());
        let beside = fixtures::shared("traces").into_iter().flat_map(|path| fixtures::files(&path));
        let beside = beside.filter(|path| path.extension().is_some_and(|end| end == "dat"));
        let beside = beside.map(|path| (fixtures::name(&path).to_owned(), fs::read(path).unwrap()));
        for (view, (name, bytes)) in (0_u8..).zip(own.into_iter().chain([demo]).chain(beside)) {
            self.add("trace_dat", &name, &[&[view % 10][..], &bytes].concat());
        }
    }

    fn reports(&self) {
        for by in ["caller", "stack", "lock", "task,type", "comm,cpu", "process"] {
            let report = self.0.join("report.json");
            let path = report.to_str().unwrap();
            let words = ["ftlock", "report", "-q", "--format=json", "-E", "12", "--by", by];
            let words = words.into_iter().chain(["--output", path]).map(str::to_owned);
            assert_eq!(ftlock::cli::run_words(words.chain([files::demo()])), 0);
            let bytes = fs::read(&report).unwrap();
            self.add("diff", &by.replace(',', "-"), &[&[2][..], &bytes].concat());
            fs::remove_file(report).unwrap();
        }
        let demo = fs::read(files::demo()).unwrap();
        self.add("diff", "demo", &[&[0][..], &demo].concat());
    }

    fn texts(&self) {
        let lines = fs::read("/proc/kallsyms").unwrap();
        self.add("kallsyms", "kernel", &lines[..lines.len().min(4096)]);
        let module =
            b"ffffffffc0000000 t f\t[m]\n0000000000015c40 A pcpu_x\nffffffff81000000 D d\n";
        self.add("kallsyms", "module", module);
        let names: [&[u8]; 8] = [
            b"f) S 1 (h",
            b"x\ny",
            b"\x1b[2J",
            b"<b>&\"'",
            b"kworker/R-a-b",
            b"a\xff\\xff",
            b"_ZN3foo3barE",
            b"_RNvCs1234_5basic3foo",
        ];
        for (place, name) in names.iter().enumerate() {
            self.add("proc", &place.to_string(), name);
        }
        self.add("elf", "true", &fs::read("/bin/true").unwrap());
        let values =
            ["0^x", "1a.*", "2\\+0x", "3spinlock,mutex", "40xffff", "5pipe", "6/a", "7task"];
        let values: Vec<Vec<u8>> = (0_u8..)
            .zip(values)
            .map(|(number, value)| [&[number], &value.as_bytes()[1..]].concat())
            .collect();
        self.add("args", "filters", &values.join(&0));
        let rows = ["\x0810us", "\x09task,lock", "\x0acontended", "\x0bwait_max", "\x0c3", "\x0d4"];
        self.add("args", "rows", rows.join("\0").as_bytes());
        let whose =
            ["\x0f;", "\x10csv", "\x110-1", "\x12 1", "\x131", "\x14x", "\x15json", "\x16never"];
        self.add("args", "whose", whose.join("\0").as_bytes());
    }
}

fn main() {
    let folder = std::env::args_os().nth(1).expect("a folder");
    let seeds = Seeds(Path::new(&folder).to_owned());
    fs::create_dir_all(&seeds.0).unwrap();
    seeds.pages();
    seeds.formats();
    seeds.trace_files();
    seeds.reports();
    seeds.texts();
}
