import Primitives

/// A JSON Merge Patch (RFC 7396): a document in which `null` removes a member, and in which other members replace or
/// extend the members of the target.
///
///     let patch = try MergePatch(JSON(parsing: #"{"phone":null,"name":"Ada"}"#))
///     let result = patch.applied(to: contact)
package struct MergePatch: Hashable, Sendable {
    package let json: JSON

    /// Each JSON value is a merge patch. Throws ``InvalidEdit`` with the first place that is nested deeper than
    /// `depthLimit` levels, as the parser counts them.
    package init(_ json: JSON, depthLimit: Int = JSONValidator.depthLimit) throws(InvalidEdit) {
        if let place = json.placeDeeper(than: depthLimit) {
            throw InvalidEdit("the patch is nested deeper than \(depthLimit) levels", at: place)
        }
        self.json = json
    }

    /// Takes a patch that is nested no deeper than a parsed document.
    init(unchecked json: JSON) {
        self.json = json
    }

    /// Returns the changed document (RFC 7396 §2). Without a target, a patch that is an object extends an empty object.
    /// Members of the target keep their place, and new members follow in the order of the patch. The result is no
    /// larger than target and patch together, and the time is proportional to their size.
    package func applied(to target: JSON?) -> JSON {
        Self.apply(json, to: target)
    }

    private static func apply(_ patch: JSON, to target: JSON?) -> JSON {
        guard case .object(let changes) = patch else { return patch }
        var result: [JSON.Member] = []
        let table = MemberTable(changes)
        var isUsed = Array(repeating: false, count: changes.count)
        if case .object(let members) = target {
            result.reserveCapacity(members.count)
            for member in members {
                guard let index = table.index(of: member.name) else {
                    result.append(member)
                    continue
                }
                isUsed[index] = true
                if case .null = changes[index].value { continue }
                result.append(JSON.Member(member.name, apply(changes[index].value, to: member.value)))
            }
        }
        for (change, isUsed) in zip(changes, isUsed) where !isUsed {
            if case .null = change.value { continue }
            result.append(JSON.Member(change.name, apply(change.value, to: nil)))
        }
        return .object(result)
    }
}
