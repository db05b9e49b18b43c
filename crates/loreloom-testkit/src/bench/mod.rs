//! Benchmarks: each prints its figures as ratios to a peer or to the limit, in one run.

mod activation;
mod cache;
mod figure;
mod formats;
mod inputs;
mod proxy;
mod recall;
mod replay;
mod store;
mod vault;

pub use self::{
    figure::{Figure, Printer},
    proxy::beside::Part,
};

/// The names of all benchmarks.
pub const NAMES: [&str; 10] = [
    "activation",
    "burst",
    "cache",
    "formats",
    "proxy",
    "recall",
    "replay",
    "start",
    "store",
    "vault",
];

/// Measures one part of the proxy.
pub fn run_part(part: &str, print: &mut dyn FnMut(Figure)) -> Result<(), String> {
    proxy::run(Some(part), print)
}

/// Plays a part in the benchmark of the proxy, for as long as the process runs.
pub fn play(part: Part) -> Result<(), String> {
    proxy::beside::play(part)
}

/// Sends so many requests through the proxy and prints its memory at intervals.
pub fn run_growth(requests: u64, print: &mut dyn FnMut(Figure)) -> Result<(), String> {
    proxy::run_growth(requests, print)
}

/// Measures the proxy beside `LiteLLM`'s, which is this program.
pub fn run_peers(litellm: &std::path::Path, print: &mut dyn FnMut(Figure)) -> Result<(), String> {
    proxy::run_peers(litellm, print)
}

/// Runs a benchmark and hands each figure to `print` as soon as it is there.
pub fn run(name: &str, print: &mut dyn FnMut(Figure)) -> Result<(), String> {
    match name {
        "activation" => activation::run(print),
        "burst" => proxy::run_burst(print),
        "cache" => cache::run(print),
        "formats" => formats::run(print),
        "proxy" => proxy::run(None, print),
        "recall" => recall::run(print),
        "replay" => replay::run(print),
        "start" => proxy::run_start(print),
        "store" => store::run(print),
        "vault" => vault::run(print),
        other => Err(format!("there is no benchmark `{other}`; they are: {}", NAMES.join(", "))),
    }
}
