//! A receiver's messages: what each changes, and which ones end the session.

use std::time::Duration;

use super::package::PackageStream;
use super::{Phase, SenderSession};
use crate::session::sender::output::{SenderEnd, SenderOutput};
use crate::wire::close::Code;
use crate::wire::message::{Hello, Message, ModelRequest};

impl SenderSession {
    /// Handles the messages that arrived.
    pub(super) fn take_messages(&mut self, now: Duration) {
        while matches!(self.phase, Phase::Hello | Phase::Live | Phase::Ending(_)) {
            match self.control.poll() {
                Ok(Some(message)) => self.handle_message(now, message),
                Ok(None) => return,
                Err(close) => self.end(SenderEnd::Refused(close)),
            }
        }
    }

    fn handle_message(&mut self, now: Duration, message: Message) {
        match message {
            Message::Hello(hello) if self.phase == Phase::Hello => self.handle_hello(hello),
            _ if self.phase == Phase::Hello => self.violation("the first message is no hello"),
            Message::ModelRequest(request) => self.handle_model_request(&request),
            Message::RandomAccessRequest(request) if self.offer.welcome.video.is_some() => {
                self.publisher.handle_random_access_request(now, request);
            }
            Message::SoundRequest(request) if self.offer.sound.is_some() => {
                self.wants_sound = request.wanted;
                if !request.wanted {
                    self.publisher.handle_sound_unwanted();
                }
            }
            _ => self.violation("a receiver may only ask for the model, for sound, or a join of video"),
        }
    }

    fn handle_hello(&mut self, hello: Hello) {
        (self.max_bitrate, self.asks_start) = (hello.max_bitrate, hello.start.is_some());
        self.phase = Phase::Admission(hello.versions);
        self.outputs.push_back(SenderOutput::Hello(hello));
    }

    /// Answers a receiver's one model request.
    fn handle_model_request(&mut self, request: &ModelRequest) {
        if std::mem::replace(&mut self.was_asked, true) {
            return self.violation("the model was asked for before");
        }
        let package = self.offer.package.clone().filter(|_| request.package == self.offer.welcome.package);
        match package {
            Some(package) => self.package = Some(PackageStream::new(request.package, package, self.max_bitrate)),
            None => self.refuse(Code::Model, "this sender does not hand out that model"),
        }
    }
}
