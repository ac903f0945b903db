import Primitives

/// The next generation of the entries that a holder holds, while its bodies arrive. Readers get the old generation
/// until ``publish(_:ends:completion:)``, and then the new one at one instant. Dropping the last reference abandons the
/// stage, as a restart does.
///
/// ```swift
/// cache.beginGeneration(of: "news") { result in
///     let stage = try result.get()
///     var member = stage.member(key, url: url)   // before the entry is read and the request is sent
///     let body = stage.reserveBody()             // receive, then publish: the digest of the entry names the body
///     …
///     member.body = .staged(digest: digest, metadata)
///     stage.publish([member]) { … }
/// }
/// ```
package final class GenerationStage: Sendable {
    package let holder: String
    private let bodies: CaptureBodies
    private let pending: PendingMembers
    private let writer: Writer

    init(_ holder: String, _ bodies: CaptureBodies, _ pending: PendingMembers, writer: Writer) {
        self.holder = holder
        self.bodies = bodies
        self.pending = pending
        self.writer = writer
    }

    /// Begins the fetch of a member; call it before its entry is read and its request is sent. From now on, a purge of
    /// the key or URL removes the member from the next generation, even if the key has no entry yet, and a caller's
    /// change of the entry's metadata prevails over the metadata of the member, as with ordinary downloads. Another
    /// fetch of the same key, such as a retry after a loss, needs another member. `key` has the form
    /// ``CacheKey/Form/url``, or ``CacheKey/Form/page`` for a page, which a capture has stored already. `url` is
    /// canonical. `tags` are added to the tags of the entry.
    package func member(_ key: CacheKey, url: String, tags: [String] = []) -> GenerationMember {
        let store = PendingStore(key: key, kind: key.form == .page ? .page : .download, url: url, tags: tags)
        return GenerationMember(key: key, url: url, pending: PendingMember(store, in: pending))
    }

    /// Begins to receive a body, which counts against the disk limit. The metadata of its publish has no effect. A body
    /// that the stage or a page has already is not stored again.
    package func reserveBody() -> Reservation { bodies.reserve() }

    /// Whether so many bytes would have room if all entries went that can be evicted. Bodies under way take room for
    /// this, and the bodies of stages take none.
    package func couldHold(_ bytes: Int64) -> Bool { bodies.couldHold(bytes) }

    /// Replaces the holder's generation. `ends: false`: the stage goes on with all bodies. A former
    /// member that is not among `members` stays as an ordinary entry, unless another holder holds it. Further
    /// members of one key have no effect. A member that cannot be in the generation is reported in
    /// ``GenerationSwitch/lost``, and one that keeps its old copy in ``GenerationSwitch/outdated``; neither harms the
    /// others. `completion` gets ``DiskCacheError/noSpace``, and the
    /// old generation stays whole, when the members need more room than the old generation and do not fit beside the
    /// other held and pinned entries; then the stage can be published again, with other members.
    package func publish(
        _ members: [GenerationMember], ends: Bool = true, completion: @escaping Completion<GenerationSwitch>
    ) {
        for member in members { member.addTags() }
        let operation = SwitchOperation(holder: holder, capture: bodies.number, members: members, ends: ends)
        writer.submit(operation.run) { [self] result in withExtendedLifetime(self) { completion(result) } }
    }

    /// Discards the bodies, and gives their room back in the background. Has no effect after a publish.
    package func abandon() { bodies.abandon() }
}
