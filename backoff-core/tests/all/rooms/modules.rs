//! The modules of a crate: the definitions and imports of each module, and the file that a path names.

use super::tokens::{Token, tokens};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

/// Names from the root of the crate on.
type Names = Vec<String>;

#[derive(Default)]
pub(crate) struct Modules {
    /// The files, each with the module that it is.
    pub(crate) files: Vec<(PathBuf, Names)>,
    modules: BTreeMap<Names, Module>,
    /// Which files define a macro of this name.
    macros: BTreeMap<String, BTreeSet<usize>>,
}

#[derive(Default)]
struct Module {
    file: usize,
    items: BTreeSet<String>,
    uses: Vec<Use>,
    /// All else, without attributes and without what is in other modules.
    code: Vec<Token>,
}

struct Use {
    path: Names,
    /// The name that it is given here; `*` for all.
    name: String,
    line: usize,
    is_public: bool,
}

impl Module {
    /// Whether this is a name of something else than a module.
    fn names(&self, name: &str) -> bool {
        self.items.contains(name) || self.uses.iter().any(|import| import.name == name)
    }
}

/// Where a path leads.
enum Found {
    Module(Names),
    File(usize),
}

/// The file that imports, the one that is imported: the line that does it first.
pub(crate) type Imports = BTreeMap<(usize, usize), usize>;

/// What reads a file, if there is one.
pub(crate) type Read<'a> = &'a dyn Fn(&Path) -> Option<String>;

impl Modules {
    pub(crate) fn load(root: &Path, read: Read<'_>) -> Self {
        let mut modules = Self::default();
        let folder = root.parent().unwrap_or(Path::new(""));
        modules.file(root, folder, &[], read);
        modules
    }

    /// Reads a file whose children lie in `folder`.
    fn file(&mut self, path: &Path, folder: &Path, module: &[String], read: Read<'_>) {
        let Some(source) = read(path) else { return };
        self.files.push((path.to_owned(), module.to_vec()));
        let file = self.files.len() - 1;
        let source = tokens(&source);
        self.module(file, folder, module, &source, read);
    }

    fn module(
        &mut self,
        file: usize,
        folder: &Path,
        names: &[String],
        tokens: &[Token],
        read: Read<'_>,
    ) {
        let text = |i: usize| tokens.get(i).map_or("", |token| &token.text);
        let mut module = Module {
            file,
            ..Module::default()
        };
        let (mut i, mut depth, mut is_public, mut path) = (0, 0, false, None);
        while i < tokens.len() {
            match text(i) {
                "#" if matches!((text(i + 1), text(i + 2)), ("[", _) | ("!", "[")) => {
                    let end = closing(tokens, i);
                    let attribute: Vec<_> = (i..end).map(text).collect();
                    if let ["#", "[", "path", "=", file, "]"] = attribute[..] {
                        path = Some(file.trim_matches('"').to_owned());
                    }
                    i = if is_for_tests(&attribute) {
                        item_end(tokens, end)
                    } else {
                        end
                    };
                    continue;
                }
                "pub" => {
                    is_public = true;
                    i = if text(i + 1) == "(" {
                        closing(tokens, i)
                    } else {
                        i + 1
                    };
                    continue;
                }
                "use" if text(i + 1) != "<" => {
                    i += 1;
                    tree(tokens, &mut i, Vec::new(), is_public, &mut module.uses);
                }
                "mod" if matches!(text(i + 2), ";" | "{") => {
                    let child: Names = [names, &[text(i + 1).to_owned()]].concat();
                    let own = folder.join(text(i + 1));
                    if text(i + 2) == "{" {
                        let end = closing(tokens, i);
                        self.module(file, &own, &child, &tokens[i + 3..end - 1], read);
                        i = end;
                    } else if let Some(path) = path.take() {
                        let beside = self.files[file].0.with_file_name(path);
                        let folder = beside.parent().unwrap_or(folder).to_owned();
                        self.file(&beside, &folder, &child, read);
                        i += 3;
                    } else {
                        self.file(&own.with_extension("rs"), &own, &child, read);
                        self.file(&own.join("mod.rs"), &own, &child, read);
                        i += 3;
                    }
                }
                word => {
                    match word {
                        "{" => depth += 1,
                        "}" => depth -= 1,
                        "struct" | "enum" | "trait" | "fn" | "const" | "static" | "type"
                        | "macro_rules"
                            if depth == 0 =>
                        {
                            let next = if text(i + 1) == "!" { i + 2 } else { i + 1 };
                            module.items.insert(text(next).to_owned());
                            if word == "macro_rules" {
                                let files = self.macros.entry(text(next).to_owned());
                                files.or_default().insert(file);
                            }
                        }
                        _ => {}
                    }
                    module.code.push(tokens[i].clone());
                    i += 1;
                }
            }
            (is_public, path) = (false, None);
        }
        self.modules.insert(names.to_vec(), module);
    }

