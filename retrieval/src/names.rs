//! Names, each after its length, and the places of every 16th. A name costs one byte and a quarter in addition to its
//! own.

/// Names from one whose place is kept to the next.
pub(crate) const NAMES_PER_GROUP: usize = 16;
/// Bytes of a place.
pub(crate) const PLACE_BYTES: usize = 4;

/// Bits of a length in one of its bytes; the highest bit says that another follows.
const DIGIT_BITS: usize = 7;
const CONTINUATION_BIT: u8 = 1 << DIGIT_BITS;

/// The names of all entries.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Names<'a> {
    places: &'a [[u8; PLACE_BYTES]],
    bytes: &'a [u8],
}

impl<'a> Names<'a> {
    /// `places`: where every 16th name begins in `bytes`, which hold all of them, each after its length.
    pub(crate) fn new(places: &'a [u8], bytes: &'a [u8]) -> Self {
        Self { places: places.as_chunks().0, bytes }
    }

    /// Whether these are `count` names, every place is right and no byte is left.
    pub(crate) fn are(&self, count: usize) -> bool {
        let mut rest = self.bytes;
        for number in 0..count {
            let begins = self.bytes.len() - rest.len();
            if number % NAMES_PER_GROUP == 0 && self.place(number / NAMES_PER_GROUP) != Some(begins) {
                return false;
            }
            match first(rest) {
                Some((_, after)) => rest = after,
                None => return false,
            }
        }
        rest.is_empty() && self.places.len() == count.div_ceil(NAMES_PER_GROUP)
    }

    /// The name of an entry.
    pub(crate) fn at(&self, position: usize) -> &'a [u8] {
        self.from(position).next().unwrap_or_default()
    }

    /// The names from that of an entry on.
    pub(crate) fn from(&self, position: usize) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let place = self.place(position / NAMES_PER_GROUP).unwrap_or(self.bytes.len());
        let mut rest = self.bytes.get(place..).unwrap_or_default();
        let names = std::iter::from_fn(move || {
            let (name, after) = first(rest)?;
            rest = after;
            Some(name)
        });
        names.skip(position % NAMES_PER_GROUP)
    }

    fn place(&self, group: usize) -> Option<usize> {
        self.places.get(group).map(|place| u32::from_le_bytes(*place) as usize)
    }
}

/// Bytes that a name takes with its length.
pub(crate) const fn size(name: &[u8]) -> u64 {
    let bits = (usize::BITS - name.len().leading_zeros()) as usize;
    let digits = if bits == 0 { 1 } else { bits.div_ceil(DIGIT_BITS) };
    (digits + name.len()) as u64
}

/// The bytes of a name's length, one by one.
pub(crate) fn length(name: &[u8]) -> impl Iterator<Item = u8> {
    let mut rest = Some(name.len());
    std::iter::from_fn(move || {
        let value = rest?;
        rest = Some(value >> DIGIT_BITS).filter(|&value| value > 0);
        let digit = value.to_le_bytes()[0] & !CONTINUATION_BIT;
        Some(if rest.is_some() { digit | CONTINUATION_BIT } else { digit })
    })
}

/// The first name, and the bytes after it; none if the bytes end too early, or a length has more bytes than it needs.
fn first(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut length = 0_u32;
    let mut rest = bytes;
    for shift in (0..u32::BITS).step_by(DIGIT_BITS) {
        let (&byte, after) = rest.split_first()?;
        rest = after;
        let digit = u32::from(byte & !CONTINUATION_BIT);
        if digit << shift >> shift != digit || (byte == 0 && shift > 0) {
            return None;
        }
        length |= digit << shift;
        if byte < CONTINUATION_BIT {
            return rest.split_at_checked(length as usize);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(name: &[u8]) -> Vec<u8> {
        length(name).chain(name.iter().copied()).collect()
    }

    #[test]
    fn a_name_of_any_length_is_read_as_it_was_written() {
        for size_of_name in [0, 1, 127, 128, 129, 16_383, 16_384, 2_097_151, 2_097_152] {
            let name = vec![7; size_of_name];
            let bytes = [&record(&name)[..], &[5]].concat();
            assert_eq!(bytes.len() as u64 - 1, size(&name));
            assert!(first(&bytes) == Some((&name, &[5])), "{size_of_name}");
            assert_eq!(first(&bytes[..bytes.len() - 2]), None, "{size_of_name}");
        }
    }

    #[test]
    fn a_length_that_is_longer_than_it_needs_to_be_or_than_32_bits_is_none() {
        assert_eq!(first(&[0x81, 0x00, 9, 9]), None);
        assert_eq!(first(&[0x80, 0x80, 0x80, 0x80, 0x10]), None);
        assert_eq!(first(&[0x80, 0x80, 0x80, 0x80, 0x80, 0x01]), None);
        assert_eq!(first(&[0xff, 0xff]), None);
        assert_eq!(first(&[]), None);
    }

    #[test]
    fn names_are_found_by_their_number_and_told_from_others() {
        let names: Vec<Vec<u8>> = (0..50_u8).map(|number| vec![number; usize::from(number) * 5]).collect();
        let mut places = Vec::new();
        let mut bytes = Vec::new();
        for (number, name) in names.iter().enumerate() {
            if number % NAMES_PER_GROUP == 0 {
                places.extend_from_slice(&u32::try_from(bytes.len()).expect("few").to_le_bytes());
            }
            bytes.extend(record(name));
        }
        let all = Names::new(&places, &bytes);
        assert!(all.are(50) && !all.are(49) && !all.are(51));
        for (number, name) in names.iter().enumerate() {
            assert_eq!(all.at(number), name);
            assert!(all.from(number).eq(&names[number..]));
        }
        let mut moved = places.clone();
        moved[4] += 1;
        assert!(!Names::new(&moved, &bytes).are(50));
        assert!(!Names::new(&places, &bytes[1..]).are(50));
    }
}
