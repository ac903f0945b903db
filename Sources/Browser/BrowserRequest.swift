import Foundation
import Primitives

/// A request of a page that waits for its response. Each request needs one call of ``BrowserPage/fulfill(_:with:)`` or
/// ``BrowserPage/refuse(_:)``.
package struct BrowserRequest: Sendable {
    /// The use of the response, as the browser names it.
    package enum Use: String, Sendable {
        case document = "Document"
        case style = "Stylesheet"
        case image = "Image"
        case media = "Media"
        case font = "Font"
        case script = "Script"
        case track = "TextTrack"
        case manifest = "Manifest"
        /// A request of a script, and all others.
        case other = "Other"
    }

    /// As the page has it, of any scheme, without a fragment.
    package let url: String
    /// In upper case, unless a script chose a method of its own.
    package let method: String
    /// The fields of the request, with `Cookie`, and without those of the connection.
    package let fields: [(name: String, value: String)]
    package let use: Use
    let number: String
    let session: String

    /// `nil` for an event that is no request.
    init?(_ event: DevToolsEvent) {
        let request = event.parameters["request"]
        guard let session = event.session, let number = event.parameters["requestId"]?.stringValue,
            let url = request?["url"]?.stringValue, let method = request?["method"]?.stringValue
        else { return nil }
        self.url = url
        self.method = method
        self.number = number
        self.session = session
        use = event.parameters["resourceType"]?.stringValue.flatMap(Use.init) ?? .other
        guard case .object(let members) = request?["headers"] else { return nil }
        fields = members.compactMap { member in member.value.stringValue.map { (member.name, $0) } }
    }
}

/// A response for a ``BrowserRequest``.
package struct BrowserResponse: Sendable {
    /// A status that Chromium does not know counts as a refusal.
    package var status: Int
    /// Names and values of the fields, byte for byte. Without codings, because `body` has none.
    package var fields: [(name: String, value: [UInt8])]
    /// The decoded body. A body of more than 64 MiB counts as a refusal.
    package var body: [UInt8]

    package init(status: Int, fields: [(name: String, value: [UInt8])], body: [UInt8]) {
        self.status = status
        self.fields = fields
        self.body = body
    }

    /// Whether Chromium accepts the response: a status that it knows, and a body for which its pipe has room.
    var isAccepted: Bool { Self.statuses.contains(status) && body.count <= Self.bodyLimit }

    /// Chromium never reads again after a message of more than 100 MiB, and Base64 makes a body longer by a third.
    private static let bodyLimit = 64 << 20

    private static let statuses: Set<Int> = Set(
        Array(200...208) + Array(300...308) + Array(400...418) + Array(421...426) + Array(500...508)
            + [226, 428, 429, 431, 451, 510, 511]
    ).subtracting([306])

    /// The form in which Chromium takes fields byte for byte: Base64 of lines that each end with a zero byte.
    var encodedFields: String {
        var bytes: [UInt8] = []
        for field in fields { bytes += Array(field.name.utf8) + [0x3A, 0x20] + field.value + [0] }
        return Data(bytes).base64EncodedString()
    }
}
