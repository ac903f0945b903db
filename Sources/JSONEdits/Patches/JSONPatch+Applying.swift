import Primitives

extension JSONPatch {
    /// The error of an operation that cannot take effect.
    package struct Failure: Error, Hashable, Sendable, CustomStringConvertible {
        /// The place of the operation in the patch, from 0; `nil` if the document itself is beyond the limits.
        package var operation: Int?
        /// The place in the document, for example of the first missing value on the way to the operation's target.
        package var pointer: JSONPointer
        /// The reason, as words that may follow a colon.
        package var reason: String

        package var description: String {
            let place = pointer.tokens.isEmpty ? "the whole document" : "\(pointer)"
            return (operation.map { "operation \($0), at \(place): " } ?? "") + reason
        }
    }

    /// Applies the operations in their order, and returns the changed document (RFC 6902 §5). Throws ``Failure`` for
    /// the first operation that fails; then no operation has taken effect. A member that an operation adds becomes the
    /// last member of its object. The text of numbers that no operation touches stays the same.
    ///
    /// The time is about proportional to the sum of the document, the patch and the copied bytes.
    package func applied(to document: JSON, limits: Limits = Limits()) throws(Failure) -> JSON {
        if let place = document.placeDeeper(than: limits.depth) {
            let reason = "the document is nested deeper than \(limits.depth) levels"
            throw Failure(operation: nil, pointer: place, reason: reason)
        }
        var patched = PatchedDocument(document, limits: limits)
        for (index, operation) in operations.enumerated() {
            do throws(PatchedDocument.Fault) {
                try patched.apply(operation)
            } catch {
                throw Failure(operation: index, pointer: error.pointer, reason: error.reason)
            }
        }
        return patched.json
    }
}
