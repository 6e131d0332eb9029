//! libFuzzer's program for the target `network`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| nestcast_fuzz::network(data));
