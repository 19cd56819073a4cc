//! Prints each dead link of built pages, and fails if there is one: `pages DOC CRATE..`, where DOC is the folder that
//! rustdoc wrote. `.ci/pages` calls it.
//!
//! A link is dead if its file or its anchor does not exist, and if rustdoc left it as text: `[Policy]`.

use regex::Regex;
use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    env, fs, io,
    path::{Path, PathBuf},
    process::ExitCode,
};

fn pages(folder: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            pages(&path, found)?;
        } else if path.extension().is_some_and(|it| it == "html") {
            found.push(path);
        }
    }
    Ok(())
}

/// The part of a page that this project wrote. The implementations for all types, at the end of a page, have the
/// sentences of other crates, whose links rustdoc does not resolve.
fn own(page: &str) -> &str {
    let end = page.find("id=\"blanket-implementations\"");
    &page[..end.unwrap_or(page.len())]
}

/// `a/b/../c` is `a/c`.
fn normal(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut path, part| {
        if part.as_os_str() == ".." {
            path.pop();
        } else {
            path.push(part);
        }
        path
    })
}

struct Pages {
    href: Regex,
    id: Regex,
    /// `[<code>Policy</code>]`.
    linked: Regex,
    code: Regex,
    tag: Regex,
    brackets: Regex,
    /// The anchors of a page.
    ids: HashMap<PathBuf, HashSet<String>>,
}

impl Pages {
    fn new() -> Result<Self, regex::Error> {
        Ok(Pages {
            href: Regex::new(r#"<a [^>]*href="([^"]*)""#)?,
            id: Regex::new(r#" id="([^"]*)""#)?,
            linked: Regex::new(r"\[<code>([A-Za-z][\w:]*)</code>\]")?,
            code: Regex::new(
                "(?s)<pre.*?</pre>|<code.*?</code>|<h4.*?</h4>|<h3.*?</h3>|<svg.*?</svg>|<script.*?</script>",
            )?,
            tag: Regex::new("<[^>]*>")?,
            // A link to an item, and a link with an address.
            brackets: Regex::new(r"\[[\w:!#()` -]+\]\(|\[[A-Za-z]\w+(::\w+)*\]")?,
            ids: HashMap::new(),
        })
    }

    fn has_anchor(&mut self, page: &Path, anchor: &str) -> bool {
        let ids = self.ids.entry(page.to_owned()).or_insert_with(|| {
            let text = fs::read_to_string(page).unwrap_or_default();
            self.id
                .captures_iter(&text)
                .map(|it| it[1].to_owned())
                .collect()
        });
        ids.contains(anchor)
    }

    fn is_dead(&mut self, page: &Path, href: &str) -> bool {
        let href = href.replace("&amp;", "&");
        if href.contains("//") || href.starts_with("mailto:") || href.starts_with("data:") {
            return false;
        }
        let (file, anchor) = href.split_once('#').unwrap_or((&href, ""));
        let target = match file.split('?').next().unwrap_or_default() {
            "" => page.to_owned(),
            file => normal(&page.with_file_name("").join(file)),
        };
        // Anchors of source files are lines, which JavaScript shows.
        let is_page = target.extension().is_some_and(|it| it == "html")
            && !target.components().any(|it| it.as_os_str() == "src");
        !target.exists() || (is_page && !anchor.is_empty() && !self.has_anchor(&target, anchor))
    }

    fn dead(&mut self, page: &Path) -> io::Result<BTreeSet<String>> {
        let text = fs::read_to_string(page)?;
        let text = own(&text);
        let hrefs: BTreeSet<_> = self
            .href
            .captures_iter(text)
            .map(|it| it[1].to_owned())
            .collect();
        let mut dead: BTreeSet<_> = hrefs
            .into_iter()
            .filter(|it| self.is_dead(page, it))
            .collect();
        let begin = text.find("id=\"main-content\"").unwrap_or_default();
        // Implementations of other crates' traits have the sentences of these crates.
        let end = text
            .find("id=\"trait-implementations\"")
            .unwrap_or(text.len());
        let prose = self.linked.replace_all(&text[begin..end], "[$1]");
        let prose = self.code.replace_all(&prose, " ");
        let prose = self.tag.replace_all(&prose, "");
        dead.extend(
            self.brackets
                .find_iter(&prose)
                .map(|it| it.as_str().to_owned()),
        );
        Ok(dead)
    }
}

fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let mut arguments = env::args().skip(1);
    let docs = PathBuf::from(arguments.next().ok_or("usage: pages DOC CRATE..")?);
    let mut reader = Pages::new()?;
    let (mut all, mut dead) = (0, BTreeMap::<_, Vec<_>>::new());
    for name in arguments {
        let mut found = Vec::new();
        pages(&docs.join(&name), &mut found)?;
        all += found.len();
        for page in found {
            for link in reader.dead(&page)? {
                dead.entry(link).or_default().push(page.clone());
            }
        }
    }
    for (link, pages) in &dead {
        println!(
            "{link}: on {} pages, first {}",
            pages.len(),
            pages[0].display()
        );
    }
    println!("{all} pages, {} dead links", dead.len());
    let is_good = dead.is_empty() && all > 0;
    Ok(if is_good {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dead_link_is_found() {
        let folder = env::temp_dir().join(format!("pages-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let page = folder.join("index.html");
        let rows = [
            (r##"<a href="index.html#here">x</a>"##, ""),
            (r##"<a href="https://docs.rs/x/">x</a>"##, ""),
            (r##"<a href="index.html#there">x</a>"##, "index.html#there"),
            (r##"<a href="#there">x</a>"##, "#there"),
            (
                r##"<a href="../none/index.html">x</a>"##,
                "../none/index.html",
            ),
            (
                r##"<a class="x" href="crate::Policy">x</a>"##,
                "crate::Policy",
            ),
            ("<p>see [Policy]</p>", "[Policy]"),
            (
                "<p>see [<code>Policy::update</code>]</p>",
                "[Policy::update]",
            ),
            ("<p>see [the guide](super::guide)</p>", "[the guide]("),
            ("<pre>[Policy]</pre><p>the list [1, 2]</p>", ""),
            (
                r##"<div id="blanket-implementations"><a href="crate::Span">x</a>"##,
                "",
            ),
        ];
        for (body, dead) in rows {
            let text = format!("<section id=\"main-content\"><h2 id=\"here\">x</h2>{body}");
            fs::write(&page, text).unwrap();
            let found = Pages::new().unwrap().dead(&page).unwrap();
            assert_eq!(found.into_iter().collect::<String>(), dead, "{body}");
        }
        fs::remove_dir_all(&folder).unwrap();
    }
}
