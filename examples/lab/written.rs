//! Code that the page shows. `UPDATE_EXPECT=1 cargo test -p examples --example lab` writes it anew.

use std::time::Duration;

use backoff_cloud::{
    Budget, Codes, Fault, Jitter, Policy, codes, iam, retry, s3, storage,
};

use crate::snippets::tests::is_of;

#[derive(Debug, Fault)]
#[fault(status = self.0)]
struct Failure(u16);

#[test]
fn a_preset() {
{
#[retry(
    policy = storage::READ_MODIFY_WRITE,
)]
async fn call() -> Result<(), Failure> {
    Err(Failure(503))
}
let _ = call;
}
const POLICY: Policy = storage::READ_MODIFY_WRITE;
is_of(
"preset=storage::READ_MODIFY_WRITE",
POLICY,
);
}

#[test]
fn times() {
{
#[retry(
    policy = iam::READ_MODIFY_WRITE
        .retry_after_slack(Duration::from_micros(1500)),
    base = "500ms",
    max_backoff = "90s",
    max_retry_after = "3600s",
    throttled_base = "2s",
)]
async fn call() -> Result<(), Failure> {
    Err(Failure(503))
}
let _ = call;
}
const POLICY: Policy = iam::READ_MODIFY_WRITE
    .base(Duration::from_millis(500))
    .max_backoff(Duration::from_secs(90))
    .max_retry_after(Duration::from_secs(3600))
    .retry_after_slack(Duration::from_micros(1500))
    .throttled_base(Duration::from_secs(2));
is_of(
"preset=iam::READ_MODIFY_WRITE&base=500ms&max_backoff=1m+30s&deadline=300s&throttled_base=2s&max_retry_after=1h&retry_after_slack=1500us",
POLICY,
);
}

#[test]
fn codes_and_choices() {
{
#[retry(
    policy = iam::REQUEST
        .spread_retry_after(true),
    also_on = [418],
    factor = 1.5,
    max_attempts = 9,
    on = [429, 500..=504, Codes::UNKNOWN, Codes::DEADLINE_EXCEEDED, Codes::RESOURCE_EXHAUSTED, Codes::ABORTED, Codes::UNIMPLEMENTED, Codes::INTERNAL, Codes::UNAVAILABLE],
    retry_conflicts = true,
)]
async fn call() -> Result<(), Failure> {
    Err(Failure(503))
}
let _ = call;
}
const POLICY: Policy = iam::REQUEST
    .factor(1.5)
    .max_attempts(9)
    .on(codes![429, 500..=504, Codes::UNKNOWN, Codes::DEADLINE_EXCEEDED, Codes::RESOURCE_EXHAUSTED, Codes::ABORTED, Codes::UNIMPLEMENTED, Codes::INTERNAL, Codes::UNAVAILABLE])
    .retry_conflicts(true)
    .spread_retry_after(true)
    .also_on(codes![418]);
is_of(
"preset=iam::REQUEST&on=429,500..%3D504,ABORTED&also_on=418&idempotent=true&retry_conflicts=true&spread_retry_after=true&max_attempts=9&factor=1.5",
POLICY,
);
}

#[test]
fn additive() {
{
static BUDGET: Budget = Budget::ratio(0.2, 10);

#[retry(
    policy = iam::REQUEST
        .retry_after_alone(true),
    jitter = "1.5ms",
    max_attempts = unlimited,
    budget = BUDGET,
)]
async fn call() -> Result<(), Failure> {
    Err(Failure(503))
}
let _ = call;
}
static BUDGET: Budget = Budget::ratio(0.2, 10);

const POLICY: Policy = iam::REQUEST
    .jitter(Jitter::Additive(Duration::from_micros(1500)))
    .max_attempts(Policy::UNLIMITED)
    .retry_after_alone(true)
    .budget(&BUDGET);
