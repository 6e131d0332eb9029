//! Adds advice to errors: a library says what is wrong, and the program knows the option that helps.

use std::error::Error as StdError;
use std::io::{self, ErrorKind};

use clap::CommandFactory as _;
use clap::error::{ContextKind, ContextValue};
use nestcast_codec::{Error as CodecError, Quantity};
use nestcast_encode::PictureError;
use nestcast_media::{Kind, Refusal, output, picture, stored, stream, y4m};
use nestcast_proto::{Code, ReceiverEnd};

use crate::args::{Arguments, how_to_install};

/// Formats an error in one line, with advice at its end.
pub(crate) fn told(error: &anyhow::Error) -> String {
    let advice = error.chain().find_map(of).unwrap_or_default();
    let line = format!("{error:#}{advice}");
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the advice for a library's error, which continues its message.
fn of(error: &(dyn StdError + 'static)) -> Option<&'static str> {
    type Advice = fn(&(dyn StdError + 'static)) -> Option<&'static str>;
    const LIBRARY_ADVICE: &[Advice] = &[
        |error| of_refusal(error.downcast_ref()?),
        |error| of_codec(error.downcast_ref()?),
        |error| of_y4m(error.downcast_ref()?),
        |error| of_output(error.downcast_ref()?),
        |error| of_receiver(error.downcast_ref()?),
        |error| of_sender(error.downcast_ref()?),
        |error| match error.downcast_ref()? {
            PictureError::Video { error, .. } => of_y4m(error),
            PictureError::StoredVideo { error, .. } => of_stored(error),
            _ => None,
        },
        |error| of_system(error.downcast_ref()?),
        #[cfg(feature = "retrieval")]
        |error| of_index(error.downcast_ref()?),
    ];
    LIBRARY_ADVICE.iter().find_map(|advice| advice(error))
}

fn of_refusal(refusal: &Refusal) -> Option<&'static str> {
    match refusal {
        Refusal::Picture(error) => of_picture(error),
        Refusal::Stream(error) => of_stream(error),
        Refusal::Y4m(error) => of_y4m(error),
        Refusal::StoredVideo(error) => of_stored(error),
        _ => None,
    }
}

fn of_stored(error: &stored::Error) -> Option<&'static str> {
    Some(match error {
        stored::Error::Limit { .. } => ": if you trust the video, raise --max-pixels",
        stored::Error::Models { .. } => ": use the nestcast that encoded it",
        stored::Error::Empty | stored::Error::Codec(CodecError::Corrupt { .. }) => ": get the video again",
        _ => return None,
    })
}

fn of_picture(error: &picture::Error) -> Option<&'static str> {
    Some(match error {
        picture::Error::Empty => ": get the file again",
        picture::Error::Format => ", video with `ffmpeg -i IN -pix_fmt yuv420p OUT.y4m`",
        picture::Error::Pixels { .. } => ": scale it down or raise --max-pixels",
        picture::Error::Length { .. } => ": raise --max-pixels",
        picture::Error::Kind(Kind::StoredVideo) => ": `nestcast decode` makes y4m or pictures of it",
        picture::Error::Kind(Kind::Y4m) => ": give this video alone, to a command that reads video",
        picture::Error::Kind(Kind::Matroska) => ": `ffmpeg -i IN -pix_fmt yuv420p OUT.y4m` makes y4m of it",
        picture::Error::Kind(Kind::Stream) => ": `nestcast decode` makes a PNG of it",
        _ => return None,
    })
}

fn of_stream(error: &stream::Error) -> Option<&'static str> {
    Some(match error {
        stream::Error::Empty => ": get the file again",
        stream::Error::Header(_) => ": get more of the stream",
        stream::Error::Kind(_) => ": `nestcast encode` makes one of it",
        stream::Error::Length { .. } => ": get it again",
        stream::Error::Codec(error) => return of_codec(error),
        _ => return None,
    })
}

fn of_y4m(error: &y4m::Error) -> Option<&'static str> {
    Some(match error {
        y4m::Error::Corrupt(_) => ": `ffmpeg -i IN -pix_fmt yuv420p OUT.y4m` makes one of another video",
        y4m::Error::Limit { .. } => ": scale them down or raise --max-pixels",
        y4m::Error::NoFrame { there: 0 } => ": get the video again",
        y4m::Error::NoFrame { .. } => ": choose others with --frames",
        _ => return None,
    })
}

fn of_codec(error: &CodecError) -> Option<&'static str> {
    Some(match error {
        CodecError::Model { .. } => ": name the folder of the model it needs with --model",
        CodecError::Limit { what: Quantity::Pixels | Quantity::WeighedPixels | Quantity::FramePixels, .. } => {
            ": if you trust it, raise --max-pixels"
        }
        CodecError::Limit { what: Quantity::Side, .. } => ": get it again, or a smaller picture",
        CodecError::Limit { .. } => ": get it again",
        CodecError::Corrupt { .. } => ": get the stream again",
        _ => return None,
    })
}

