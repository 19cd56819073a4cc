//! The events of a stream: server-sent events.

use super::{OpenReply, body::without_mark, error::ApiError, own::Own};
use backoff_core::__private::Loggable;
use serde::de::DeserializeOwned;
use std::{fmt, mem, vec};

/// The events of an open reply: server-sent events, as LLMs and many watches send them. Made by
/// [`OpenReply::events`].
///
/// - Lines end with a line feed, a carriage return, or both. A byte order mark at the beginning is skipped, and
///   bytes that are not UTF-8 are replaced by `U+FFFD`. Comments, `id` and unknown fields are skipped, and `retry`,
///   too: the policy says how long to wait. An event without `data` is none.
/// - The last event counts also without the empty line after it, unless its data is empty. (A browser drops it.)
/// - An event, with its name, may have as many bytes as a whole body, 64 MiB by default:
///   [`Limits::body`](super::Limits::body). While it is read it takes up to three times its bytes in memory. A stream may
///   have any number of events. The time for reading grows with the number of bytes alone.
///
/// The other rules are those of the
/// [WHATWG](https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream).
///
/// `Debug` shows no header and no byte of the body.
///
/// ```no_run
/// use backoff_cloud::{http::{ApiError, SendExt as _}, plain_http};
///
/// # async fn f(client: reqwest::Client) -> Result<(), ApiError> {
/// let reply = plain_http::BY_METHOD.send(client.get("http://127.0.0.1:8080/news")).open().await?;
/// let mut events = reply.events();
/// while let Some(event) = events.next().await? {
///     println!("{}: {}", event.name(), event.data());
/// }
/// # Ok(()) }
/// ```
pub struct Events {
    reply: OpenReply,
    parser: Parser,
}

/// An event of a stream: its name and its data.
///
/// `Debug` shows only the beginning of the name, [without secrets](backoff_core::telemetry#secrets), and the length of the
/// data.
#[derive(Clone)]
pub struct StreamEvent {
    name: String,
    data: String,
}

impl OpenReply {
    /// The events of a body of the type `text/event-stream`. The type is not looked at.
    ///
    /// [`Limits::open`](super::Limits::open) shows a program that reads a whole answer of an LLM, and [the
    /// guide](crate::guide::quotas) one that shows each piece as it comes.
    pub fn events(self) -> Events {
        Events {
            reply: self,
            parser: Parser::default(),
        }
    }
}

impl Events {
    /// The next event, or `None` at the end of the stream.
    ///
    /// A stream that ends says nothing about whether it is complete: look for your protocol's last message, such as by
    /// [`openai::ends_stream`](crate::openai::ends_stream), and make [`ApiError::ended_early`] of its absence. After
    /// the last message drop the reader, because the server may leave the connection open.
    ///
    /// A future that is dropped loses no event, so `next` can stand in `tokio::select!`.
    ///
    /// # Errors
    /// The errors of [`OpenReply::chunk`], and a permanent one for an event that is longer than its limit. After an
    /// error drop the reader.
    ///
    /// # Panics
    /// The panics of [`Limits::json`](super::Limits::json).
    pub async fn next(&mut self) -> Result<Option<StreamEvent>, ApiError> {
        loop {
            if let Some(event) = self.parser.event(self.reply.limits.body)? {
                return Ok(Some(event));
            }
            match self.reply.chunk().await? {
                Some(chunk) => self.parser.chunk = chunk.into_iter(),
                None => return Ok(self.parser.end()),
            }
        }
    }
}

impl StreamEvent {
    /// An event that another reader has read, or for a test.
    ///
    /// ```
    /// use backoff_cloud::http::StreamEvent;
    ///
    /// let event = StreamEvent::new("error", r#"{"message": "busy"}"#);
    /// assert_eq!(event.name(), "error");
    /// ```
    pub fn new(name: impl Into<String>, data: impl Into<String>) -> Self {
        StreamEvent {
            name: name.into(),
            data: data.into(),
        }
    }

    /// The value of its field `event`; `message` if it has none.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The value of its field `data`. Several of them are joined by a line feed.
    pub fn data(&self) -> &str {
        &self.data
    }

    /// The data, which is JSON, as a value.
    ///
    /// ```
    /// use backoff_cloud::http::StreamEvent;
    /// use serde_json::Value;
    ///
    /// let value: Value = StreamEvent::new("delta", r#"{"text": "four"}"#).json()?;
    /// assert_eq!(value["text"], "four");
    /// # Ok::<_, backoff_cloud::http::ApiError>(())
    /// ```
    ///
    /// # Errors
    /// [`ApiError`], if the data is not the JSON that was asked for. The error is permanent, unless the JSON text ends
    /// too early, or is empty: then the stream was cut inside of the event.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, ApiError> {
        let value = serde_json::from_str(&self.data);
        value.map_err(|error| Own::not_json::<T>(&error, self.data.as_bytes(), false).into())
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Events(HTTP {})", self.reply.status())
    }
}

impl fmt::Debug for StreamEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.data.len();
        write!(f, "StreamEvent({:?}, {bytes} bytes)", Loggable(&self.name))
    }
}

