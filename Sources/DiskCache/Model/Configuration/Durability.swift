/// The failures that an acknowledged change survives.
package enum Durability: String, CaseIterable, Sendable {
    /// The change is with the kernel: it survives `kill -9`, but not a power cut. After a power cut the cache is
    /// consistent too, but may be in a state of some seconds before.
    case process
    /// The change is on the disk before it is acknowledged: it survives a power cut.
    case power
}
