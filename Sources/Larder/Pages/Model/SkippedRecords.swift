import Primitives

/// The numbers of an archive's records that its capture lists neither as a response nor as a missing resource.
/// Requests, metadata and the description of the archive do not count, because they are no resources.
package struct SkippedRecords: Hashable, Sendable {
    /// Records of other types, such as `resource`, and responses of other protocols than HTTP.
    var noResponse = 0
    /// Responses with a URL of another scheme, or without a valid URL.
    var otherURL = 0
    /// Further responses to a URL.
    var repeated = 0
    /// Responses beyond a limit of the capture.
    var beyondLimit = 0
}

extension SkippedRecords {
    package var json: JSON {
        [
            "noResponse": .number(noResponse), "otherUrl": .number(otherURL), "repeated": .number(repeated),
            "beyondLimit": .number(beyondLimit),
        ]
    }

    init?(_ json: JSON) {
        guard let noResponse = json["noResponse"]?.integerValue, let otherURL = json["otherUrl"]?.integerValue,
            let repeated = json["repeated"]?.integerValue, let beyondLimit = json["beyondLimit"]?.integerValue
        else { return nil }
        self.init(
            noResponse: Int(noResponse), otherURL: Int(otherURL), repeated: Int(repeated),
            beyondLimit: Int(beyondLimit))
    }
}
