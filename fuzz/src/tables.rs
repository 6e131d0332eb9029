//! A model's tables.

use std::sync::Arc;

use nestcast_codec::{Decoder, Linear, Model};
use nestcast_reference::Tables;

use crate::header::fault;
use crate::stream::{Shape, TABLES};

/// Checks that tables with any changed numbers are refused exactly if the reference decoder refuses them. With other
/// tables any stream decodes, to a picture of its size.
///
/// The input: the number of changes, each a position and four bytes, then the picture's shape, then the stream's body.
pub fn tables(data: &[u8]) {
    let Some((&count, mut rest)) = data.split_first() else { return };
    let mut changed = TABLES.to_vec();
    for _ in 0..count % 16 {
        let Some((&[low, high, value @ ..], after)) = rest.split_first_chunk::<6>() else { return };
        rest = after;
        let at = usize::from(u16::from_le_bytes([low, high])) % (TABLES.len() - 3);
        // From this count on, the position is the length of the tables: longer or shorter than their version fixes.
        if count >= 240 {
            changed.resize(at, 0);
            break;
        }
        changed[at..at + 4].copy_from_slice(&value);
    }
    let model = Model::from_bytes(&changed);
    assert_eq!(model.as_ref().map(|_| ()).map_err(|error| fault(*error)), Tables::read(&changed).map(|_| ()));
    let (Ok(model), Some((&shape, body))) = (model, rest.split_first_chunk::<8>()) else { return };
    let shape = Shape::of(shape, 24);
    let stream = shape.stream(model.id(), body).0;
    let mut decoder = Decoder::new(Linear::new(Arc::new(model)));
    decoder.push(&stream).expect("a valid header, and one slice");
    let picture = decoder.render().expect("a whole header");
    assert_eq!((picture.size().width(), picture.size().height()), (shape.width, shape.height));
}
