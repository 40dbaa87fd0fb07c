//! Every fallible op comes twice: one panics at the user's line, its `try_` twin returns the same text as an error.

/// Writes both twins of each method. The body is the `try_` one's.
macro_rules! twins {
    ($(
        $(#[$meta:meta])*
        fn $name:ident $try_name:ident $([$($generics:tt)*])? (&$this:ident $(, $arg:ident: $ty:ty)* $(,)?) -> $out:ty $([$($bounds:tt)*])? $body:block
    )*) => {$(
        $(#[$meta])*
        #[track_caller]
        pub fn $name $(<$($generics)*>)? (&$this $(, $arg: $ty)*) -> $out $(where $($bounds)*)? {
            $crate::error::OrRaise::or_raise($this.$try_name($($arg),*))
        }

        #[doc = concat!("As [`", stringify!($name), "`](Self::", stringify!($name), "), with an error in place of a panic.")]
        #[track_caller]
        pub fn $try_name $(<$($generics)*>)? (&$this $(, $arg: $ty)*) -> $crate::error::Result<$out> $(where $($bounds)*)? $body
    )*};
}

/// As [`twins`], for functions without a receiver.
macro_rules! twin_functions {
    ($(
        $(#[$meta:meta])*
        fn $name:ident $try_name:ident $([$($generics:tt)*])? ($($arg:ident: $ty:ty),* $(,)?) -> $out:ty $body:block
    )*) => {$(
        $(#[$meta])*
        #[track_caller]
        pub fn $name $(<$($generics)*>)? ($($arg: $ty),*) -> $out {
            $crate::error::OrRaise::or_raise(Self::$try_name($($arg),*))
        }

        #[doc = concat!("As [`", stringify!($name), "`](Self::", stringify!($name), "), with an error in place of a panic.")]
        #[track_caller]
        pub fn $try_name $(<$($generics)*>)? ($($arg: $ty),*) -> $crate::error::Result<$out> $body
    )*};
}

pub(super) use {twin_functions, twins};
