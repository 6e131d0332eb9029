//! ONNX.
pub mod onnx;
pub mod runtime;
