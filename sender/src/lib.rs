//! Sends a live broadcast: every frame encoded once, cut to each receiver's bandwidth, over QUIC.
