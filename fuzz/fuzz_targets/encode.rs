//! libFuzzer's program for the target `encode`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| nestcast_fuzz::encode(data));
