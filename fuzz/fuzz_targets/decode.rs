//! libFuzzer's program for the target `decode`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| nestcast_fuzz::decode(data));
