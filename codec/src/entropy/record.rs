//! What a range encoder tells of itself while it writes.

/// Notes what a range encoder does; `()` notes nothing.
pub(crate) trait Record: Default + Send {
    /// Notes a symbol: its probability of a one, in 1/32768, and the bit that its caller gave.
    fn note_symbol(&mut self, of_one: u32, bit: bool);

    /// Notes that the range moved by a byte, and where it is now.
    fn note_byte(&mut self, low: u64, range: u32);

    /// Begins again, in the same memory.
    fn clear(&mut self);
}

impl Record for () {
    #[inline(always)]
    fn note_symbol(&mut self, _of_one: u32, _bit: bool) {}

    #[inline(always)]
    fn note_byte(&mut self, _low: u64, _range: u32) {}

    fn clear(&mut self) {}
}
