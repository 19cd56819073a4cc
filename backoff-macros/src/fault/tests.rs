//! The written code for an error, and the messages about wrong attributes.

use super::*;
use expect_test::expect;

fn written(item: &str) -> String {
    derive("backoff_cloud", item.parse().unwrap()).to_string()
}

#[test]
fn an_enum_beside_thiserror() {
    let written = derive(
        "backoff_core",
        quote! {
            #[fault(permanent)]
            enum Error<E> {
                #[error("status {code}")]
                #[fault(status = self.code, retry_after = wait)]
                Api { code: u16, wait: Option<Duration> },
                #[fault(conflict)]
                Changed,
                #[fault(forward, maybe_sent)]
                Inner(#[from] E),
                Config(String),
            }
        },
    );
    let file = syn::parse2(written).unwrap();
    expect![[r#"
        #[automatically_derived]
        impl<E> ::backoff_core::Fault for Error<E>
        where
            E: ::backoff_core::Fault,
        {
            fn inner(&self) -> ::backoff_core::__private::Option<&dyn ::backoff_core::Fault> {
                match self {
                    Self::Inner { 0: __field_0, .. } => {
                        ::backoff_core::__private::Forward::forward(__field_0)
                    }
                    _ => ::core::option::Option::None,
                }
            }
            fn status(&self) -> ::backoff_core::__private::Option<::core::primitive::u16> {
                match self {
                    Self::Api { code: __field_code, .. } => {
                        ::backoff_core::__private::Fact::<
                            ::core::primitive::u16,
                        >::fact(&((*__field_code)))
                    }
                    _ => {
                        ::backoff_core::Fault::inner(self)
                            .and_then(|__inner| ::backoff_core::Fault::status(__inner))
                    }
                }
            }
            fn retry_after(
                &self,
            ) -> ::backoff_core::__private::Option<::backoff_core::__private::Duration> {
                match self {
                    Self::Api { wait: __field_wait, .. } => {
                        ::backoff_core::__private::Fact::<
                            ::backoff_core::__private::Duration,
                        >::fact(&((*__field_wait)))
                    }
                    _ => {
                        ::backoff_core::Fault::inner(self)
                            .and_then(|__inner| ::backoff_core::Fault::retry_after(__inner))
                    }
                }
            }
            fn kind(&self) -> ::backoff_core::__private::Option<::backoff_core::FaultKind> {
                match self {
                    Self::Changed { .. } => {
                        ::core::option::Option::Some(::backoff_core::FaultKind::Conflict)
                    }
                    Self::Config { .. } => {
                        ::core::option::Option::Some(::backoff_core::FaultKind::Permanent)
                    }
                    _ => {
                        ::backoff_core::Fault::inner(self)
                            .and_then(|__inner| ::backoff_core::Fault::kind(__inner))
                    }
                }
            }
            fn delivery(&self) -> ::backoff_core::__private::Option<::backoff_core::Delivery> {
                match self {
                    Self::Inner { .. } => {
                        ::core::option::Option::Some(::backoff_core::Delivery::MaybeSent)
                    }
                    _ => {
                        ::backoff_core::Fault::inner(self)
                            .and_then(|__inner| ::backoff_core::Fault::delivery(__inner))
                    }
                }
            }
            fn message(&self) -> ::backoff_core::__private::Option<&dyn ::core::fmt::Display> {
                use ::backoff_core::__private::via::*;
                (&::backoff_core::__private::Facts(self)).__backoff_text()
            }
        }
    "#]]
    .assert_eq(&prettyplease::unparse(&file));
}

#[test]
fn each_message_says_what_to_write() {
    let rows = [
        (
            "#[fault(retryable)] struct E;",
            "write `transient`; the keys are",
        ),
        ("#[fault(transparent)] struct E(A);", "write `forward`;"),
        ("#[fault(source)] struct E(A);", "write `forward`;"),
        ("#[fault(code = 503)] struct E;", "write `status`;"),
        (
            "enum E { #[fault(http_status = self.0)] A(u16) }",
            "write `status`;",
        ),
        (
            "enum E { #[fault(status)] Api(u16) }",
            "write `Api(#[fault(status)] u16)`, or `status = 503` here",
        ),
        (
            "enum E { #[fault(retry_after)] Busy { wait: Option<Duration> } }",
            "write `Busy { #[fault(retry_after)] wait: Option<Duration> }`",
        ),
        (
            "#[fault(status)] struct E { a: A, code: u16 }",
            "write `#[fault(status)]` before the field that has it, or `status = 503` here",
        ),
        (
            "struct E(#[fault(transparent)] A);",
            "write `#[fault(forward)]`",
        ),
        (
            "struct E(#[fault(http_status)] u16);",
            "write `#[fault(status)]`",
        ),
        ("#[fault(status)] struct E;", "write `status = 503`"),
        (r#"#[fault(status = "503")] struct E;"#, "from 400 to 599"),
        ("#[fault(status = 1 +)] struct E;", "like `status = 503`"),
        ("#[fault()] struct E;", "needs a fact"),
        ("#[fault(transient, transient)] struct E;", "given twice"),
        ("#[fault(transient = true)] struct E;", "takes no value"),
        ("#[fault(forward)] struct E;", "needs a field with an error"),
        ("struct E(#[fault(transient)] A);", "a field can be marked"),
        ("union E { a: u8 }", "an enum or a struct"),
        ("enum E { #[fault(colour)] A }", "unknown key `colour`"),
    ];
    for (item, part) in rows {
        let written = written(item);
        let (_, message) = written.split_once("compile_error !").expect(item);
        assert!(message.contains(part), "{item}: {message}");
    }
}

#[test]
fn a_mistake_leaves_an_implementation() {
    let written = written("#[fault(colour)] struct E;");
    assert!(
        written.contains("impl :: backoff_cloud :: Fault for E"),
        "{written}"
    );
}
