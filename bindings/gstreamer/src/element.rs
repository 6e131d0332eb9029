//! The parts that all elements have alike.

use gst::prelude::*;

/// Describes an element to applications: a name, a class in GStreamer's words, and a sentence.
pub(crate) fn metadata([name, class, sentence]: [&str; 3]) -> gst::subclass::ElementMetadata {
    gst::subclass::ElementMetadata::new(name, class, sentence, "The nestcast authors")
}

/// Returns the templates of pads that are always there, by their caps.
pub(crate) fn pads(caps: &[(gst::PadDirection, gst::Caps)]) -> Vec<gst::PadTemplate> {
    let template = |(direction, caps): &(gst::PadDirection, gst::Caps)| {
        let name = if *direction == gst::PadDirection::Sink { "sink" } else { "src" };
        gst::PadTemplate::new(name, *direction, gst::PadPresence::Always, caps).ok()
    };
    caps.iter().filter_map(template).collect()
}

/// Returns the template of the pad `audio`, which a pipeline asks for.
pub(crate) fn audio_pad(direction: gst::PadDirection, caps: &gst::Caps) -> Option<gst::PadTemplate> {
    gst::PadTemplate::new("audio", direction, gst::PadPresence::Request, caps).ok()
}

/// Returns the category of an element's log.
pub(crate) fn category(element: &str, content: &str) -> gst::DebugCategory {
    gst::DebugCategory::new(element, gst::DebugColorFlags::empty(), Some(content))
}

/// Returns the number that a property states, which its minimum and maximum limit.
pub(crate) fn count(given: u32) -> usize {
    usize::try_from(given).unwrap_or(usize::MAX)
}

/// Posts why an element cannot use a format, and returns it.
pub(crate) fn refuse_format(
    element: &impl IsA<gst::Element>,
    category: gst::DebugCategory,
    why: &dyn std::fmt::Display,
) -> gst::LoggableError {
    gst::element_error!(element, gst::StreamError::Format, ["{why}"]);
    gst::loggable_error!(category, "{why}")
}

/// Implements the parts that all elements have alike, for an element with a locked `state` and locked `settings`: the
/// log `DEBUG_CATEGORY`, the description, the pads, and the values of properties. `methods` are other methods of
/// `ElementImpl`.
macro_rules! element {
    (
        $element:ty,
        $state:ty,
        log: $log:expr,
        description: $description:expr,
        pads: [$($direction:ident: $caps:expr),+]
        $(, asked: $asked:expr, methods: { $($method:tt)* })?
    ) => {
        static DEBUG_CATEGORY: std::sync::LazyLock<gst::DebugCategory> = std::sync::LazyLock::new(|| {
            let [element, content] = $log;
            $crate::element::category(element, content)
        });

        impl GstObjectImpl for $element {}

        impl ElementImpl for $element {
            fn metadata() -> Option<&'static gst::subclass::ElementMetadata> {
                static ELEMENT_METADATA: std::sync::LazyLock<gst::subclass::ElementMetadata> =
                    std::sync::LazyLock::new(|| $crate::element::metadata($description));
                Some(&ELEMENT_METADATA)
            }

            fn pad_templates() -> &'static [gst::PadTemplate] {
                static PAD_TEMPLATES: std::sync::LazyLock<Vec<gst::PadTemplate>> = std::sync::LazyLock::new(|| {
                    let always = $crate::element::pads(&[$((gst::PadDirection::$direction, $caps)),+]);
                    always.into_iter()$(.chain($asked))?.collect()
                });
                &PAD_TEMPLATES
            }

            $($($method)*)?
        }

        impl $element {
            fn state(&self) -> std::sync::MutexGuard<'_, $state> {
                self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
            }

            /// Returns the values of the properties.
            fn given(&self) -> std::sync::MutexGuard<'_, Settings> {
                self.settings.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
            }
        }
    };
}
pub(crate) use element;
