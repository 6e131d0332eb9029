//! What `gst-inspect-1.0` prints.

use gst::glib;
use gst::prelude::*;

use crate::harness::init;

const ELEMENTS: [&str; 4] = ["nestcastenc", "nestcastdec", "nestcastsink", "nestcastsrc"];

/// Returns the properties of the element itself, without those of GStreamer's classes.
fn own_properties(element: &gst::Element) -> Vec<glib::ParamSpec> {
    let own = element.type_();
    element.list_properties().iter().filter(|property| property.owner_type() == own).cloned().collect()
}

#[test]
fn every_element_is_there_and_describes_itself() {
    init();
    for name in ELEMENTS {
        let factory = gst::ElementFactory::find(name).unwrap_or_else(|| panic!("no element {name}"));
        assert!(factory.metadata("long-name").is_some_and(|text| text.starts_with("nestcast")), "{name}");
        assert!(factory.metadata("description").is_some_and(|text| text.len() > 20), "{name}");
        assert_eq!(factory.plugin().map(|plugin| plugin.plugin_name()).as_deref(), Some("nestcast"));
    }
}

#[test]
fn numbers_state_their_unit() {
    const UNITS: [&str; 5] =
        ["bits per second", "milliseconds", "The number of", "The most receivers", "The most renditions"];
    init();
    for name in ELEMENTS {
        let element = gst::ElementFactory::make(name).build().expect("an element");
        for property in own_properties(&element) {
            let blurb = property.blurb().unwrap_or_default().to_string();
            assert!(!blurb.is_empty(), "{name}: {} has no description", property.name());
            let is_number = property.value_type() != glib::Type::STRING && property.value_type() != glib::Type::BOOL;
            let has_unit = UNITS.iter().any(|unit| blurb.contains(unit));
            assert!(!is_number || has_unit, "{name}: {} is a number without a unit: {blurb}", property.name());
        }
    }
}

#[test]
fn defaults_are_those_that_the_elements_have() {
    init();
    for name in ELEMENTS {
        let element = gst::ElementFactory::make(name).build().expect("an element");
        for property in own_properties(&element) {
            let stated = property.default_value();
            let value = element.property_value(property.name());
            let text = |value: &glib::Value| format!("{value:?}");
            // A string that is empty is the same as none.
            let is_same = text(stated) == text(&value) || value.get::<String>().is_ok_and(|text| text.is_empty());
            assert!(is_same, "{name}: {} states {stated:?} and has {value:?}", property.name());
        }
    }
}
