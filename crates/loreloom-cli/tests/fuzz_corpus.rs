//! The corpora of the fuzzer, replayed through its own checks on the stable toolchain.

use std::{fs, path::Path};

#[path = "../../../fuzz/src/lib.rs"]
#[expect(unreachable_pub, reason = "a library of its own, read here as a module")]
mod checks;

#[test]
fn what_the_fuzzer_found_worth_keeping_still_holds() {
    let corpora = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    for (target, _) in checks::TARGETS {
        let mut files = 0;
        for file in fs::read_dir(corpora.join(target)).unwrap() {
            let path = file.unwrap().path();
            #[expect(clippy::disallowed_methods, reason = "a test reads its own fixtures")]
            let bytes = fs::read(&path).unwrap();
            // A fault in a check names no file: the last line printed does.
            println!("{}", path.display());
            checks::run(target, &bytes);
            files += 1;
        }
        assert!(files > 0, "the corpus of `{target}` is empty");
    }
}