fn of_system(error: &io::Error) -> Option<&'static str> {
    Some(match error.kind() {
        ErrorKind::NotFound => ": check its name",
        ErrorKind::NotADirectory => ": name a folder",
        ErrorKind::AlreadyExists => ": remove it, or name another folder",
        ErrorKind::PermissionDenied => ": ask its owner, or name another",
        ErrorKind::StorageFull => ": free some space",
        _ => return None,
    })
}

fn of_output(error: &output::Error) -> Option<&'static str> {
    Some(match error {
        output::Error::Terminal => ": name a file with -o",
        output::Error::FileName { .. } => ", or one that ends in .y4m",
        output::Error::Exists(_) => ": name another",
        output::Error::Closed => ": name a file with -o, or redirect it",
        output::Error::Io { source, .. } if source.kind() == ErrorKind::NotADirectory => ": write elsewhere",
        _ => return None,
    })
}

fn of_receiver(error: &nestcast_receiver::Error) -> Option<&'static str> {
    use nestcast_receiver::Error;
    Some(match error {
        Error::GaveUp { last, .. } => return of_receiver(last),
        Error::Untrusted { .. } => ": check --fingerprint or --ca",
        Error::Session(ReceiverEnd::PackageMissing(_)) => {
            ": name its folder with --model, or leave --no-fetch-model out"
        }
        Error::Closed(Code::Violation | Code::Version) | Error::Session(ReceiverEnd::Violation(_)) => {
            ": update nestcast at the older end"
        }
        Error::Closed(Code::Token) => ": give the sender's token with --token-file",
        Error::Closed(Code::Key | Code::Expired | Code::Audience | Code::Used) => ": ask the sender for a new one",
        Error::Closed(Code::Denied) => ": ask the sender",
        Error::NameNeeded => ": ask for one, and give it as in HOST:PORT/cam1",
        Error::Closed(Code::NoBroadcast) => ": ask for the name, or leave it out if its broadcast has no name",
        Error::Closed(Code::Model) => ": name the model's folder with --model",
        Error::Closed(Code::Full) => ": try later",
        _ => return None,
    })
}

fn of_sender(error: &nestcast_sender::Error) -> Option<&'static str> {
    use nestcast_sender::Error;
    Some(match error {
        Error::Listen { .. } => ": choose another address with --listen",
        Error::KeyMismatch => ": name with --key the private key of the certificate",
        _ => return None,
    })
}

#[cfg(feature = "retrieval")]
fn of_index(error: &nestcast_retrieval::Error) -> Option<&'static str> {
    use nestcast_retrieval::Error;
    Some(match error {
        Error::NotAnIndex => ": name a file that `nestcast index` wrote",
        Error::Version { version, known } if version > known => ": update nestcast, or index the pictures again",
        Error::CodeVersion { .. } => ": update nestcast",
        Error::CodeHeader => ": get more of it",
        Error::Version { .. } | Error::Truncated { .. } | Error::Corrupt(_) => ": index the pictures again",
        Error::Limit { .. } => ": index fewer pictures at once",
        _ => return None,
    })
}

/// Says which commands have an option that the given one lacks, or how to install a program that has the option or the
/// command, in place of clap's guess. Also leaves out the tip to pass an unknown option as a value, because no value
/// begins with two dashes.
pub(crate) fn of_unknown(mut error: clap::Error) -> clap::Error {
    let context = match error.kind() {
        clap::error::ErrorKind::UnknownArgument => ContextKind::InvalidArg,
        clap::error::ErrorKind::InvalidSubcommand => ContextKind::InvalidSubcommand,
        _ => return error,
    };
    let Some(ContextValue::String(given)) = error.get(context).cloned() else { return error };
    let long = given.strip_prefix("--");
    let has =
        |command: &&clap::Command| long.is_some() && command.get_arguments().any(|option| option.get_long() == long);
    let program = Arguments::command();
    let commands = program.get_subcommands().filter(has).map(|command| format!("`nestcast {}`", command.get_name()));
    let commands: Vec<_> = commands.collect();
    error.remove(ContextKind::Suggested);
    let is_near = |near: &ContextValue| match near {
        ContextValue::String(near) => near.starts_with(&given) || given.starts_with(near.as_str()),
        _ => false,
    };
    let tip = if commands.is_empty() {
        how_to_install(&given)
    } else {
        let is_slip = error.get(ContextKind::SuggestedArg).is_some_and(is_near);
        (!is_slip).then(|| format!("'{given}' is an option of {}", commands.join(", ")))
    };
    if let Some(tip) = tip {
        for guess in [ContextKind::SuggestedArg, ContextKind::SuggestedSubcommand, ContextKind::Usage] {
            error.remove(guess);
        }
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    error
}
