//! libFuzzer's program for the target `reference`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| nestcast_fuzz::reference(data));
