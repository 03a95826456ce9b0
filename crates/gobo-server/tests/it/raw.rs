//! The generated client, for requests that a client of this house does not send.

use gobo_client::Client;
use gobo_proto::v1::gobo_client::GoboClient;
use tonic::transport::{Channel, Endpoint};

/// A connection of its own to the daemon of a client.
pub(crate) fn raw(client: &Client) -> GoboClient<Channel> {
    GoboClient::new(Endpoint::from_shared(client.address().to_owned()).unwrap().connect_lazy())
}
