//! Generated gRPC types and services of gobo
