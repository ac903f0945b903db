/// Changes of a document at certain bytes. All other bytes stay as they are.
package struct Rewriting: Sendable {
    package typealias Edit = MarkupReferences.Fix

    /// In the order of the document, without overlaps.
    package let edits: [Edit]

    /// Of edits that overlap, the one that begins first counts: for example the URLs in a `srcdoc` that is emptied. Of
    /// edits that begin together, the longer one counts, and of equal ones the first.
    package init(_ edits: [Edit]) {
        // The edits of most documents. Sorting would take longer than the rest.
        let isInOrder = edits.indices.dropFirst().allSatisfy { index in
            let (last, next) = (edits[index - 1].range, edits[index].range)
            return last.lowerBound < next.lowerBound && last.upperBound <= next.lowerBound
        }
        guard !isInOrder else {
            self.edits = edits
            return
        }
        var end = 0
        let order = edits.map(\.range).enumerated().sorted { left, right in
            (left.element.lowerBound, right.element.upperBound, left.offset)
                < (right.element.lowerBound, left.element.upperBound, right.offset)
        }
        self.edits = order.compactMap { index, range in
            guard range.lowerBound >= end else { return nil }
            end = range.upperBound
            return edits[index]
        }
    }

    /// Gives each reference the URL that `url` returns, or leaves it as it is for `nil`. The attribute `integrity`
    /// becomes empty if `isRewritten` says that the resource has another body in a replay.
    package init(
        _ references: [Reference], _ fixes: [MarkupReferences.Fix] = [],
        isRewritten: (Reference) -> Bool = { _ in false },
        url: (Reference) -> String?
    ) {
        var edits: [Edit] = []
        edits.reserveCapacity(references.count + fixes.count)
        for reference in references {
            if let url = url(reference) {
                edits.append(Edit(range: reference.range, replacement: reference.written(url)))
            }
            if let integrity = reference.integrity, isRewritten(reference) {
                edits.append(Edit(range: integrity, replacement: Array("integrity=\"\"".utf8)))
            }
        }
        // A hint in a URL has no effect in the new URL.
        self.init(fixes.isEmpty ? edits : edits + fixes)
    }

    /// Returns the changed document.
    package func apply(to document: [UInt8]) -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(document.count + edits.reduce(0) { $0 + $1.replacement.count })
        var position = 0
        for edit in edits {
            output += document[position..<edit.range.lowerBound]
            output += edit.replacement
            position = edit.range.upperBound
        }
        output += document[position...]
        return output
    }

    /// Returns the changes that restore `document`, the original, from the changed document.
    package func inverse(of document: [UInt8]) -> Rewriting {
        var shift = 0
        return Rewriting(
            edits.map { edit in
                let start = edit.range.lowerBound + shift
                shift += edit.replacement.count - edit.range.count
                return Edit(
                    range: start..<start + edit.replacement.count, replacement: Array(document[edit.range]))
            })
    }
}
