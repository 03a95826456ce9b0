//! The gRPC adapter over the engine
