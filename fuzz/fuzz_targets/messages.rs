//! libFuzzer's program for the target `messages`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| nestcast_fuzz::messages(data));
