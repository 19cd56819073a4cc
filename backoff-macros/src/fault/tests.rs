//! The written code for an error, and the messages about wrong attributes.

use super::*;
use expect_test::expect;

fn message(item: TokenStream) -> String {
    let written = derive("backoff_core", item).to_string();
    let (_, message) = written.split_once("compile_error !").expect(&written);
    message.to_owned()
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
                        >::fact(__field_code)
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
                        >::fact(__field_wait)
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
    let cases = [
        (
            quote!(
                #[fault(statu = 503)]
                struct E;
            ),
            "write `status`;",
        ),
        (
            quote!(
                #[fault(retryable)]
                struct E;
            ),
            "the keys are `status`",
        ),
        (
            quote!(
                #[fault(status)]
                struct E;
            ),
            "write `status = 503`",
        ),
        (
            quote!(
                #[fault(503)]
                struct E;
            ),
            "write `status = 503`",
        ),
        (
            quote!(
                #[fault(status = 200)]
                struct E;
            ),
            "from 400 to 599",
        ),
        (
            quote!(
                #[fault(status = "503")]
                struct E;
            ),
            "from 400 to 599",
        ),
        (
            quote!(
                #[fault(status = 1 +)]
                struct E;
            ),
            "write it like `status = 503`",
        ),
        (
            quote!(
                #[fault]
                struct E;
            ),
            "says nothing yet",
        ),
        (
            quote!(
                #[fault()]
                struct E;
            ),
            "says nothing yet",
        ),
        (
            quote!(
                #[fault(transient, permanent)]
                struct E;
            ),
            "cannot both be true",
        ),
        (
            quote!(
                #[fault(transient, transient)]
                struct E;
            ),
            "given twice",
        ),
        (
            quote!(
                #[fault(transient = true)]
                struct E;
            ),
            "takes no value",
        ),
        (
            quote!(
                #[fault(forward)]
                struct E;
            ),
            "no error inside",
        ),
        (
            quote!(
                #[fault(forward)]
                struct E(A, B);
            ),
            "`#[fault(forward)]` at the one",
        ),
        (
            quote!(
                struct E(#[fault(transient)] A);
            ),
            "a field is marked",
        ),
        (quote!(union E { a: u8 }), "an enum or a struct"),
        (
            quote!(
                enum E {
                    #[fault(colour)]
                    A,
                }
            ),
            "unknown key `colour`",
        ),
    ];
    for (item, part) in cases {
        let shown = item.to_string();
        let message = message(item);
        assert!(message.contains(part), "{shown}: {message}");
    }
}

#[test]
fn a_mistake_leaves_an_implementation() {
    let written = derive(
        "backoff_cloud",
        quote!(
            #[fault(colour)]
            struct E;
        ),
    )
    .to_string();
    assert!(
        written.contains("impl :: backoff_cloud :: Fault for E"),
        "{written}"
    );
}
