//! libFuzzer's program for the target `tables`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| nestcast_fuzz::tables(data));
