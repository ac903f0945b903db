/// What whoever takes bytes says about more of them. It never blocks, so who has the bytes must heed it.
public enum Backpressure: Sendable {
    /// The bytes were taken, and there is room for more.
    case room
    /// The bytes were taken, and no more should come before it calls back.
    case full
    /// Nobody wants more bytes: these were dropped, and so will be all that follow.
    case closed
}
