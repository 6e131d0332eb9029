//! libFuzzer's program for the target `header`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| nestcast_fuzz::header(data));
