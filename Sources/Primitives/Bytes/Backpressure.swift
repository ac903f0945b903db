/// The answer of a consumer to a write of bytes: whether it takes more. A write never blocks, so the producer must act
/// on this answer.
package enum Backpressure: Sendable {
    /// The consumer took the bytes and has room for more.
    case room
    /// The consumer took the bytes. The producer waits with more until the consumer calls back.
    case full
    /// The consumer is gone: it dropped these bytes, and drops all further bytes.
    case closed
}
