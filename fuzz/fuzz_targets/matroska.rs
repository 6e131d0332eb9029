//! libFuzzer's program for the target `matroska`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| nestcast_fuzz::matroska(data));
