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

    package let url: String
    package let method: String
    /// The fields of the request without those of the connection, and without `Cookie`.
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
    package var status: Int
    package var fields: [(name: String, value: String)]
    package var body: [UInt8]

    package init(status: Int, fields: [(name: String, value: String)], body: [UInt8]) {
        self.status = status
        self.fields = fields
        self.body = body
    }
}
