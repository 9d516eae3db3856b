//! Kernels whose pages are made up: of each word size and byte order, and one with another record head.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use ftlock::event::decode::Decoder;
use ftlock::tracefs::{Abi, Endian, EventFormat, SubbufLayout};

/// A kernel of `tests/data/kernels`.
pub(crate) struct Kernel {
    pub(crate) header_page: String,
    pub(crate) layout: SubbufLayout,
    pub(crate) abi: Abi,
    /// The format files of the events that are understood: a trace is to be small.
    pub(crate) formats: Vec<String>,
    pub(crate) decoder: Decoder,
}

/// Inputs name them by their places: new ones go to the end.
pub(crate) const NAMES: [&str; 5] =
    ["amd64-6.12", "amd64-6.1-rt", "armhf-6.1", "s390x-6.1", "amd64-6.18-live"];

/// How such format files begin.
const UNDERSTOOD: [&str; 12] = [
    "name: contention_",
    "name: kernel_stack\n",
    "name: print\n",
    "name: sched_process_exec\n",
    "name: sched_process_exit\n",
    "name: sched_process_fork\n",
    "name: sched_switch\n",
    "name: sched_waking\n",
    "name: sys_enter_futex",
    "name: sys_exit_futex",
    "name: task_newtask\n",
    "name: task_rename\n",
];

/// The kernel that a byte chooses.
pub(crate) fn chosen_by(byte: u8) -> &'static Kernel {
    static KERNELS: OnceLock<Vec<Kernel>> = OnceLock::new();
    let kernels = KERNELS.get_or_init(|| NAMES.into_iter().map(Kernel::read).collect());
    &kernels[usize::from(byte) % kernels.len()]
}

/// The project's folder, seen from its own tests and from `fuzz/`.
pub(crate) fn project() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let is_project = |folder: &&Path| folder.join("tests/data/kernels").is_dir();
    here.ancestors().find(is_project).expect("the recordings of tests/data").to_owned()
}

impl Kernel {
    fn read(name: &str) -> Kernel {
        let folder = project().join("tests/data/kernels").join(name).join("_kernel");
        let text = |file: &str| fs::read_to_string(folder.join(file)).unwrap();
        let header_page = text("header_page.txt");
        let layout = SubbufLayout::parse(&header_page).unwrap();
        let is_big = text("info.txt").contains("endian=big");
        let abi = Abi::new(if is_big { Endian::Big } else { Endian::Little }, &layout);
        let mut paths = below(&folder.join("format"));
        paths.sort();
        let formats: Vec<_> = paths.iter().map(|path| fs::read_to_string(path).unwrap()).collect();
        let parsed = formats.iter().map(|text| EventFormat::parse(text).unwrap());
        let decoder = Decoder::new(abi, parsed).unwrap();
        let is_understood = |text: &String| UNDERSTOOD.iter().any(|name| text.starts_with(name));
        let formats = formats.into_iter().filter(is_understood).collect();
        Kernel { header_page, layout, abi, formats, decoder }
    }
}

fn below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { below(&path) } else { vec![path] }).collect()
}
