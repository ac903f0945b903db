/// The reason for which a switch did not bring a member into the generation.
package struct MemberLoss: Hashable, Sendable {
    package var reason: String
    /// Whether readers keep the copy of the old generation, if it had one.
    package var keepsCopy: Bool
    /// Whether another fetch is likely to bring the member back.
    package var isPassing: Bool

    package init(_ reason: String, keepsCopy: Bool = false, isPassing: Bool = false) {
        self.reason = reason
        self.keepsCopy = keepsCopy
        self.isPassing = isPassing
    }
}