/// Makes events of chunks. Each byte is looked at once when it comes, and once more when its line is complete.
#[derive(Default)]
struct Parser {
    /// What is not read yet.
    chunk: vec::IntoIter<u8>,
    line: Vec<u8>,
    name: String,
    /// The data of the event, with a line feed before each line.
    data: String,
    /// Whether a line has ended.
    is_begun: bool,
    /// The last line ended with a carriage return, so a line feed belongs to its end.
    is_after_return: bool,
}

impl Parser {
    /// The next event in the chunk, which has so many bytes at most.
    fn event(&mut self, limit: usize) -> Result<Option<StreamEvent>, ApiError> {
        while let Some(byte) = self.chunk.next() {
            let is_after_return = mem::replace(&mut self.is_after_return, byte == b'\r');
            match byte {
                b'\n' if is_after_return => {}
                b'\n' | b'\r' => {
                    if let Some(event) = self.end_of_line() {
                        return Ok(Some(event));
                    }
                }
                _ if self.name.len() + self.data.len() + self.line.len() >= limit => {
                    return Err(Own::too_long("an event of the stream", limit).into());
                }
                _ => self.line.push(byte),
            }
        }
        Ok(None)
    }

    /// Reads the line that has ended.
    fn end_of_line(&mut self) -> Option<StreamEvent> {
        let line = mem::take(&mut self.line);
        let line = match mem::replace(&mut self.is_begun, true) {
            true => &line,
            false => without_mark(&line),
        };
        let line = String::from_utf8_lossy(line);
        let (name, value) = line.split_once(':').unwrap_or((&line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "data" => self.data.extend(["\n", value]),
            "event" => self.name = value.to_owned(),
            _ => {}
        }
        line.is_empty().then(|| self.end_of_event())?
    }

    /// The event whose lines have been read, if it has data.
    fn end_of_event(&mut self) -> Option<StreamEvent> {
        let (name, data) = (mem::take(&mut self.name), mem::take(&mut self.data));
        let name = if name.is_empty() { "message" } else { &name };
        Some(StreamEvent::new(name, data.strip_prefix('\n')?))
    }

    /// The last event, if no empty line has come after it. Without data it may have been cut.
    fn end(&mut self) -> Option<StreamEvent> {
        let event = self.end_of_line().or_else(|| self.end_of_event());
        event.filter(|event| !event.data.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A name and the data.
    type Facts = (String, String);

    fn facts(event: &StreamEvent) -> Facts {
        (event.name().to_owned(), event.data().to_owned())
    }

    fn of(chunk: &[u8]) -> Parser {
        Parser {
            chunk: Vec::from(chunk).into_iter(),
            ..Parser::default()
        }
    }

    /// The events of a stream that comes in these chunks.
    fn read<'a>(
        chunks: impl IntoIterator<Item = &'a [u8]>,
        limit: usize,
    ) -> Result<Vec<Facts>, ApiError> {
        let (mut parser, mut events) = (Parser::default(), Vec::new());
        for chunk in chunks {
            parser.chunk = Vec::from(chunk).into_iter();
            while let Some(event) = parser.event(limit)? {
                events.push(facts(&event));
            }
        }
        events.extend(parser.end().as_ref().map(facts));
        assert!(parser.end().is_none());
        Ok(events)
    }

    /// The events of a text, as `name:data` with `|` between them, and `/` for a line feed in the data.
    fn shown(text: impl AsRef<[u8]>) -> String {
        let text = text.as_ref();
        let events = read([text], usize::MAX).expect("no limit");
        assert_eq!(read(text.chunks(1), usize::MAX).ok(), Some(events.clone()));
        let events = events.iter();
        let events = events.map(|(name, data)| format!("{name}:{}", data.replace('\n', "/")));
        events.collect::<Vec<_>>().join("|")
    }

    #[test]
    fn lines_become_events() {
        for (text, events) in [
            ("", ""),
            ("\n\n\r\n\r", ""),
            ("data: a\n\n", "message:a"),
            ("data: a\r\n\r\n", "message:a"),
            ("data: a\r\ndata: b\r\n\r\n", "message:a/b"),
            ("data: a\r\r", "message:a"),
            ("data: a\r\n\rdata: b\n\r\n", "message:a|message:b"),
            ("data:a\ndata:  b\n\n", "message:a/ b"),
            ("data\ndata\n\n", "message:/"),
            ("data:\n\n", "message:"),
            ("event: e\ndata: a\n\ndata: b\n\n", "e:a|message:b"),
            ("event: e\n\ndata: a\n\n", "message:a"),
            ("event: e\nevent\ndata: a\n\n", "message:a"),
            (
                ": comment\n:\nid: 7\nretry: 10\ndata: a\nunknown: x\nword\n\n",
                "message:a",
            ),
            (" data: a\nData: a\ndata : a\n\n", ""),
            ("data: {\"a\": \"b: c\"}\n\n", "message:{\"a\": \"b: c\"}"),
            ("\u{feff}data: a\n\n\u{feff}data: b\n\n", "message:a"),
            ("\u{feff}\ndata: a\n\n", "message:a"),
            // The end of the stream is the end of the event.
            ("data: a\n\ndata: b\n", "message:a|message:b"),
            ("data: a\n\ndata: b", "message:a|message:b"),
            ("event: e\rdata: b\r", "e:b"),
            ("data: a\n: b", "message:a"),
            ("data: a\n\nevent: e", "message:a"),
            ("data: a\n\ndata:", "message:a"),
            ("data: a\n\nevent: e\ndata: \n", "message:a"),
        ] {
            assert_eq!(shown(text), events, "{text:?}");
        }
        assert_eq!(
            shown(b"event: \xe4\ndata: \xe4\xfc\n\n"),
            "\u{fffd}:\u{fffd}\u{fffd}"
        );
    }

    /// The limit counts the name and the data of an event and the line that comes, and not the stream.
    #[test]
    fn an_event_has_a_limit() {
        let many = "data: 45\n\n: 345678\n".repeat(100);
        assert_eq!(read([many.as_bytes()], 8).unwrap().len(), 100);
        for (text, limit) in [
            ("data: 45\n\n", 7),
            ("data:45\n\ndata:56\ndata:\n\n", 7),
            (": comment\n", 8),
            ("data: 45", 7),
            ("event: 34\ndata: 67\n\n", 9),
        ] {
            for size in 1..text.len() {
                let error = read(text.as_bytes().chunks(size), limit).expect_err("too long");
                assert!(error.to_string().starts_with(&format!(
                    "an event of the stream is longer than {limit} bytes, the limit of `http::Limits`"
                )));
                assert_eq!(
                    backoff_core::Fault::kind(&error),
                    Some(backoff_core::FaultKind::Permanent)
                );
            }
        }
    }

    /// Each byte is taken from its chunk once, and a line that has ended is kept without its name or not at all. So no byte
    /// is looked at again for a line or an event that comes later.
    #[test]
    fn the_work_grows_with_the_bytes_alone() {
        let mut parser = of(b"data: a\n\n: b\ndata: c\ndata: d");
        assert!(parser.event(100).unwrap().is_some());
        assert_eq!((parser.chunk.len(), parser.data.capacity()), (19, 0));
        assert!(parser.event(100).unwrap().is_none());
        let held = (parser.chunk.len(), &*parser.data, &*parser.line);
        assert_eq!(held, (0, "\nc", &b"data: d"[..]));
    }

    #[test]
    fn data_that_was_cut_may_be_whole_next_time() {
        for (text, delivery) in [
            ("data: {\"a\": 1", Some(backoff_core::Delivery::MaybeSent)),
            (
                "data: {\"a\": 1\n\n",
                Some(backoff_core::Delivery::MaybeSent),
            ),
            ("data:\n\n", Some(backoff_core::Delivery::MaybeSent)),
            ("data: [DONE]\n\n", None),
        ] {
            let mut parser = of(text.as_bytes());
            let event = parser.event(100).unwrap().or_else(|| parser.end());
            let error = event
                .expect("an event")
                .json::<serde_json::Value>()
                .unwrap_err();
            assert_eq!(backoff_core::Fault::delivery(&error), delivery, "{text}");
        }
        let mut parser = of(b"data: {\"a\": 1}");
        assert!(parser.event(100).unwrap().is_none());
        assert!(
            parser
                .end()
                .expect("an event")
                .json::<serde_json::Value>()
                .is_ok()
        );
    }

    #[test]
    fn an_event_shows_nothing_of_its_data() {
        let event = StreamEvent::new("delta", "SECRET");
        assert_eq!(format!("{event:?}"), "StreamEvent(\"delta\", 6 bytes)");
        let long = format!("a?key=SECRET {}", "x".repeat(1_000));
        let shown = format!("{:?}", StreamEvent::new(long, ""));
        assert!(
            !shown.contains("SECRET") && shown.chars().count() < 550,
            "{shown}"
        );
    }

    proptest! {
        /// Of whatever text, cut wherever.
        #[test]
        fn chunks_do_not_matter(
            text in "(data|event|id|retry|:| |\u{feff}|\r|\n|\r\n|ä|\u{0}|x){0,60}",
            cuts in prop::collection::vec(0usize..200, 0..20),
            limit in 0usize..100,
        ) {
            let text = text.as_bytes();
            let mut cuts: Vec<_> = cuts.iter().map(|cut| cut % (text.len() + 1)).collect();
            cuts.extend([0, text.len()]);
            cuts.sort_unstable();
            let chunks = || cuts.windows(2).map(|ends| &text[ends[0]..ends[1]]);
            let whole = read([text], usize::MAX).unwrap();
            prop_assert_eq!(&read(chunks(), usize::MAX).unwrap(), &whole);
            prop_assert_eq!(&read(text.chunks(1), usize::MAX).unwrap(), &whole);
            let limited = [read(chunks(), limit), read([text], limit)].map(Result::ok);
            prop_assert_eq!(&limited[0], &limited[1]);
        }
    }
}