is_of(
"preset=iam::REQUEST&jitter=additive(1500us)&max_attempts=unlimited&retry_after_alone=true&budget=ratio",
POLICY,
);
}

#[test]
fn proportional() {
{
#[retry(
    policy = s3::REQUEST
        .without_budget(),
    jitter = Jitter::Proportional(0.2),
)]
async fn call() -> Result<(), Failure> {
    Err(Failure(503))
}
let _ = call;
}
const POLICY: Policy = s3::REQUEST
    .without_budget()
    .jitter(Jitter::Proportional(0.2));
is_of(
"preset=s3::REQUEST&jitter=proportional(0.2)&budget=none",
POLICY,
);
}

#[test]
fn linear() {
{
#[retry(
    policy = Policy::linear(Duration::from_secs(2), Duration::from_millis(250))
        .budget(&s3::BUDGET)
        .max_attempts(3)
        .max_backoff(Duration::from_secs(20))
        .retry_after_slack(Duration::from_secs(5))
        .throttled_base(Duration::from_secs(1)),
    jitter = Jitter::AdditiveWithin(Duration::from_secs(1)),
)]
async fn call() -> Result<(), Failure> {
    Err(Failure(503))
}
let _ = call;
}
const POLICY: Policy = Policy::linear(Duration::from_secs(2), Duration::from_millis(250))
    .budget(&s3::BUDGET)
    .max_attempts(3)
    .max_backoff(Duration::from_secs(20))
    .retry_after_slack(Duration::from_secs(5))
    .throttled_base(Duration::from_secs(1))
    .jitter(Jitter::AdditiveWithin(Duration::from_secs(1)));
is_of(
"preset=s3::REQUEST&growth=linear(250ms)&base=2s&jitter=additive_within(1s)",
POLICY,
);
}

#[test]
fn slots() {
{
static BUDGET: Budget = Budget::grpc(10, 0.1);

#[retry(
    policy = Policy::slots(Duration::from_secs(1))
        .jitter(Jitter::Full)
        .max_attempts(11)
        .max_backoff(Duration::from_secs(32)),
    budget = BUDGET,
)]
async fn call() -> Result<(), Failure> {
    Err(Failure(503))
}
let _ = call;
}
static BUDGET: Budget = Budget::grpc(10, 0.1);

const POLICY: Policy = Policy::slots(Duration::from_secs(1))
    .jitter(Jitter::Full)
    .max_attempts(11)
    .max_backoff(Duration::from_secs(32))
    .budget(&BUDGET);
is_of(
"preset=kubernetes::REQUEST&growth=slots&jitter=full&budget=grpc",
POLICY,
);
}

#[test]
fn codes_beside_others() {
{
#[retry(
    policy = iam::REQUEST,
    also_on = [503, Codes::UNAVAILABLE],
    on = [429, Codes::RESOURCE_EXHAUSTED],
)]
async fn call() -> Result<(), Failure> {
    Err(Failure(503))
}
let _ = call;
}
const POLICY: Policy = iam::REQUEST
    .on(codes![429, Codes::RESOURCE_EXHAUSTED])
    .also_on(codes![503, Codes::UNAVAILABLE]);
is_of(
"preset=iam::REQUEST&on=429&also_on=503",
POLICY,
);
}

#[test]
fn longer_than_most() {
{
#[retry(
    policy = Policy::constant(Duration::from_secs(90))
        .max_attempts(4)
        .max_backoff(Duration::from_secs(120))
        .on(codes![408, 429, 449, 500, 502..=504, Codes::UNKNOWN, Codes::DEADLINE_EXCEEDED, Codes::RESOURCE_EXHAUSTED, Codes::INTERNAL, Codes::UNAVAILABLE]),
)]
async fn call() -> Result<(), Failure> {
    Err(Failure(503))
}
let _ = call;
}
const POLICY: Policy = Policy::constant(Duration::from_secs(90))
    .max_attempts(4)
    .max_backoff(Duration::from_secs(120))
    .on(codes![408, 429, 449, 500, 502..=504, Codes::UNKNOWN, Codes::DEADLINE_EXCEEDED, Codes::RESOURCE_EXHAUSTED, Codes::INTERNAL, Codes::UNAVAILABLE]);
