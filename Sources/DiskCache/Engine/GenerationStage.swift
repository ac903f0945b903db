import Primitives

/// The next generation of the entries that a holder holds, while its bodies arrive. Readers get the old generation
/// until ``publish(_:ends:completion:)``, and then the new one at one instant. Dropping the last reference abandons the
/// stage, as a restart does.
///
/// ```swift
/// cache.beginGeneration(of: "news") { result in
///     let stage = try result.get()
///     let body = stage.reserveBody()         // receive, then publish: the digest of the entry names the body
///     …
///     stage.publish([GenerationMember(key, url: url, .staged(digest: digest, metadata), replacing: nil)]) { … }
/// }
/// ```
package final class GenerationStage: Sendable {
    package let holder: String
    private let bodies: CaptureBodies
    private let writer: Writer

    init(_ holder: String, _ bodies: CaptureBodies, writer: Writer) {
        self.holder = holder
        self.bodies = bodies
        self.writer = writer
    }

    /// Begins to receive a body, which counts against the disk limit. The metadata of its publish has no effect. A body
    /// that the stage or a page has already is not stored again.
    package func reserveBody() -> Reservation { bodies.reserve() }

    /// Replaces the holder's generation. `ends: false`: the stage goes on, with the bodies of no member. A former
    /// member that is not among `members` stays as an ordinary entry, unless another holder holds it. Further
    /// members of one key have no effect. `completion` gets ``DiskCacheError/noSpace``, and the old generation stays
    /// whole, when the members do not fit beside the other held and pinned entries; then the stage can be published
    /// again, with other members.
    package func publish(
        _ members: [GenerationMember], ends: Bool = true, completion: @escaping Completion<GenerationSwitch>
    ) {
        let operation = SwitchOperation(holder: holder, capture: bodies.number, members: members, ends: ends)
        writer.submit(operation.run) { [self] result in withExtendedLifetime(self) { completion(result) } }
    }

    /// Discards the bodies, and gives their room back in the background. Has no effect after a publish.
    package func abandon() { bodies.abandon() }
}
