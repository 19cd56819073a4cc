//! Types that `Debug` shows by their name alone, because they hold the caller's functions.

macro_rules! named_in_debug {
    ($($name:ident),+ $(,)?) => {
        $crate::named_debug::named_in_debug!($($name<F>),+);
    };
    ($($name:ident<$($parameter:ident),+>),+ $(,)?) => {
        $(
            impl<$($parameter),+> core::fmt::Debug for $name<$($parameter),+> {
                fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                    f.write_str(concat!(stringify!($name), "(..)"))
                }
            }
        )+
    };
}

pub(crate) use named_in_debug;
