//! Batches made on a thread of their own while the backend computes.
use super::TrainError;
use crate::backend::Batch;
use crate::data::{DataError, Dataset};
use std::sync::mpsc::sync_channel;

/// Batches that are ready before they are needed.
const AHEAD: usize = 2;

/// Gives each batch to `work`, in order, until one fails.
pub fn each(
    data: &dyn Dataset,
    jobs: &[(Vec<usize>, u64)],
    mut work: impl FnMut(Result<Batch, DataError>) -> Result<(), TrainError>,
) -> Result<(), TrainError> {
    std::thread::scope(|scope| {
        let (send, receive) = sync_channel(AHEAD);
        scope.spawn(move || {
            for (indices, augment) in jobs {
                // Nobody waits for it any more: the other end has failed.
                if send.send(data.batch(indices, Some(*augment))).is_err() {
                    break;
                }
            }
        });
        for batch in receive {
            work(batch)?;
        }
        Ok(())
    })
}
