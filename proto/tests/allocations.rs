//! Sender and receiver reuse their buffers: no frame causes a new allocation.

use std::ops::Range;
use std::time::Duration;

use bytes::Bytes;
use nestcast_proto::{Frame, MAX_FRAME, PathStats, Publisher, Step, StreamHead, Subscriber};

const INTERVAL: Duration = Duration::from_millis(33);

/// Passes frames from a sender's state machine to a receiver's, each written in a few parts.
fn pass(ids: Range<u64>, bytes: &Bytes, publisher: &mut Publisher, subscriber: &mut Subscriber) {
    for id in ids {
        let now = INTERVAL * u32::try_from(id).expect("few");
        let frame = Frame { id, skipped: 0, captured: 0, since: id, base: 400, bytes: bytes.clone(), join: None };
        publisher.handle_frame(now, &frame, &PathStats::default());
        let mut begun = false;
        while let Some(step) = publisher.poll() {
            match step {
                Step::Open { .. } => begun = false,
                Step::Write => {
                    let [head, body] = publisher.unwritten();
                    let taken = head.len() + body.len().min(3000);
                    if !std::mem::replace(&mut begun, true) {
                        let parsed = StreamHead::parse(&head).expect("a sound head").expect("a whole head");
                        let StreamHead::Frame(header) = parsed.0 else { panic!("a frame's stream") };
                        subscriber.handle_head(now, header).expect("a new frame");
                    }
                    let body = &body[..taken - head.len()];
                    subscriber.handle_bytes(now, id, body).expect("within its length");
                    publisher.handle_written(now, taken, &PathStats::default());
                }
                Step::Finish => subscriber.handle_end(id),
                Step::BaseRetransmission { .. } => panic!("no fall"),
            }
        }
        let arrived = subscriber.poll(now).expect("it is whole");
        assert_eq!(arrived.prefix.len(), bytes.len());
    }
}

#[test]
fn frames_take_no_memory_anew_after_the_first_ones() {
    let (mut publisher, mut subscriber) = (Publisher::new(INTERVAL, None), Subscriber::new(INTERVAL, MAX_FRAME));
    let bytes = Bytes::from(vec![7; 20_000]);
    pass(0..50, &bytes, &mut publisher, &mut subscriber);
    let taken = allocation_counter::measure(|| pass(50..1050, &bytes, &mut publisher, &mut subscriber));
    assert_eq!(taken.count_total, 0, "allocations for 1000 frames: {taken:?}");
}
