//! libFuzzer's program for the target `relay`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| nestcast_fuzz::relay(data));
