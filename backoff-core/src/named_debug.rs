//! Types that `Debug` shows by their name alone, because they hold the caller's functions.

macro_rules! named_in_debug {
    ($($name:ident),+ $(,)?) => {
        $(
            impl<F> core::fmt::Debug for $name<F> {
                fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                    f.write_str(concat!(stringify!($name), "(..)"))
                }
            }
        )+
    };
}

pub(crate) use named_in_debug;
