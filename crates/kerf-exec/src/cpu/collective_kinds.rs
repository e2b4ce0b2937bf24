//! Numbers by which compiled code tells the runtime what threads do together.

/// In place of a barrier's reduction: the thread goes on without waiting.
pub const ARRIVE: u32 = 4;

/// Kinds of warp operation.
pub mod warp {
    /// shfl.up
    pub const SHFL_UP: u32 = 0;
    /// shfl.down
    pub const SHFL_DOWN: u32 = 1;
    /// shfl.bfly
    pub const SHFL_BFLY: u32 = 2;
    /// shfl.idx
    pub const SHFL_IDX: u32 = 3;
    /// vote.all
    pub const ALL: u32 = 4;
    /// vote.any
    pub const ANY: u32 = 5;
    /// vote.uni
    pub const UNI: u32 = 6;
    /// vote.ballot
    pub const BALLOT: u32 = 7;
    /// match.any
    pub const MATCH_ANY: u32 = 8;
    /// match.all
    pub const MATCH_ALL: u32 = 9;
    /// activemask
    pub const ACTIVE: u32 = 10;
    /// bar.warp.sync
    pub const SYNC: u32 = 11;
    /// elect.sync
    pub const ELECT: u32 = 12;
    /// redux.sync, plus the operation
    pub const REDUX: u32 = 16;
    /// mma.sync and wmma.mma
    pub const MULTIPLY: u32 = 32;
    /// Added to a shuffle: of shadows, for which lanes that take no part are undefined.
    pub const SHADOW: u32 = 64;
    /// Operations of redux, in order.
    pub const REDUX_OPS: [&str; 8] = ["add", "min", "max", "umin", "umax", "and", "or", "xor"];
}
