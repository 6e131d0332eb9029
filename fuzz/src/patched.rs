//! Bytes that a fuzzer changes in places.

/// Returns bytes with parts replaced. Each part is a position, the number of bytes to remove, the number to insert, and
/// these.
pub(crate) fn patched(original: &[u8], mut patches: &[u8]) -> Vec<u8> {
    let mut bytes = original.to_vec();
    while let Some((&[low, high, out, count], after)) = patches.split_first_chunk::<4>() {
        let (new, after) = after.split_at(usize::from(count % 32).min(after.len()));
        patches = after;
        let at = usize::from(u16::from_le_bytes([low, high])) % (bytes.len() + 1);
        let end = (at + usize::from(out)).min(bytes.len());
        bytes.splice(at..end, new.iter().copied());
    }
    bytes
}
