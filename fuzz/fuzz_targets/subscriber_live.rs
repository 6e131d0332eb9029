//! libFuzzer's program for the target `subscriber_live`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| nestcast_fuzz::subscriber_live(data));
