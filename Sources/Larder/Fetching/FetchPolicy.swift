import Origin

/// The part of a fetch that differs between `/download` and `/fetch`: the request, the meaning of its answer, and the
/// delivery to callers. ``Fetch`` calls the methods when its machine says so, without the fetch's lock.
protocol FetchPolicy: Sendable {
    associatedtype Caller: Sendable
    /// State that only the policy uses. It changes under the fetch's lock.
    associatedtype Notes: Sendable

    var rules: FetchRules { get }

    /// Reserves the entry that may follow, so that the cache applies each purge from now on to this entry.
    func reserve(for fetch: Fetch<Self>)
    /// Looks into the cache once more, and tells `completion` whether the cache has the answer now.
    func lookAgain(for fetch: Fetch<Self>, completion: @escaping @Sendable (Bool) -> Void)
    func makeRequest(for fetch: Fetch<Self>) -> OriginRequest
    /// Called when the origin client has got the transfer.
    func didAsk(for fetch: Fetch<Self>)
    /// Judges the head of an answer. Returns the event that follows, or `nil` when the policy handles it later. An
    /// error ends the transfer.
    func judge(_ head: OriginHead, for fetch: Fetch<Self>) throws -> Fetch<Self>.Event?
    func didAnswerInterim(_ head: OriginHead, for fetch: Fetch<Self>)
    /// Takes the next bytes of the body. An error ends the transfer.
    func didReceive(_ bytes: UnsafeRawBufferPointer, for fetch: Fetch<Self>) throws
    /// Called when all bytes that have arrived are processed, and the answer is not complete.
    func didPause(for fetch: Fetch<Self>)
    /// Called when the transfer has ended, before the machine gets the event.
    func willEnd(isBroken: Bool, for fetch: Fetch<Self>)
    /// Forgets the held response before the origin is asked again without validators.
    func forgetHeld(for fetch: Fetch<Self>)
    /// Removes the responses that the answer invalidates, and raises ``FetchMachine/Event/began(isKept:isOpen:)``.
    func invalidate(for fetch: Fetch<Self>)
    /// Stores the confirmation of the held response, and raises ``FetchMachine/Event/refreshed(_:)``.
    func refresh(for fetch: Fetch<Self>)
    /// Stores the answer, and raises ``FetchMachine/Event/stored`` or ``FetchMachine/Event/broke(_:)``.
    func store(_ summary: OriginSummary, for fetch: Fetch<Self>)
    /// Tells the readers of the body that it will never be whole.
    func breakOff(for fetch: Fetch<Self>)
    /// Gives callers the outcome before the fetch ends.
    func deliver(_ outcome: Fetch<Self>.Outcome, to waiters: [Fetch<Self>.Waiter], for fetch: Fetch<Self>)
    /// Takes the fetch out of its table, and gives the outcome to the callers that still wait.
    func end(_ outcome: Fetch<Self>.Outcome, for waiters: [Fetch<Self>.Waiter], of fetch: Fetch<Self>)
}

/// Defaults for a policy that gives callers the answer only when it is stored.
extension FetchPolicy {
    func didAsk(for fetch: Fetch<Self>) {}
    func didAnswerInterim(_ head: OriginHead, for fetch: Fetch<Self>) {}
    func didPause(for fetch: Fetch<Self>) {}
    func willEnd(isBroken: Bool, for fetch: Fetch<Self>) {}
    func invalidate(for fetch: Fetch<Self>) {}
    func breakOff(for fetch: Fetch<Self>) {}
    func deliver(_ outcome: Fetch<Self>.Outcome, to waiters: [Fetch<Self>.Waiter], for fetch: Fetch<Self>) {}
}

/// A demand to the transfer of a fetch.
enum TransferDemand: Sendable {
    case pause, resume, cancel
}

extension OriginTransfer {
    func obey(_ demand: TransferDemand) {
        switch demand {
        case .pause: pause()
        case .resume: resume()
        case .cancel: cancel()
        }
    }
}
