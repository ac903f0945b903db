/// The way in which a requested value should be read, in the present state of its memory tier.
enum MemoryWay: Sendable {
    /// Through the tier: the value is in it, or there is room for the value.
    case `in`
    /// Past the tier: the value would displace other values, and was not requested a short time before.
    case past
    /// Past the tier, and then into it: the value was requested a short time before, so it may displace other values.
    case pastAndIn
}
