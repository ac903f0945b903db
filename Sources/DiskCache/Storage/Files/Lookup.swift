enum Lookup<Value: Sendable>: Sendable {
    case found(Value)
    /// The data must be read from the disk, and the caller did not allow that.
    case onDisk
}
