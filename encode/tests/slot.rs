//! A slot for one picture between two threads.

use std::thread;
use std::time::Duration;

use nestcast_codec::{Format, FrameRate, Picture, Size};
use nestcast_encode::{Offered, PictureFormat, PictureSlot, Pictures};
use nestcast_proto::PictureStream as _;

fn size() -> Size {
    Size::new(1, 1).expect("a size")
}

fn open() -> (PictureSlot, Pictures) {
    PictureSlot::open(PictureFormat::new(size(), Format::Grey, FrameRate::new(30, 1).expect("a rate")))
}

/// Returns a picture of one sample.
fn picture(sample: u8) -> Picture {
    Picture::new(size(), Format::Grey, vec![sample]).expect("a picture")
}

fn taken(pictures: &mut Pictures) -> Option<u8> {
    pictures.next(None).expect("no fault").map(|next| next.picture.samples()[0])
}

#[test]
fn an_encoder_that_is_slower_gets_every_offered_picture() {
    let (slot, mut pictures) = open();
    let encoder = thread::spawn(move || std::iter::from_fn(|| taken(&mut pictures)).collect::<Vec<_>>());
    for sample in 0..100 {
        assert_eq!(slot.offer(picture(sample), Duration::MAX), Offered::Accepted);
    }
    slot.close();
    assert_eq!(encoder.join().expect("pictures"), (0..100).collect::<Vec<_>>());
    assert_eq!(slot.offer(picture(0), Duration::MAX), Offered::Ended);
}

#[test]
fn the_newest_picture_replaces_one_that_waits_and_its_memory_is_used_again() {
    let (slot, mut pictures) = open();
    assert_eq!((slot.replace(picture(1)), slot.spent()), (Offered::Accepted, None));
    assert_eq!((slot.replace(picture(2)), slot.spent()), (Offered::Replaced, Some(picture(1))));
    assert_eq!(taken(&mut pictures), Some(2));
    slot.close();
    assert!(pictures.next(Some(picture(2))).expect("no fault").is_none());
    assert_eq!(slot.spent(), Some(picture(2)));
}

#[test]
fn a_picture_is_given_back_after_the_wait_and_when_it_is_interrupted() {
    let (slot, mut pictures) = open();
    let refused = |sample| Offered::Refused(picture(sample).into());
    assert_eq!(slot.offer(picture(1), Duration::ZERO), Offered::Accepted);
    assert_eq!(slot.offer(picture(2), Duration::from_millis(1)), refused(2));
    let waiting = thread::spawn({
        let slot = slot.clone();
        move || slot.offer(picture(3), Duration::MAX)
    });
    slot.set_interrupted(true);
    assert_eq!(waiting.join().expect("an answer"), refused(3));
    assert_eq!(slot.replace(picture(4)), refused(4));
    slot.set_interrupted(false);
    slot.clear();
    assert_eq!(slot.offer(picture(5), Duration::ZERO), Offered::Accepted);
    assert_eq!(taken(&mut pictures), Some(5));
}

#[test]
fn the_end_of_a_broadcast_ends_both_waits() {
    let (slot, mut pictures) = open();
    let encoder = thread::spawn(move || taken(&mut pictures));
    slot.end();
    assert_eq!(encoder.join().expect("no panic"), None);
    let (slot, _pictures) = open();
    assert_eq!(slot.offer(picture(1), Duration::MAX), Offered::Accepted);
    let waiting = thread::spawn({
        let slot = slot.clone();
        move || slot.offer(picture(2), Duration::MAX)
    });
    slot.end();
    assert_eq!(waiting.join().expect("an answer"), Offered::Ended);
}

#[test]
fn either_side_that_is_dropped_ends_the_wait_of_the_other() {
    let (slot, pictures) = open();
    assert_eq!(slot.offer(picture(1), Duration::MAX), Offered::Accepted);
    let waiting = thread::spawn(move || slot.offer(picture(2), Duration::MAX));
    drop(pictures);
    assert_eq!(waiting.join().expect("an answer"), Offered::Ended);
    let (slot, mut pictures) = open();
    let other = slot.clone();
    drop(slot);
    assert_eq!(other.offer(picture(1), Duration::MAX), Offered::Accepted);
    drop(other);
    assert_eq!([taken(&mut pictures), taken(&mut pictures)], [Some(1), None]);
}
