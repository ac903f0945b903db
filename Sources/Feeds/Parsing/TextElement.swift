/// An element that is read as text, with all elements inside it.
struct TextElement {
    enum Kind {
        case title, link, id, published, updated, created, timeToLive, updatePeriod, updateFrequency
        /// A text of the item that only identifies it.
        case content
        /// A text about the feed or its rights, not about the item.
        case other

        /// Whether the text is a part of the item's digest.
        var isContent: Bool {
            switch self {
            case .title, .content, .published: true
            default: false
            }
        }

        /// `nil` for an element that is no text.
        init?(_ name: String, isInItem: Bool) {
            switch name {
            case "title", "dc:title", "media:title": self = .title
            case "guid", "id": self = .id
            case "published", "issued", "pubdate", "dcterms:issued": self = .published
            case "updated", "modified", "lastbuilddate", "dc:date", "dcterms:modified": self = .updated
            case "created", "dcterms:created": self = .created
            case "content", "content:encoded", "fullitem", "body", "xhtml:body", "description", "abstract", "summary",
                "dc:description", "media:description", "itunes:summary":
                self = .content
            case "subtitle", "tagline", "itunes:subtitle", "rights", "copyright", "dc:rights", "info",
                "feedburner:browserfriendly":
                self = .other
            case "ttl" where !isInItem: self = .timeToLive
            case "sy:updateperiod" where !isInItem: self = .updatePeriod
            case "sy:updatefrequency" where !isInItem: self = .updateFrequency
            default: return nil
            }
        }
    }

    let kind: Kind
    let name: String
    let depth: Int
    /// Whether an id is the address of the item (RSS 2.0, `isPermaLink`).
    let isPermanentLink: Bool
    /// The URL against which the text is resolved.
    let base: String?
    private let type: String
    private let isBase64: Bool
    private var bytes: [UInt8] = []
    private(set) var isTooLong = false
    /// The bytes of the text, with all that was not kept.
    private(set) var length = 0
    /// Whether the element contains elements, or should contain them.
    private var isMarkup: Bool
    /// The depth of an open element that hides its text.
    private var hiddenDepth: Int?

    static let htmlTypes: Set<String> = ["text/html", "application/xhtml+xml"]

    init(_ kind: Kind, _ name: String, depth: Int, _ attributes: Attributes, base: String?) {
        self.kind = kind
        self.name = name
        self.depth = depth
        self.base = base
        isPermanentLink = attributes["ispermalink"].map { $0.utf8.elementsEqual("true".utf8) } ?? true
        type = attributes["type"].map(Self.mediaType) ?? "text/plain"
        let isText = type.hasPrefix("text/") || type.hasSuffix("+xml") || type.hasSuffix("/xml")
        isBase64 = attributes["mode"]?.utf8.elementsEqual("base64".utf8) == true || !isText
        isMarkup = type == "application/xhtml+xml"
    }

    /// The media type of the short names of Atom (RFC 4287 §3.1.1), or the type itself. A text that is no media type
    /// counts as a type without a text.
    static func mediaType(_ type: String) -> String {
        switch type.asToken {
        case "text", "plain": "text/plain"
        case "html": "text/html"
        case "xhtml": "application/xhtml+xml"
        case let other: other ?? "application/octet-stream"
        }
    }

    mutating func startMarkup(_ name: String, depth: Int) {
        let local = name.split(separator: ":").last.map { Array($0.utf8) } ?? []
        // A div around escaped markup is an error of some publishers.
        if local != Array("div".utf8) { isMarkup = true }
        if hiddenDepth == nil, MarkupText.isHidden(local) { hiddenDepth = depth }
    }

    mutating func endMarkup(depth: Int) {
        if hiddenDepth == depth { hiddenDepth = nil }
    }

    /// Appends text up to the limit.
    mutating func append(_ text: UnsafeBufferPointer<UInt8>, limit: Int) {
        length += text.count
        guard kind != .content, kind != .other, hiddenDepth == nil else { return }
        let room = limit - bytes.count
        bytes += text.prefix(room)
        if text.count > room { isTooLong = true }
    }

    /// The text without white space at its ends.
    var value: String {
        let start = bytes.firstIndex { $0 > 0x20 } ?? bytes.endIndex
        let end = bytes.lastIndex { $0 > 0x20 } ?? start
        return start == bytes.endIndex ? "" : String(decoding: bytes[start...end], as: UTF8.self)
    }

    /// The title as plain text. In RSS, only the text itself tells whether it is HTML.
    func title(isAtom: Bool) -> String {
        var bytes = bytes
        if isBase64, let decoded = Base64.decode(bytes) { bytes = decoded }
        let isHTML = type == "text/html" || (!isAtom && type == "text/plain" && MarkupText.looksLikeHTML(bytes))
        return MarkupText.normalized(isHTML && !isMarkup ? MarkupText.plain(bytes) : bytes)
    }
}

/// Base64 of titles in Atom 0.3 (RFC 4648 §4). White space is skipped.
private enum Base64 {
    /// `nil` for a text that is not in base64, or does not encode UTF-8.
    static func decode(_ text: [UInt8]) -> [UInt8]? {
        var output: [UInt8] = []
        var (bits, count) = (UInt32(0), 0)
        for byte in text where byte > 0x20 {
            let value: UInt8
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): value = byte - UInt8(ascii: "A")
            case UInt8(ascii: "a")...UInt8(ascii: "z"): value = byte - UInt8(ascii: "a") + 26
            case UInt8(ascii: "0")...UInt8(ascii: "9"): value = byte - UInt8(ascii: "0") + 52
            case UInt8(ascii: "+"): value = 62
            case UInt8(ascii: "/"): value = 63
            case UInt8(ascii: "="): continue
            default: return nil
            }
            bits = bits << 6 | UInt32(value)
            count += 6
            if count >= 8 {
                count -= 8
                output.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
            }
        }
        return String(validating: output, as: UTF8.self) == nil ? nil : output
    }
}
