//! Prints the public items of a crate from rustdoc's JSON, a line each; with `--removed FOLDER`, the names that an
//! older copy of the repository in this folder has and today's folder lacks. `.ci/api` calls both.

use api::{names, removed};
use std::{env, error::Error, path::Path};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1).peekable();
    if arguments.next_if_eq("--removed").is_some() {
        for folder in arguments {
            let (old, new) = (names(Path::new(&folder))?, names(Path::new("."))?);
            for name in removed(&old, &new) {
                println!("{name}");
            }
        }
        return Ok(());
    }
    for json in arguments {
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
