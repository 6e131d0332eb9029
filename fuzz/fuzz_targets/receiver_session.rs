//! libFuzzer's program for the target `receiver_session`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| nestcast_fuzz::receiver_session(data));
