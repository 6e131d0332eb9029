//! Picture files that are small but costly to read.

use super::png;

/// Makes a progressive grey JPEG: `blocks` bits of its first scan, then `scans` scans of almost nothing.
pub(crate) fn jpeg((width, height): (u16, u16), blocks: usize, scans: usize) -> Vec<u8> {
    const PROGRESSIVE: u8 = 0xC2;
    let segment = |marker: u8, body: &[u8]| {
        let length = u16::try_from(body.len() + 2).expect("a segment's length").to_be_bytes();
        [&[0xFF, marker], &length[..], body].concat()
    };
    let ([a, b], [c, d]) = (height.to_be_bytes(), width.to_be_bytes());
    let mut bytes = vec![0xFF, 0xD8];
    bytes.extend(segment(0xDB, &[&[0][..], &[1; 64]].concat()));
    bytes.extend(segment(PROGRESSIVE, &[8, a, b, c, d, 1, 1, 0x11, 0]));
    // One code of one bit in each table: a difference of 0; a run of at least 16384 blocks without coefficients.
    for (table, symbol) in [(0x00, 0x00), (0x10, 0xE0)] {
        bytes.extend(segment(0xC4, &[&[table, 1][..], &[0; 15], &[symbol]].concat()));
    }
    bytes.extend(segment(0xDA, &[1, 1, 0, 0, 0, 0]));
    bytes.extend(vec![0; blocks.div_ceil(8)]);
    let blocks = usize::from(width).div_ceil(8) * usize::from(height).div_ceil(8);
    let runs = vec![0; (blocks.div_ceil(1 << 14) * 15).div_ceil(8)];
    for _ in 0..scans {
        bytes.extend(segment(0xDA, &[1, 1, 0, 1, 63, 0]));
        bytes.extend(&runs);
    }
    bytes.extend([0xFF, 0xD9]);
    bytes
}

/// Makes an RGB PNG with a colour profile of about `count` zeros, which need a 160th of that in the file.
pub(crate) fn png_with_profile((width, height): (u32, u32), count: usize) -> Vec<u8> {
    let profile = [b"zeros\0\0", &zeros(count)[..]].concat();
    let data = png::pixels(&super::samples(width, height), width as usize * 3);
    png::file((width, height), 8, png::RGB, &[(b"iCCP", profile), (b"IDAT", data)])
}

/// Packs about `count` zeros as a zlib stream: one literal, then runs of 258, in deflate's fixed codes.
fn zeros(count: usize) -> Vec<u8> {
    const RUN: usize = 258;
    let runs = count / RUN;
    let mut bits: Vec<bool> = Vec::new();
    let mut code = |value: u32, length: u32| bits.extend((0..length).rev().map(|bit| value >> bit & 1 == 1));
    code(0b110, 3); // the last block, and fixed codes: both lowest bit first
    code(0x30, 8);
    for _ in 0..runs {
        code(0b1100_0101, 8); // 258 bytes
        code(0, 5); // as the one before
    }
    code(0, 7); // the end
    let bytes: Vec<u8> =
        bits.chunks(8).map(|byte| byte.iter().rev().fold(0, |byte, &bit| byte << 1 | u8::from(bit))).collect();
    // The checksum of n zeros: n modulo 65521, and 1.
    let checksum = u32::try_from((1 + runs * RUN) % 65_521).expect("a remainder") << 16 | 1;
    [vec![0x78, 0x01], bytes, checksum.to_be_bytes().to_vec()].concat()
}
