//! Writes a module for each Rust snippet of README.md and of the guide: the lines that a reader sees, without
//! rustdoc's hidden lines. Statements outside of a function go into an `async fn main`. A snippet that uses the
//! emulator has a test, which runs it.

use std::{env, fs, path::Path};

/// Definitions for names that a snippet does not define. A line with the comment says what the name stands for.
const PLACEHOLDERS: &[(&str, &str)] = &[
    (
        "// what tonic's build wrote",
        "use tonic::client::Grpc as GreeterClient;",
    ),
    (
        "// `block_on` of smol, async-std, pollster or futures.",
        "fn block_on<F: Future>(_: F) -> F::Output { unimplemented!() }",
    ),
];

/// Crates that no package has. The pages have a hidden module for each, and these lines are not left out.
const CRATES: &[&str] = &["# mod async_openai {", "# mod resend {", "# mod sea_orm {"];

/// Files with code for crates that this package does not have. tests/databases, runtimes and no_std compile them, and
/// `examples` the files that are links to its cookbook.
const ELSEWHERE: &[&str] = &["embassy.rs", "smol.rs", "tokio_postgres.rs"];

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The fence of a snippet that uses the emulator, which the published crate does not have. It runs here.
const WITH_EMULATOR: &str = "rust,ignore";

/// Runs a snippet.
const TEST: &str = "#[tokio::test] async fn runs() { main().await.unwrap(); }";

/// The text of a page, with the number of each line: a file of Markdown, or the `//!` lines of a module.
fn text(path: &Path) -> Vec<(usize, String)> {
    let is_module = path.extension().is_some_and(|extension| extension == "rs");
    let mut lines: Vec<(usize, String)> = Vec::new();
    for (number, line) in (1..).zip(read(path).lines()) {
        if !is_module {
            lines.push((number, line.to_owned()));
        } else if let Some(text) = line.strip_prefix("//!") {
            lines.push((number, text.strip_prefix(' ').unwrap_or(text).to_owned()));
        } else if let Some((_, fence)) = line.split_once("doc = \"```") {
            // The second of two fences is for a build without the feature.
            if !lines.last().is_some_and(|last| last.1.starts_with("```")) {
                let fence = fence.trim_end_matches(['"', ')', ']']);
                lines.push((number, format!("```{fence}")));
            }
        } else if let Some((_, file)) = line.split_once("include_str!(\"examples/") {
            let file = file.trim_end_matches(['"', ')', ']']);
            let fence = lines.last_mut().expect("a fence before the file");
            let code = path.with_file_name("examples").join(file);
            if !ELSEWHERE.contains(&file) && !code.is_symlink() {
                fence.1 = "```".to_owned(); // rustdoc ignores it, for want of the client
            }
            lines.extend(read(&code).lines().map(|line| (number, line.to_owned())));
        }
    }
    lines
}

/// The module of one snippet.
fn module(name: &str, code: &str, runs: bool) -> String {
    let mut placeholders = String::new();
    for (comment, definition) in PLACEHOLDERS {
        if code.contains(comment) {
            placeholders.push_str(definition);
        }
    }
    // A call such as `assert!(..);` is an item for the parser, and a statement for the reader.
    let is_item =
        |item: &syn::Item| !matches!(item, syn::Item::Macro(call) if call.ident.is_none());
    if syn::parse_file(code).is_ok_and(|file| file.items.iter().all(is_item)) {
        return format!("mod {name} {{ {placeholders}\n{code}}}\n");
    }
    let result = "Result<(), Box<dyn std::error::Error + Send + Sync>>";
    let main = format!("async fn main() -> {result} {{\n{code}; Ok(())\n}}");
    let test = if runs { TEST } else { "" };
    format!("mod {name} {{ {placeholders} {main} {test} }}\n")
}

/// The modules of a page.
fn modules(path: &Path) -> String {
    let page = path.file_stem().expect("a file").to_string_lossy();
    let page = page.to_lowercase();
    let mut modules = String::new();
    let mut lines = text(path).into_iter();
    while let Some((number, line)) = lines.next() {
        let Some(fence) = line.trim_start().strip_prefix("```") else {
            continue;
        };
        let is_end = |line: &str| line.trim_start() == "```";
        let (mut code, mut is_crate) = (String::new(), false);
        for (_, line) in lines.by_ref().take_while(|(_, line)| !is_end(line)) {
            let is_hidden = line.trim() == "#" || line.trim_start().starts_with("# ");
            is_crate = is_hidden && (is_crate || CRATES.contains(&line.as_str()));
            if !is_hidden || is_crate {
                code.push_str(if is_crate { &line[1..] } else { &line });
                code.push('\n');
            }
        }
        match fence {
            "" | "no_run" | "rust,no_run" | WITH_EMULATOR => {
                let name = format!("{page}_line_{number}");
                modules.push_str(&module(&name, &code, fence == WITH_EMULATOR));
            }
            "ignore" | "text" | "sh" | "toml" => {}
            fence => panic!("{page}, line {number}: does a snippet of `{fence}` compile?"),
        }
    }
    modules
}

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let (readme, guide) = (root.join("README.md"), root.join("backoff-cloud/src/guide"));
    println!("cargo::rerun-if-changed={}", readme.display());
    println!("cargo::rerun-if-changed={}", guide.display());

    let mut text = modules(&readme);
    for entry in fs::read_dir(&guide).expect("the folder of the guide") {
        let path = entry.expect("an entry of the folder").path();
        if path.is_file() {
            text.push_str(&modules(&path));
        }
    }
    let out = env::var_os("OUT_DIR").expect("set by cargo");
    fs::write(Path::new(&out).join("snippets.rs"), text).expect("the file is written");
}
