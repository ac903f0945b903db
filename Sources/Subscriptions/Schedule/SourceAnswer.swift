/// The result of a refresh of a subscription's source.
package enum SourceAnswer: Sendable {
    /// The items in their order. `least`: see ``RefreshInterval/next(after:isChanged:least:)``.
    case items([WantedItem], least: Duration)
    /// The source confirmed its items.
    case unchanged(least: Duration)
    /// No usable list: no answer, an empty one, or one that is no list.
    case failed(reason: String, pause: Duration?)
}
