//! Why a piece of inline PTX stays as it is.

/// The reason, in words for the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal(pub String);

/// What a step of the translation gives: a result, or the reason why there is none.
pub(super) type Lifted<T> = Result<T, Refusal>;

/// Refuses with a reason.
pub(super) fn refuse<T>(why: impl Into<String>) -> Lifted<T> {
    Err(Refusal(why.into()))
}
