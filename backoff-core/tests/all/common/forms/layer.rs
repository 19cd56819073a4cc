//! The layer of tower.

use super::{Ended, Form, Judge, Kind, Own, Reply, Rule, Signal, Trial};
use crate::common::error::TestError;
use http_1::{Request, Response};
use tower::{Layer as _, ServiceExt as _, service_fn};

pub(super) const FORMS: &[Form] = &[
    Form::new("layer", Kind::Layer, layer),
    Form::new("layer, hedged", Kind::Layer, hedged).with_own(Own::Hedge),
];

macro_rules! send {
    ($trial:ident, $layer:expr) => {{
        let layer = $layer.runtime($trial.time.clone()).notify($trial.hook());
        let service = service_fn(|_: Request<()>| async {
            let Reply(status) = $trial.attempt().await?;
            let mut response = Response::new(());
            *response.status_mut() = status.try_into().unwrap();
            Ok::<_, TestError>(response)
        });
        let request = Request::new(());
        let sending = layer.layer(service).oneshot(request);
        $trial.wait(async {
            sending
                .await
                .map(|response| Reply(response.status().as_u16()))
        })
    }};
}

macro_rules! limits {
    ($trial:ident, $layer:expr) => {
        match $trial.setting.attempt_timeout {
            None => send!($trial, $layer),
            Some(limit) => send!($trial, $layer.attempt_timeout(limit)),
        }
    };
}

macro_rules! signals {
    ($trial:ident, $layer:expr) => {
        match $trial.setting.signal {
            None => limits!($trial, $layer),
            Some(Signal::StopOn(_)) => limits!($trial, $layer.stop_on(|| $trial.signal())),
            Some(Signal::CutOn(_)) => limits!($trial, $layer.cut_on(|| $trial.signal())),
        }
    };
}

macro_rules! judges {
    ($trial:ident $(, $method:ident($value:expr))?) => {{
        let policy = $trial.policy;
        let idempotent = !$trial.setting.is_careful;
        assert!(matches!($trial.setting.rule, Rule::AnyValue | Rule::Responses));
        match $trial.setting.judge {
            Judge::Codes => {
                signals!($trial, policy.layer().idempotent(idempotent)$(.$method($value))?)
            }
            Judge::When(judge) => {
                signals!($trial, policy.when(judge).layer().idempotent(idempotent)$(.$method($value))?)
            }
            Judge::WhenAny(judge) => {
                signals!($trial, policy.when_any(judge).layer().idempotent(idempotent)$(.$method($value))?)
            }
        }
    }};
}

fn layer<'t>(trial: &'t Trial<'t>) -> Option<Ended> {
    judges!(trial)
}

fn hedged<'t>(trial: &'t Trial<'t>) -> Option<Ended> {
    judges!(trial, hedge(trial.hedge))
}
