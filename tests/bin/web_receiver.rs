//! The browser viewer without a browser, in a separate process, with its own memory: `web-receiver ADDRESS` watches until
//! the session ends. It prints a line each with how it ended, how many pictures it showed, and the most memory that it
//! ever used, in kB.

use nestcast_tests::web_receiver::watch;

/// The program's allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[tokio::main]
async fn main() {
    let address = std::env::args().nth(1).and_then(|text| text.parse().ok()).expect("an address");
    let (words, pictures) = watch(address).await;
    println!("{words}\n{pictures}\n{}", nestcast_tests::peak_memory());
}
