//! libFuzzer's program for the target `y4m`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| nestcast_fuzz::y4m(data));
