//! After this page you know which part of the library you need.
//!
#![doc = include_str!("../../doc/which.svg")]
//!
//! The first row that is true decides:
//!
//! | what you repeat | use | page |
//! |---|---|---|
//! | a call that must be made even if this process ends, or that waits for hours | a job in a queue: [`SavedRetry`](crate::SavedRetry), or [apalis](crate::apalis) | [Beyond one process](super::jobs) |
//! | a value is read, changed and written back | [`Policy::update`](crate::Policy::update); for a role of Google Cloud, [`iam::add`](crate::iam::add) or [`iam::Members`](crate::iam::Members) | [Read, modify, write](super::read_modify_write) |
//! | a list of pages, a download or a stream, which goes on where it failed | [`Policy::resuming`](crate::Policy::resuming) | [Polling, pages and streams](super::polling_pages_streams) |
//! | a connection of a daemon, for ever | [`Policy::resuming`](crate::Policy::resuming), or [`Reconnect`](crate::Reconnect) if tasks share it | [Retry for ever](super::waits_and_limits#retry-for-ever) |
//! | a question, until a value is there | [`until`](crate::Retrying::until), after `retry` or `send`, or as a key of the attribute | [the same page](super::polling_pages_streams) |
//! | all requests of one client of tower, hyper or tonic | [`POLICY.layer()`](crate::Policy::layer) | [tower](mod@super::tower) |
//! | one request of reqwest | [`POLICY.send(request)`](crate::http::SendExt::send) | [The first retry](super::first_retry) |
//! | one request whose reply is a stream, up to its head | [`POLICY.send(request).open()`](crate::http::Sending::open) | [Polling, pages and streams](super::polling_pages_streams#a-watch-or-a-stream) |
//! | a whole function | [`#[retry]`](macro@crate::retry) | [The first retry](super::first_retry#a-whole-function) |
//! | some lines in the middle of a function | [`retry_block!`](crate::retry_block) | [Read, modify, write](super::read_modify_write#a-function) |
//!
//! Many calls of one service can share more. The policy names the rate, the budget and the breaker:
//!
//! | the service | use | page |
//! |---|---|---|
//! | answers 429 to calls above a rate | [`Rate`](crate::Rate) | [Rates](super::rates) |
//! | states its quotas in each reply, as OpenAI, Anthropic and GitHub do | a [`Rate`](crate::Rate) for each quota, and [`tokens`](crate::Retrying::tokens) | [Calls to an LLM](super::quotas) |
//! | answers some reads late | [`Hedge`](crate::Hedge), given to each call | [Hedging](super::hedging) |
//! | can be down while many calls retry | [`Budget`](crate::Budget) | [Budgets and outages](super::budgets_and_outages) |
//! | hangs for minutes, and each attempt costs a long timeout | [`Breaker`](crate::Breaker) | [the same page](super::budgets_and_outages#a-breaker) |
//!
//! # Which policy
//!
//! | you call | the policy |
//! |---|---|
//! | an LLM | [`openai::send`](crate::openai::send), [`anthropic::send`](crate::anthropic::send): see [Calls to an LLM](super::quotas) |
//! | another service in the [table of presets](crate::presets) | the service's `REQUEST`, or another constant of its module |
//! | another HTTP service, by `send` or a layer | [`plain_http::BY_METHOD`](crate::plain_http::BY_METHOD) |
//! | another HTTP service, in a function or a block | [`plain_http::IDEMPOTENT`](crate::plain_http::IDEMPOTENT) or [`NOT_IDEMPOTENT`](crate::plain_http::NOT_IDEMPOTENT): see [Idempotency](super::idempotency) |
//! | something else | [`Policy::exponential`](crate::Policy::exponential): see [Errors](super::errors) and [Waits and limits](super::waits_and_limits) |
//!
//! # Async or not
//!
//! `#[retry]`, `retry_block!`, `update` and `until` have a blocking form: [Blocking programs](super::blocking).
//! The async forms run on tokio, on smol and in a browser, or on [another executor](super::executors).
//!
//! Previous: [Why retries, and why they hurt](super::why_retries) · next: [Errors](super::errors)
