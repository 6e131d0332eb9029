//! Receives a live broadcast: whatever prefix of each frame came in time, decoded.
