/// The media types of the bodies of a change.
extension ChangeDraft {
    private static let patchTypes = ["application/merge-patch+json", "application/json-patch+json"]

    /// The media type of the body that the author wants; `nil`: unknown. The type of a patch is not that of the body to
    /// which the patch leads, which has the type of the base.
    package var contentType: String? {
        let stated = fields.first { $0.isContentType }?.value
        guard edit.patch != nil, stated.map(Self.isPatchType) ?? true else { return stated }
        return baseType ?? "application/json"
    }

    private static func isPatchType(_ type: String) -> Bool {
        patchTypes.contains(type.prefix { $0 != ";" && $0 != " " }.lowercased())
    }

    /// Replaces the field in its place; `nil` removes it.
    package mutating func setContentType(_ type: String?) {
        let place = fields.firstIndex { $0.isContentType } ?? fields.endIndex
        fields.removeAll { $0.isContentType }
        if let type { fields.insert(ChangeField("Content-Type", type), at: min(place, fields.endIndex)) }
    }

    /// Sends the body that the author wants instead of a patch.
    mutating func becomeWhole() {
        if edit.patch != nil { setContentType(contentType) }
        edit = .replace
        method = "PUT"
    }
}

extension ChangeField {
    fileprivate var isContentType: Bool { name.lowercased() == "content-type" }

    /// Whether the field describes the content of a request.
    var isAboutContent: Bool { name.lowercased().hasPrefix("content-") }
}
