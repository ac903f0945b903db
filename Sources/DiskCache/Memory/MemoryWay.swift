/// The way to read a requested value, in the present state of its memory tier.
enum MemoryWay: Sendable {
    /// The value is in the tier, or there is room for it.
    case `in`
    /// Past the tier: the value would displace other values, and was not requested a short time before.
    case past
    /// Past the tier, and then into it: the value was requested a short time before, so it may displace other values.
    case pastAndIn
}
