//! libFuzzer's program for the target `sender_session`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| nestcast_fuzz::sender_session(data));
