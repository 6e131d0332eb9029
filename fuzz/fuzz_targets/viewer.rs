//! libFuzzer's program for the target `viewer`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| nestcast_fuzz::viewer(data));
