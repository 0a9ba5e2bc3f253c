//! Gives each target of `fuzz/` some thousand random inputs. With `make fuzz`, libFuzzer looks for others.

use jp_confine_fuzz::{image, library, moves, resolver};
use proptest::collection::vec;
use proptest::prelude::any;
use proptest::test_runner::{Config, TestRunner};

/// The longest input. What a target makes of it rarely needs more.
const LONGEST: usize = 400;

/// Judges this number of inputs. A failure shows the simplest that was found.
fn judge_all(count: u32, judge: impl Fn(&[u8])) {
    let config =
        Config { failure_persistence: None, max_shrink_time: 5000, ..Config::with_cases(count) };
    let outcome = TestRunner::new(config).run(&vec(any::<u8>(), 0..=LONGEST), |input| {
        judge(&input);
        Ok(())
    });
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
}

#[test]
fn images_are_read_and_judged() {
    judge_all(5000, image::judge);
}

#[test]
fn moves_give_no_rights() {
    judge_all(1000, moves::judge);
}

/// One test, because both targets change the working directory of the process.
#[test]
fn paths_lead_where_the_kernel_goes() {
    judge_all(4000, resolver::judge);
    let product = env!("CARGO_BIN_EXE_jp-confine").as_ref();
    judge_all(2000, |input| library::judge(product, input));
}
