/// The result of one request for a member's URL.
package enum MemberAnswer: Sendable {
    /// The origin confirmed the body of the held copy.
    case confirmed(least: Duration)
    /// A body has arrived, and waits for the switch.
    case staged(isChanged: Bool, least: Duration)
    /// A failure that will last, such as a 404: the member leaves the generation.
    case gone(reason: String, forever: Bool)
    /// The origin refuses the resource to the caller, as with 401 and 403. The member keeps its copy, and waits for a
    /// day or for another secret.
    case forbidden(reason: String)
    /// Any other refusal that a day may change, such as a 400. The member keeps its copy.
    case refused(reason: String)
    /// A failure that may pass, such as a 503 or a reset connection. `pause`: as the origin asks.
    case failed(reason: String, pause: Duration?)
    /// The cache has no room for both generations, because the bodies of the round so far take it.
    case noRoom
    /// The cache has no room for the body alone, as for an endless stream. The member keeps its copy, and the other
    /// members go on.
    case noRoomAlone(reason: String)
}
