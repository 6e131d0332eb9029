//! Small networks from pictures of 32x32 pixels to binary codes and back.

use crate::{FLOAT_TYPE, Message, constant, model, node, port};

/// Samples of a picture, and pixels of a side of its cells.
const PICTURE_SAMPLES: u64 = 3 * 32 * 32;
const CELL_PIXELS: u64 = 8;

/// Makes an encoder in which each bit says whether some cells of the picture are brighter than others; `seed` chooses
/// them.
#[must_use]
pub fn encoder(bits: u64, seed: u64) -> Vec<u8> {
    let weight = |row: u64, bit: u64| {
        let cell = row % 1024 / 32 / CELL_PIXELS * 4 + row % 32 / CELL_PIXELS;
        let mixed = (1 + cell + bit * 16 + seed * 65_536).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        f32::from((mixed >> 40).to_le_bytes()[0]) / 127.5 - 1.0
    };
    let rows = (0..PICTURE_SAMPLES).flat_map(|row| (0..bits).map(move |bit| weight(row, bit)));
    layer(("picture", &[1, 3, 32, 32]), ("code", &[1, bits]), rows)
}

/// Makes a decoder in which every sample is the sum of the bits' signs, divided by the number of bits.
#[must_use]
pub fn decoder(bits: u64) -> Vec<u8> {
    let count = u16::try_from(bits).map_or(f32::INFINITY, f32::from);
    let rows = (0..bits * PICTURE_SAMPLES).map(|_| 1.0 / count);
    layer(("code", &[1, bits]), ("picture", &[1, 3, 32, 32]), rows)
}

/// Makes one matrix, by rows, between two flattened values.
fn layer(input: (&str, &[u64]), output: (&str, &[u64]), weights: impl Iterator<Item = f32>) -> Vec<u8> {
    let [rows, columns] = [input.1, output.1].map(|shape| shape.iter().product::<u64>());
    let shape = |lengths: &[u64]| lengths.iter().flat_map(|length| length.to_le_bytes()).collect::<Vec<_>>();
    let constants = [
        constant("flat", 7, &[2], &shape(&[1, rows])),
        constant("weights", FLOAT_TYPE, &[rows, columns], &weights.flat_map(f32::to_le_bytes).collect::<Vec<_>>()),
        constant("bias", FLOAT_TYPE, &[columns], &(0..columns).flat_map(|_| [0; 4]).collect::<Vec<_>>()),
        constant("shape", 7, &[output.1.len() as u64], &shape(output.1)),
    ];
    let nodes = [
        node("lay", "", "Reshape", &[input.0, "flat"], &["row"]),
        node("weigh", "", "Gemm", &["row", "weights", "bias"], &["sums"]),
        node("stand", "", "Reshape", &["sums", "shape"], &[output.0]),
    ];
    let graph = nodes.iter().fold(Message::new().bytes(2, "g"), |graph, node| graph.put(1, node.clone()));
    let graph = constants.iter().fold(graph, |graph, constant| graph.put(5, constant.clone()));
    let lengths = |shape: &[u64]| shape.iter().map(|&length| Some(length)).collect::<Vec<_>>();
    model(graph.put(11, port(input.0, &lengths(input.1))).put(12, port(output.0, &lengths(output.1)))).0
}
