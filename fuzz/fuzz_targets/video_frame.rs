//! libFuzzer's program for the target `video_frame`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| nestcast_fuzz::video_frame(data));
