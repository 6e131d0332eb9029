//! libFuzzer's program for the target `video_file`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| nestcast_fuzz::video_file(data));