is_of(
"preset=azure::STORAGE&growth=constant&base=90s",
POLICY,
);
}

#[test]
fn shorter_than_throttled() {
{
#[retry(
    policy = Policy::constant(Duration::from_millis(50))
        .budget(&s3::BUDGET)
        .max_attempts(3)
        .retry_after_slack(Duration::from_secs(5))
        .throttled_base(Duration::from_secs(1)),
    also_on = [418],
    max_backoff = "500ms",
)]
async fn call() -> Result<(), Failure> {
    Err(Failure(503))
}
let _ = call;
}
const POLICY: Policy = Policy::constant(Duration::from_millis(50))
    .budget(&s3::BUDGET)
    .max_attempts(3)
    .retry_after_slack(Duration::from_secs(5))
    .throttled_base(Duration::from_secs(1))
    .max_backoff(Duration::from_millis(500))
    .also_on(codes![418]);
is_of(
"preset=s3::REQUEST&growth=constant&max_backoff=500ms&also_on=418",
POLICY,
);
}

#[test]
fn no_codes() {
{
#[retry(
    policy = Policy::linear(Duration::from_millis(10), Duration::from_secs(1))
        .deadline(Duration::from_secs(30))
        .idempotent(false)
        .max_backoff(Duration::from_secs(1))
        .on(codes![])
        .retry_conflicts(true)
        .throttled_base(Duration::from_millis(100)),
)]
async fn call() -> Result<(), Failure> {
    Err(Failure(503))
}
let _ = call;
}
const POLICY: Policy = Policy::linear(Duration::from_millis(10), Duration::from_secs(1))
    .deadline(Duration::from_secs(30))
    .idempotent(false)
    .max_backoff(Duration::from_secs(1))
    .on(codes![])
    .retry_conflicts(true)
    .throttled_base(Duration::from_millis(100));
is_of(
"preset=postgres::TRANSACTION&growth=linear(1s)",
POLICY,
);
}

#[test]
fn methods() {
{
#[retry(
    policy = Policy::constant(Duration::from_secs(1))
        .idempotent_by_method()
        .on(codes![408, 425, 429, 500, 502..=504, Codes::UNKNOWN, Codes::DEADLINE_EXCEEDED, Codes::RESOURCE_EXHAUSTED, Codes::INTERNAL, Codes::UNAVAILABLE]),
)]
async fn call() -> Result<(), Failure> {
    Err(Failure(503))
}
let _ = call;
}
const POLICY: Policy = Policy::constant(Duration::from_secs(1))
    .idempotent_by_method()
    .on(codes![408, 425, 429, 500, 502..=504, Codes::UNKNOWN, Codes::DEADLINE_EXCEEDED, Codes::RESOURCE_EXHAUSTED, Codes::INTERNAL, Codes::UNAVAILABLE]);
is_of(
"preset=plain_http::BY_METHOD&growth=constant",
POLICY,
);
}

#[test]
fn fibonacci() {
{
#[retry(
    policy = Policy::fibonacci(Duration::from_secs(1))
        .max_attempts(11)
        .max_backoff(Duration::from_secs(32)),
    jitter = whole_seconds,
)]
async fn call() -> Result<(), Failure> {
    Err(Failure(503))
}
let _ = call;
}
const POLICY: Policy = Policy::fibonacci(Duration::from_secs(1))
    .max_attempts(11)
    .max_backoff(Duration::from_secs(32))
    .jitter(Jitter::WholeSeconds);
is_of(
"preset=kubernetes::REQUEST&growth=fibonacci&jitter=whole_seconds&base=1s",
POLICY,
);
}
