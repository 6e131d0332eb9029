//! Streams with a valid header, so that inputs reach the decoder after it.

use std::sync::{Arc, LazyLock};

use nestcast_codec::{Linear, Model, ModelId};

/// The tables of the vectors.
pub(crate) const TABLES: &[u8] = include_bytes!("../../spec/vectors/tables.bin");

/// Their model.
pub(crate) static MODEL: LazyLock<Arc<Model>> =
    LazyLock::new(|| Arc::new(Model::from_bytes(TABLES).expect("the tables are valid")));

/// Its linear transform.
pub(crate) static LINEAR: LazyLock<Linear> = LazyLock::new(|| Linear::new(MODEL.clone()));

/// A picture's shape as a stream's header has it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) rgb: bool,
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) planes: u8,
    pub(crate) gains: bool,
    pub(crate) axes: [u8; 4],
    /// The planes below the finest step, and those of opacity, if the stream has more than usual ones.
    pub(crate) more: Option<(u8, Option<[u8; 2]>)>,
}

impl Shape {
    /// Makes the shape that the first eight bytes of an input name: a picture of at most `side` pixels each way.
    pub(crate) fn of(bytes: [u8; 8], side: usize) -> Self {
        let [kind, width, height, planes, axes @ ..] = bytes;
        Self {
            rgb: kind & 1 == 1,
            width: usize::from(width) % side + 1,
            height: usize::from(height) % side + 1,
            planes: planes % 16,
            gains: planes & 16 != 0,
            axes,
            more: (kind & 0x30 != 0).then_some((
                if kind & 0x10 != 0 { planes >> 5 } else { 0 } % 7,
                (kind & 0x20 != 0).then_some([axes[0] % 16, axes[1] % 7]),
            )),
        }
    }

    /// Whether its body has lengths, because there are several payloads.
    pub(crate) const fn has_lengths(self) -> bool {
        matches!(self.more, Some((_, Some(_))))
    }

    pub(crate) const fn pixels(self) -> usize {
        self.width * self.height
    }

    /// Returns the stream of this shape with `body` after its header, and the header's length.
    pub(crate) fn stream(self, model: ModelId, body: &[u8]) -> (Vec<u8>, usize) {
        let mut stream = b"nst".to_vec();
        stream.push(if self.more.is_some() { 2 } else { 1 });
        stream.push(u8::from(self.rgb));
        for side in [self.width - 1, self.height - 1] {
            let [low, high, ..] = (side << 1).to_le_bytes();
            match side {
                0..0x80 => stream.push(low >> 1),
                _ => stream.extend([low >> 1 | 0x80, high]),
            }
        }
        stream.extend(model.0);
        stream.push(self.planes + if self.gains { 16 } else { 0 });
        if self.rgb {
            let [a, b, c, d] = self.axes;
            stream.extend([a, b, c, d & 0x3F]);
        }
        if let Some((fine, alpha)) = self.more {
            // 12 bits a sample.
            stream.push(4 | fine << 4 | if alpha.is_some() { 0x80 } else { 0 });
            stream.extend(alpha.map(|[planes, fine]| planes | fine << 4));
        }
        let header = stream.len();
        stream.extend_from_slice(body);
        (stream, header)
    }
}

/// Returns the lengths of the pieces in which a stream arrives, by an input's byte: all equal, or growing, with empty
/// ones between.
pub(crate) fn chunks(bytes: &[u8], by: u8) -> impl Iterator<Item = &[u8]> {
    let mut rest = bytes;
    let mut next = usize::from(by) + 1;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (chunk, after) = rest.split_at(next.min(rest.len()));
        rest = after;
        if by & 1 == 1 {
            next = (next * 5 + 3) % 61;
        }
        Some(chunk)
    })
}
