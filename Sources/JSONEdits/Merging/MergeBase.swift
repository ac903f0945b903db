/// The version that both sides of a three-way merge started from: the version that the author of a change saw.
///
/// An unknown version differs from a missing version. If the version is unknown, a member that only one side has may be
/// new on that side or removed on the other side, and a merge must not guess. If the version is known to be missing,
/// the member is new.
package enum MergeBase<Value> {
    /// No version is at hand, for example for a change that was made without reading.
    case unknown
    /// There was no document, for example because the server answered with 404.
    case missing
    case value(Value)
}

extension MergeBase: Sendable where Value: Sendable {}
extension MergeBase: Equatable where Value: Equatable {}
extension MergeBase: Hashable where Value: Hashable {}
