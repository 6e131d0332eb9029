//! What a build may lack: options and commands of features, and how to install a program with them.

/// The features to install with, and their options and commands. What is no option and no command is a receiver's URL.
const OPTIONAL: [(&str, &str); 2] = [
    (
        "full",
        "--admit --admit-token-file --audience --keys --metrics --perceptual --plot --qlog demo index key search token top",
    ),
    ("full,moq", "--relay --relay-ca --relay-fingerprint --relay-rates --relay-token-file relays"),
];

/// Says how to install a program with an option or a command that this build lacks; `None` if no build has it.
pub(crate) fn how_to_install(given: &str) -> Option<String> {
    let (features, _) = OPTIONAL.iter().find(|(_, names)| names.split(' ').any(|name| name == given))?;
    let command = format!("cargo install --locked --path cli --features {features}");
    Some(format!("this nestcast was built without {given}: install one that has it with `{command}`"))
}
