//! Somebody uses the page of the example `lab` in Chromium: changes values, reads the numbers of a chart, copies the TOML,
//! and opens the link again.

use std::error::Error;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use backoff_cloud::{Jitter, Policy, PolicySettings, iam};
use fantoccini::elements::Element;
use fantoccini::key::Key;
use fantoccini::{Client, ClientBuilder, Locator};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, json};

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// A program that is ended with the test.
struct Running(Child);

impl Running {
    /// Starts it, and gives what stands after these words in a line of its output.
    fn start(command: &mut Command, words: &str) -> Outcome<(Self, String)> {
        let mut child = command.stdout(Stdio::piped()).spawn()?;
        let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let running = Self(child);
        for line in lines {
            if let Some((_, after)) = line?.split_once(words) {
                let word = after.split_whitespace().next().unwrap_or_default();
                return Ok((running, word.trim_end_matches('.').to_owned()));
            }
        }
        Err(format!("{command:?} did not say {words:?}").into())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

struct Page(Client);

impl Page {
    async fn control(&self, name: &str) -> Outcome<Element> {
        Ok(self.0.find(Locator::Id(name)).await?)
    }

    async fn text(&self, name: &str) -> Outcome<String> {
        // Of a closed list of numbers, too.
        let text = self.control(name).await?.prop("textContent").await?;
        Ok(text.unwrap_or_default())
    }

    /// Waits until the page shows what its controls say.
    async fn drawn(&self, after: &str) -> Outcome {
        self.until("document.body.dataset.drawn === query()", after)
            .await
    }

    async fn until(&self, condition: &str, after: &str) -> Outcome {
        let script = format!("return {condition}");
        // At most a minute.
        for _ in 0..1_200 {
            if self.0.execute(&script, Vec::new()).await? == Value::Bool(true) {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Err(format!("the page is not drawn a minute after {after}").into())
    }

    async fn change(&self, name: &str, value: &str) -> Outcome {
        let control = self.control(name).await?;
        // As a person does it: WebDriver's own ways to clear a field and to choose tell the page nothing.
        let [hold, release, delete] = [Key::Control, Key::Null, Key::Delete].map(char::from);
        let keys = match &*control.tag_name().await? {
            "select" => value.to_owned(),
            _ => format!("{hold}a{release}{delete}{value}"),
        };
        control.send_keys(&keys).await?;
        self.drawn(&format!("{name} became {value:?}")).await
    }

    /// The numbers of a chart, row by row.
    async fn numbers(&self, figure: &str) -> Outcome<Vec<Vec<f64>>> {
        let script = "return [...document.querySelectorAll(`#${arguments[0]} table tr`)].slice(1)\
                      .map(row => [...row.cells].map(cell => Number(cell.dataset.value)))";
        let rows = self.0.execute(script, vec![json!(figure)]).await?;
        Ok(serde_json::from_value(rows)?)
    }

    /// What the clipboard has, pasted into a new field.
    async fn pasted(&self) -> Outcome<String> {
        let script = "const field = document.createElement('textarea'); field.id = 'pasted'; document.body.append(field)";
        self.0.execute(script, Vec::new()).await?;
        let field = self.control("pasted").await?;
        field
            .send_keys(&format!(
                "{}v{}",
                char::from(Key::Control),
                char::from(Key::Null)
            ))
            .await?;
        Ok(field.prop("value").await?.unwrap_or_default())
    }
}

/// The policy that the test makes on the page.
fn expected() -> Policy {
    iam::READ_MODIFY_WRITE
        .base(Duration::from_millis(500))
        .jitter(Jitter::Equal)
        .max_attempts(4)
}

async fn used(page: &Page, url: &str) -> Outcome {
    page.0
        .goto(&format!("{url}?preset=iam::READ_MODIFY_WRITE"))
        .await?;
    page.drawn("it was opened").await?;
    for (name, value) in [
        ("base", "500ms"),
        ("jitter", "equal"),
        ("max_attempts", "4"),
    ] {
        page.change(name, value).await?;
    }
    let planned: Vec<_> = expected().schedule().collect();
    let rows = page.numbers("waits").await?;
    assert_eq!(rows.len(), planned.len());
    for (row, planned) in rows.iter().zip(planned) {
        let [least, greatest] = [planned.least, planned.greatest].map(|it| it.as_secs_f64());
        assert_eq!(
            [row[0], row[3], row[1]],
            [planned.retry.into(), least, greatest]
        );
        assert!(least <= row[2] && row[2] <= greatest, "{row:?}");
    }
    let said = page.text("explain").await?;
    for part in expected().explain().to_string().split("; ") {
        assert!(said.contains(part), "{said}");
    }

    page.0
        .find(Locator::Css("[data-copy=toml]"))
        .await?
        .click()
        .await?;
    page.until(
        "document.querySelector('[data-copy=toml]').textContent === 'Copied.'",
        "the TOML was copied",
    )
    .await?;
    let toml = page.pasted().await?;
    let settings: PolicySettings = toml::from_str(&toml)?;
    assert_eq!(settings.over(iam::READ_MODIFY_WRITE)?, expected(), "{toml}");

    // The link in another window.
    let link = page.0.current_url().await?;
    let window = page.0.new_window(true).await?;
    page.0.switch_to_window(window.handle).await?;
    page.0.goto(link.as_str()).await?;
    page.drawn("it was opened").await?;
    assert_eq!(
        page.control("base").await?.prop("value").await?.as_deref(),
        Some("500ms")
    );
    assert_eq!(page.numbers("waits").await?, rows);
    assert_eq!(page.0.current_url().await?, link);

    for (name, value, said) in [
        (
            "max_attempts",
            "0",
            "`max_attempts` counts the first call too: write 1",
        ),
        ("factor", "0.5", "factor"),
        ("base", "400s", "`base` is longer than `max_backoff`"),
    ] {
        let before = page
            .control(name)
            .await?
            .prop("value")
            .await?
            .unwrap_or_default();
        page.change(name, value).await?;
        let mistake = page.text(&format!("{name}-mistake")).await?;
        assert!(mistake.contains(said), "{name}: {mistake:?}");
        page.change(name, &before).await?;
        assert_eq!(page.text(&format!("{name}-mistake")).await?, "");
    }
    page.change("max_backoff", "1000s").await?;
    page.change("base", "400s").await?;
    let mistake = page.text("base-mistake").await?;
    assert!(
        mistake.contains("`base` is longer than `deadline`"),
        "{mistake:?}"
    );

    let button = page.0.find(Locator::Css("[data-copy=toml]")).await?;
    assert!(!button.is_enabled().await?, "what is drawn is not this");
    for (query, control, said) in [
        ("preset=gone", "preset", "\"gone\" is not in the list"),
        ("outage=perhaps", "outage", "\"perhaps\" is not in the list"),
        ("clients=many", "clients", "write a whole number"),
        ("base=2s", "base", ""),
        ("retries=3", "message", "`retries`"),
        ("base=2s", "message", "Drawn: with your policy, "),
    ] {
        page.0.goto(&format!("{url}?{query}")).await?;
        page.drawn(&format!("{query} was opened")).await?;
        let of = match control {
            "message" => control.to_owned(),
            _ => format!("{control}-mistake"),
        };
        let text = page.text(&of).await?;
        assert!(text.contains(said), "{query}: {text:?}");
        assert!(text.is_empty() == said.is_empty(), "{query}: {text:?}");
    }

    // The rules of a preset with a function cannot be read.
    let control = page.control("max_retry_after").await?;
    let placeholder = control.attr("placeholder").await?;
    assert_eq!(placeholder.as_deref(), Some("not set"));
    page.change("preset", "github::REQUEST").await?;
    let placeholder = control.attr("placeholder").await?;
    assert_eq!(placeholder.as_deref(), Some("as in the preset"));

    // A window of Chromium is wider than a phone; a frame is not.
    let script = "const frame = document.createElement('iframe'); frame.width = 380; frame.src = '/'; \
                  document.body.append(frame); window.phone = frame";
    page.0.execute(script, Vec::new()).await?;
    page.until(
        "window.phone.contentDocument?.body?.dataset.drawn !== undefined",
        "a phone shows it",
    )
    .await?;
    let script = "const { clientWidth, scrollWidth } = window.phone.contentDocument.documentElement; \
                  return [clientWidth, scrollWidth]";
    let [shown, needed]: [u32; 2] =
        serde_json::from_value(page.0.execute(script, Vec::new()).await?)?;
    assert!(needed <= shown && shown <= 380, "{needed} px in {shown} px");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_is_used() -> Outcome {
    let mut lab = Command::new("cargo");
    lab.args([
        "run",
        "--quiet",
        "--locked",
        "-p",
        "examples",
        "--example",
        "lab",
        "--",
        "--port",
        "0",
    ]);
    lab.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let (mut lab, url) = Running::start(&mut lab, "Open ")?;
    let port = Running::start(
        Command::new("chromedriver").arg("--port=0"),
        "successfully on port ",
    )?;
    let (_driver, port) = port;
    let options = json!({ "args": ["--headless=new", "--no-sandbox", "--disable-gpu"] });
    let options = serde_json::Map::from_iter([("goog:chromeOptions".to_owned(), options)]);
    let client = ClientBuilder::new(HttpConnector::new())
        .capabilities(options)
        .connect(&format!("http://127.0.0.1:{port}"))
        .await?;
    let page = Page(client.clone());
    let outcome = used(&page, &url).await;
    client.close().await?;
    outcome?;

    // Cargo has become the program, which Ctrl-C ends, also where a request is never complete.
    let address = url.trim_start_matches("http://").trim_end_matches('/');
    let mut request = TcpStream::connect(address)?;
    request.write_all(b"POST /draw HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n")?;
    let ended = Command::new("kill")
        .args(["-INT", &lab.0.id().to_string()])
        .status()?;
    assert!(ended.success());
    assert!(lab.0.wait()?.success());
    Ok(())
}
