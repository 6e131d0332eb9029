//! PNG files chunk by chunk, including files that no encoder would write.

/// Kinds of colour in a header.
pub(crate) const GREY: u8 = 0;
pub(crate) const RGB: u8 = 2;
pub(crate) const PALETTE: u8 = 3;
pub(crate) const RGBA: u8 = 6;

/// Makes a PNG with these chunks between its header and its end.
pub(crate) fn file(size: (u32, u32), depth: u8, colour: u8, chunks: &[(&[u8; 4], Vec<u8>)]) -> Vec<u8> {
    let mut bytes = b"\x89PNG\r\n\x1a\n".to_vec();
    let mut header = [size.0.to_be_bytes(), size.1.to_be_bytes()].concat();
    header.extend([depth, colour, 0, 0, 0]);
    chunk(&mut bytes, b"IHDR", &header);
    for (kind, data) in chunks {
        chunk(&mut bytes, kind, data);
    }
    chunk(&mut bytes, b"IEND", &[]);
    bytes
}

/// Packs rows of bytes as a PNG's image data: no filter, not compressed.
pub(crate) fn pixels(samples: &[u8], row: usize) -> Vec<u8> {
    let raw: Vec<u8> = samples.chunks(row).flat_map(|row| [&[0], row].concat()).collect();
    let mut data = vec![0x78, 0x01];
    let last = raw.chunks(0xFFFF).count() - 1;
    for (index, block) in raw.chunks(0xFFFF).enumerate() {
        let length = u16::try_from(block.len()).expect("a block's length");
        data.push(u8::from(index == last));
        data.extend(length.to_le_bytes());
        data.extend((!length).to_le_bytes());
        data.extend(block);
    }
    let (mut a, mut b) = (1u32, 0u32);
    for &byte in &raw {
        a = (a + u32::from(byte)) % 65_521;
        b = (b + a) % 65_521;
    }
    data.extend((b << 16 | a).to_be_bytes());
    data
}

/// Makes an ordinary 8-bit RGB picture.
pub(crate) fn rgb(width: u32, height: u32) -> Vec<u8> {
    of_samples(width, height, &super::samples(width, height))
}

/// Makes an 8-bit RGB picture of these samples.
pub(crate) fn of_samples(width: u32, height: u32, samples: &[u8]) -> Vec<u8> {
    file((width, height), 8, RGB, &[(b"IDAT", pixels(samples, width as usize * 3))])
}

/// Makes a picture of noise, weak on the left and strong on the right.
pub(crate) fn noise() -> Vec<u8> {
    let mut state = 1_u32;
    let samples: Vec<u8> = (0..128 * 64 * 3)
        .map(|at| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (100 + (state >> if at % 384 < 192 { 30 } else { 26 })).to_le_bytes()[0]
        })
        .collect();
    of_samples(128, 64, &samples)
}

fn chunk(bytes: &mut Vec<u8>, kind: &[u8; 4], data: &[u8]) {
    bytes.extend(u32::try_from(data.len()).expect("a length").to_be_bytes());
    let start = bytes.len();
    bytes.extend(kind);
    bytes.extend(data);
    let sum = crc(&bytes[start..]);
    bytes.extend(sum.to_be_bytes());
}

fn crc(bytes: &[u8]) -> u32 {
    let step = |sum: u32, _| if sum & 1 == 1 { 0xEDB8_8320 ^ (sum >> 1) } else { sum >> 1 };
    !bytes.iter().fold(u32::MAX, |sum, &byte| (0..8).fold(sum ^ u32::from(byte), step))
}
