//! Prints the public items of a crate from rustdoc's JSON, a line each, for `.ci/api`.

use std::{env, error::Error};

fn main() -> Result<(), Box<dyn Error>> {
    for json in env::args().skip(1) {
        let items = public_api::Builder::from_rustdoc_json(json)
            .omit_blanket_impls(true)
            .omit_auto_trait_impls(true)
            .omit_auto_derived_impls(true)
            .build()?;
        // Names with two underscores are written by macros.
        for item in items
            .to_string()
            .lines()
            .filter(|item| !item.contains("__"))
        {
            println!("{item}");
        }
    }
    Ok(())
}
