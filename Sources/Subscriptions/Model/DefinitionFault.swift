import Primitives

/// A fault in the definition of a subscription.
package struct DefinitionFault: Error, Hashable, Sendable, CustomStringConvertible {
    package let reason: String
    /// The place of the invalid member.
    package let pointer: JSONPointer
    package var description: String { reason }

    package init(_ reason: String, at pointer: JSONPointer) {
        self.reason = reason
        self.pointer = pointer
    }
}
