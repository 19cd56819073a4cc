//! The value of a reply without a body.

use serde::{
    de::{self, DeserializeOwned, Visitor, value::Error},
    forward_to_deserialize_any,
};

/// The kinds of replies without a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Empty {
    /// There is no body, and HTTP says that the body is empty.
    Surely,
    /// There is no body, but the body may have been cut.
    Perhaps,
    /// An empty JSON object. Google answers a delete with it.
    Object,
}

impl Empty {
    /// The value for such a reply: `()` in every case, and `None` for an `Option` if the body is surely
    /// empty.
    pub(super) fn value<T: DeserializeOwned>(self) -> Option<T> {
        T::deserialize(self).ok()
    }
}

fn no_value<T>() -> Result<T, Error> {
    let text = "an empty body is not a value of this type";
    Err(de::Error::custom(text))
}

impl<'de> de::Deserializer<'de> for Empty {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Error> {
        no_value()
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_unit()
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_unit()
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_unit()
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self {
            Empty::Surely => visitor.visit_none(),
            Empty::Perhaps | Empty::Object => no_value(),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf seq tuple
        tuple_struct map struct enum identifier
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::{Deserialize, de::IgnoredAny};
    use serde_json::Value;

    #[derive(Debug, PartialEq, Deserialize)]
    struct Unit;

    #[derive(Debug, PartialEq, Deserialize)]
    struct Wrapper(Option<u8>);

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(default)]
    struct Filled {
        name: String,
    }

    impl Default for Filled {
        fn default() -> Self {
            Filled { name: "x".into() }
        }
    }

    #[test]
    fn an_empty_body_is_a_unit_and_none() {
        for empty in [Empty::Surely, Empty::Object] {
            assert_eq!(empty.value::<()>(), Some(()));
            assert_eq!(empty.value::<Unit>(), Some(Unit));
            assert!(empty.value::<IgnoredAny>().is_some());
            let is_none = empty == Empty::Surely;
            assert_eq!(empty.value::<Option<u8>>(), is_none.then_some(None));
            assert_eq!(empty.value::<Wrapper>(), is_none.then_some(Wrapper(None)));
        }
    }

    #[test]
    fn an_empty_body_is_no_other_value() {
        assert_eq!(Empty::Surely.value::<Value>(), None);
        assert_eq!(Empty::Surely.value::<String>(), None);
        assert_eq!(Empty::Surely.value::<Vec<u8>>(), None);
        assert_eq!(Empty::Surely.value::<Filled>(), None);
    }
}
