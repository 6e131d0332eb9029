//! libFuzzer's program for the target `segments`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| nestcast_fuzz::segments(data));
