import Primitives

/// The merge of two versions of a body, which may be JSON or any other bytes:
///
/// 1. Equal bytes, or two sides that are both absent, give this body.
/// 2. If one side equals the base byte for byte, the other side wins.
/// 3. JSON is merged by ``ThreeWayMerge``, if all bodies are valid and no object has two members of one name.
/// 4. Everywhere else the whole bodies are in conflict.
///
/// A merged body is compact JSON. Its numbers keep their text, but white space and escapes of strings take the form
/// that Larder writes. If the result equals one side, the result is this side, byte for byte.
package enum BodyMerge: Hashable, Sendable {
    /// The result is theirs, so there is no change to send. This result includes a document that both sides deleted.
    case theirs
    /// The result is ours. If ours is absent, the document has to be deleted.
    case ours
    /// Neither side has the result.
    case merged([UInt8])
    /// Both sides changed the same values of a JSON document in different ways.
    case clash(ThreeWayMerge.Clashes)
    /// The bodies cannot be merged in part.
    case conflict(Reason)

    package enum Reason: Hashable, Sendable {
        /// Ours is a deletion, and theirs may have changed.
        case deletedByOurs
        /// Theirs is absent, and ours is a change, which must not restore a deleted document.
        case deletedByTheirs
        /// A body is no valid JSON, has a name twice in an object, or is beyond the limits of depth and values.
        case notJSON(Side, JSON.SyntaxError)
    }

    package enum Side: String, Hashable, Sendable { case base, ours, theirs }

    /// Merges two bodies; `nil` stands for an absent or deleted document. `valueLimit` is the most JSON values in each
    /// body, which bounds the memory of the merge. With `prefersOurs`, the values of ours win where JSON would clash;
    /// a conflict of whole bodies remains one.
    package init(
        base: MergeBase<[UInt8]>, ours: [UInt8]?, theirs: [UInt8]?, prefersOurs: Bool = false,
        valueLimit: Int = 1_000_000, clashLimit: Int = 1000
    ) {
        if ours == theirs {
            self = .theirs
        } else if Self.isEqual(base, ours) {
            self = .theirs
        } else if Self.isEqual(base, theirs) {
            self = .ours
        } else if let ours, let theirs {
            do throws(Reason) {
                self = try Self.merge(
                    base, ours, theirs, prefersOurs: prefersOurs, valueLimit: valueLimit, clashLimit: clashLimit)
            } catch {
                self = .conflict(error)
            }
        } else {
            self = .conflict(ours == nil ? .deletedByOurs : .deletedByTheirs)
        }
    }

    /// Whether two bodies are equal byte for byte, or are JSON of the same value in the sense of
    /// `JSON.isEquivalent(to:)`. A body beyond the limits of a merge equals only its own bytes.
    package static func isSameValue(_ left: [UInt8], _ right: [UInt8], valueLimit: Int = 1_000_000) -> Bool {
        if left == right { return true }
        let values = [left, right].compactMap { bytes in
            try? JSON(parsing: bytes, depthLimit: JSONValidator.depthLimit, valueLimit: valueLimit)
        }
        return values.count == 2 && values[0].isEquivalent(to: values[1])
    }

    private static func merge(
        _ base: MergeBase<[UInt8]>, _ ours: [UInt8], _ theirs: [UInt8], prefersOurs: Bool, valueLimit: Int,
        clashLimit: Int
    ) throws(Reason) -> BodyMerge {
        func parse(_ bytes: [UInt8], _ side: Side) throws(Reason) -> JSON {
            do throws(JSON.SyntaxError) {
                return try JSON(parsing: bytes, depthLimit: JSONValidator.depthLimit, valueLimit: valueLimit)
            } catch {
                throw .notJSON(side, error)
            }
        }
        let (oursJSON, theirsJSON) = (try parse(ours, .ours), try parse(theirs, .theirs))
        let baseJSON: MergeBase<JSON>
        switch base {
        case .unknown: baseJSON = .unknown
        case .missing: baseJSON = .missing
        case .value(let bytes):
            do throws(Reason) {
                baseJSON = .value(try parse(bytes, .base))
            } catch {
                // Equal sides need no base.
                if oursJSON.isEquivalent(to: theirsJSON) { return .theirs }
                throw error
            }
        }
        let outcome = ThreeWayMerge.merge(
            base: baseJSON, ours: oursJSON, theirs: theirsJSON, prefersOurs: prefersOurs, clashLimit: clashLimit)
        switch outcome {
        case .clash(let clashes): return .clash(clashes)
        case .merged(let merged) where merged.equalsTheirs: return .theirs
        case .merged(let merged) where merged.equalsOurs: return .ours
        case .merged(let merged): return .merged(merged.value?.utf8 ?? [])
        }
    }

    private static func isEqual(_ base: MergeBase<[UInt8]>, _ side: [UInt8]?) -> Bool {
        switch base {
        case .unknown: false
        case .missing: side == nil
        case .value(let bytes): side == bytes
        }
    }
}

extension BodyMerge.Reason: Error, CustomStringConvertible {
    package var description: String {
        switch self {
        case .deletedByOurs: "the change deletes the document, and the server's document may have changed"
        case .deletedByTheirs: "the server's document is deleted, and the change would restore it"
        case .notJSON(.base, let error): "the body that the change was made on is not valid JSON, \(error)"
        case .notJSON(.ours, let error): "the body of the change is not valid JSON, \(error)"
        case .notJSON(.theirs, let error): "the server's body is not valid JSON, \(error)"
        }
    }
}
