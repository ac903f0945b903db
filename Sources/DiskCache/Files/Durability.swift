/// What survives what, of all that was acknowledged.
public enum Durability: String, CaseIterable, Sendable {
    /// It is with the kernel: it survives `kill -9`, and not a power cut. What that leaves is whole, too, but may be of
    /// some seconds before.
    case process
    /// It is on the disk, which is waited for: it survives a power cut.
    case power
}