    /// Which file uses what another defines.
    ///
    /// What a module re-exports of its own children it does not use by that.
    pub(crate) fn imports(&self) -> Imports {
        let mut imports = Imports::new();
        for (names, module) in &self.modules {
            let mut add = |found, line: usize, is_public: bool| {
                if let Some(Found::File(file)) = found
                    && file != module.file
                    && !(is_public && self.files[file].1.starts_with(names))
                {
                    let first = imports.entry((module.file, file)).or_insert(line);
                    *first = line.min(*first);
                }
            };
            for import in module.uses.iter().filter(|import| import.name != "*") {
                add(
                    self.find(names, &import.path, 0),
                    import.line,
                    import.is_public,
                );
            }
            let text = |i: usize| module.code.get(i).map_or("", |token| &token.text);
            for (i, token) in module.code.iter().enumerate() {
                if i > 0 && matches!(text(i - 1), "." | "::") {
                    continue;
                }
                let mut path = vec![token.text.clone()];
                let mut next = i + 1;
                while text(next) == "::" {
                    path.push(text(next + 1).to_owned());
                    next += 2;
                }
                if text(next) == "!"
                    && let Some(files) = self.macros.get(&path[path.len() - 1])
                {
                    // Of macros of one name, a file's own.
                    for file in files.iter().filter(|_| !files.contains(&module.file)) {
                        add(Some(Found::File(*file)), token.line, false);
                    }
                    continue;
                }
                // A single name was counted where it was imported, if it did not come by the way.
                let by_the_way = |it: &Use| it.name == "*" || it.is_public && it.name == path[0];
                if path.len() > 1 || module.uses.iter().any(by_the_way) {
                    add(self.find(names, &path, 0), token.line, false);
                }
            }
        }
        imports
    }

    /// Where a path leads that is written in the module `at`. Nowhere, if to another crate.
    fn find(&self, at: &[String], path: &[String], steps: u32) -> Option<Found> {
        match path[0].as_str() {
            "crate" => self.within(&[], &path[1..], false, steps),
            "self" | "super" => self.within(at, path, false, steps),
            _ => self.within(at, path, true, steps),
        }
    }

    /// The same, from a module on. `known`: only if the module is seen to have the name.
    fn within(&self, at: &[String], path: &[String], known: bool, steps: u32) -> Option<Found> {
        let module = self.modules.get(at)?;
        let Some((name, rest)) = path.split_first() else {
            return Some(Found::Module(at.to_vec()));
        };
        let child = [at, std::slice::from_ref(name)].concat();
        match name.as_str() {
            "self" => return self.within(at, rest, false, steps),
            "super" => return self.within(&at[..at.len().checked_sub(1)?], rest, false, steps),
            // Where an item bears the same name, the item is meant.
            _ if self.modules.contains_key(&child) && !(rest.is_empty() && module.names(name)) => {
                return self.within(&child, rest, false, steps);
            }
            _ if module.items.contains(name) => return Some(Found::File(module.file)),
            _ if steps > 16 => return None,
            _ => {}
        }
        if let Some(import) = module.uses.iter().find(|import| import.name == *name) {
            return match self.find(at, &import.path, steps + 1)? {
                Found::Module(at) => self.within(&at, rest, false, steps + 1),
                file => Some(file),
            };
        }
        let mut is_all_here = true;
        for import in module.uses.iter().filter(|import| import.name == "*") {
            match self.find(at, &import.path, steps + 6) {
                Some(Found::Module(from)) => {
                    let found = self.within(&from, path, true, steps + 6);
                    if found.is_some() {
                        return found;
                    }
                }
                _ => is_all_here = false,
            }
        }
        // What a macro defines is not seen, but is not elsewhere either.
        (!known && is_all_here).then_some(Found::File(module.file))
    }
}

/// Where the first bracket after this closes.
fn closing(tokens: &[Token], from: usize) -> usize {
    let mut depth = 0;
    for (i, token) in tokens.iter().enumerate().skip(from) {
        match token.text.as_str() {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" if depth == 1 => return i + 1,
            ")" | "]" | "}" => depth -= 1,
            _ => {}
        }
    }
    tokens.len()
}

/// Where an item ends: with its body, or with a semicolon.
fn item_end(tokens: &[Token], from: usize) -> usize {
    let mut i = from;
    while i < tokens.len() {
        match tokens[i].text.as_str() {
            ";" => return i + 1,
            "{" => return closing(tokens, i),
            "(" | "[" => i = closing(tokens, i),
            _ => i += 1,
        }
    }
    i
}

fn is_for_tests(attribute: &[&str]) -> bool {
    match attribute {
        ["#", "[", "cfg", "(", "test", ..] => true,
        ["#", "[", "cfg", "(", "all", rest @ ..] => {
            rest.contains(&"test") && !rest.contains(&"not")
        }
        _ => false,
    }
}

/// Reads what stands after `use`.
fn tree(tokens: &[Token], i: &mut usize, mut path: Names, is_public: bool, uses: &mut Vec<Use>) {
    while let Some(token) = tokens.get(*i) {
        *i += 1;
        match token.text.as_str() {
            "{" => {
                while tokens.get(*i).is_some_and(|token| token.text != "}") {
                    tree(tokens, i, path.clone(), is_public, uses);
                }
                *i += 1;
                path.clear();
            }
            "," | ";" => break,
            "}" => {
                *i -= 1;
                break;
            }
            "::" | "$" => {}
            name => path.push(name.to_owned()),
        }
    }
    let line = tokens[*i - 1].line;
    let mut name = path.last().cloned();
    if let [.., renamed, _] = &path[..]
        && renamed == "as"
    {
        path.truncate(path.len() - 2);
    }
    if matches!(path.last().map(String::as_str), Some("*" | "self")) && path.len() > 1 {
        let all = path.pop().filter(|last| last == "*");
        name = name
            .filter(|name| name != "self")
            .or(all)
            .or(path.last().cloned());
    }
    if let Some(name) = name {
        uses.push(Use {
            path,
            name,
            line,
            is_public,
        });
    }
}
