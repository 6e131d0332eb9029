//! Streams of pictures and of video: what the specification says of their bytes.

mod bundled;
mod chunking;
mod hostile;
mod look;
mod low_end;
mod order;
mod prefix;
mod round_trip;
mod threads;
mod vectors;
mod video;
