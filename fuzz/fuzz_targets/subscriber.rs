//! libFuzzer's program for the target `subscriber`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| nestcast_fuzz::subscriber(data));
