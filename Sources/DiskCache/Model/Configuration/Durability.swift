/// The failures that an acknowledged change survives.
package enum Durability: String, CaseIterable, Sendable {
    /// The change is with the kernel: it survives `kill -9`. A power cut may undo the last seconds, consistently.
    case process
    /// The change is on the disk before it is acknowledged: it survives a power cut.
    case power
}
