//! libFuzzer's program for the target `index`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| nestcast_fuzz::index(data));
