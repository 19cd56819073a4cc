//! Fuzz targets for everything that reads text from elsewhere. `tests/corpus` has the samples and says what must hold
//! for each text.
//!
//! A target takes parts of two samples and edits them. A text that has found an error is added to the samples.
//!
//! `CONTRIBUTING.md` has the commands, for ten seconds and for a night.

mod durations;
mod samples;

use bolero::{check, produce};
use corpus::{hints, replies, settings, sqlstates, tokens};
use samples::{bytes, texts};

#[test]
fn durations() {
    check!()
        .with_generator(texts(corpus::durations::SAMPLES))
        .for_each(|text: &String| corpus::durations::check(text));
}

#[test]
fn a_hint() {
    check!()
        .with_generator(bytes(hints::SAMPLES))
        .for_each(|value: &Vec<u8>| hints::check_text(value));
}

#[test]
fn headers() {
    let headers = [(); 3].map(|()| (produce::<u8>(), bytes(hints::SAMPLES)));
    check!()
        .with_generator(headers)
        .for_each(|given: &[(u8, Vec<u8>); 3]| hints::check_headers(given));
}

#[test]
fn replies() {
    let reply = (
        100..=999_u16,
        bytes(replies::SAMPLES),
        produce::<u8>(),
        bytes(replies::SAMPLES),
    );
    check!().with_generator(reply).for_each(
        |(status, body, name, value): &(u16, Vec<u8>, u8, Vec<u8>)| {
            replies::check(*status, body, *name, value)
        },
    );
}

#[test]
fn settings() {
    check!()
        .with_generator(texts(settings::SAMPLES))
        .for_each(|text: &String| settings::check(text));
}

#[test]
fn sqlstates() {
    check!()
        .with_generator(texts(sqlstates::SAMPLES))
        .for_each(|code: &String| sqlstates::check(code));
}

#[test]
fn the_attribute() {
    check!()
        .with_generator((texts(tokens::ARGUMENTS), texts(tokens::FUNCTIONS)))
        .for_each(|(arguments, function): &(String, String)| {
            tokens::check_attribute(arguments, function)
        });
}

#[test]
fn the_block() {
    check!()
        .with_generator((texts(tokens::ARGUMENTS), texts(tokens::FUNCTIONS)))
        .for_each(|(arguments, body): &(String, String)| tokens::check_block(arguments, body));
}

#[test]
fn the_derive() {
    check!()
        .with_generator(texts(tokens::FAULTS))
        .for_each(|item: &String| tokens::check_derive(item));
}
