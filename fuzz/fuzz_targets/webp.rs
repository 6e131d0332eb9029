//! libFuzzer's program for the target `webp`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| nestcast_fuzz::webp(data));
