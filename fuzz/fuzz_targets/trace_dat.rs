#![no_main]

#[path = "../../tests/fuzzing/mod.rs"]
mod fuzzing;

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzzing::target("trace_dat")(input));
