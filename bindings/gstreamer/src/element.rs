//! The parts that all elements have alike.

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

/// Returns the category of an element's log.
pub(crate) fn category(element: &str, content: &str) -> gst::DebugCategory {
    gst::DebugCategory::new(element, gst::DebugColorFlags::empty(), Some(content))
}

/// Implements the parts that all elements have alike, for an element with a `state` behind a lock: the log `CATEGORY`,
/// the description, the pads, and how it refuses a format.
macro_rules! element {
    (
        $element:ty,
        $state:ty,
        log: $log:expr,
        description: $description:expr,
        pads: [$($direction:ident: $caps:expr),+]
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
                static PAD_TEMPLATES: std::sync::LazyLock<Vec<gst::PadTemplate>> =
                    std::sync::LazyLock::new(|| $crate::element::pads(&[$((gst::PadDirection::$direction, $caps)),+]));
                &PAD_TEMPLATES
            }
        }

        impl $element {
            fn state(&self) -> std::sync::MutexGuard<'_, $state> {
                self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
            }

            /// Posts why the element cannot use a format, and returns it.
            fn refuse_format(&self, why: &dyn std::fmt::Display) -> gst::LoggableError {
                gst::element_imp_error!(self, gst::StreamError::Format, ["{why}"]);
                gst::loggable_error!(DEBUG_CATEGORY, "{why}")
            }
        }
    };
}
pub(crate) use element;
