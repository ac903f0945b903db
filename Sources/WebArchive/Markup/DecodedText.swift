/// A part of a document after its escapes were decoded, with the place of each decoded byte in the document. So a URL
/// within the text can be replaced in the document, and all other bytes of the document stay as they are.
struct DecodedText {
    let bytes: [UInt8]
    /// The place of each byte, and at the end the place behind the text; `nil` if the places are consecutive. All bytes
    /// of a character reference or an entity have the place of its ampersand.
    private let places: [UInt32]?
    private let start: Int

    /// A part of a document without escapes.
    init(_ range: Range<Int>, of document: Span<UInt8>) {
        self.init(bytes: document.array(range), places: nil, start: range.lowerBound)
    }

    private init(bytes: [UInt8], places: [UInt32]?, start: Int) {
        self.bytes = bytes
        self.places = places
        self.start = start
    }

    /// The value of an attribute, with its character references decoded. `entities`: the names and texts that an XML
    /// document declares.
    static func attribute(
        _ range: Range<Int>, of document: Span<UInt8>, entities: [String: [UInt8]] = [:]
    ) -> DecodedText {
        decoded(range, of: document, in: .attribute, entities)
    }

    /// Text outside tags, with its character references decoded.
    static func text(_ range: Range<Int>, of document: Span<UInt8>) -> DecodedText {
        decoded(range, of: document, in: .text, [:])
    }

    private static func decoded(
        _ range: Range<Int>, of document: Span<UInt8>, in place: CharacterReference.Place, _ entities: [String: [UInt8]]
    ) -> DecodedText {
        guard document.extracting(range).firstIndex(of: UInt8(ascii: "&"), from: 0) != nil else {
            return DecodedText(range, of: document)
        }
        var builder = Builder()
        builder.append(range, of: document, decodedIn: place, entities)
        return builder.text(end: range.upperBound)
    }

    /// The bytes of the document that give exactly a range of the decoded text; `nil` if the range begins or ends
    /// within the text of a character reference or an entity, so that no such bytes exist.
    func place(of range: Range<Int>) -> Range<Int>? {
        isWhole(range) ? widenedPlace(of: range) : nil
    }

    /// The bytes of the document from which a range of the decoded text comes, with whole character references and
    /// entities.
    func widenedPlace(of range: Range<Int>) -> Range<Int> {
        guard let places else { return start + range.lowerBound..<start + range.upperBound }
        var end = range.upperBound
        while !range.isEmpty, end < bytes.count, places[end] == places[end - 1] { end += 1 }
        return Int(places[range.lowerBound])..<Int(places[end])
    }

    private func isWhole(_ range: Range<Int>) -> Bool {
        guard let places else { return true }
        return [range.lowerBound, range.upperBound].allSatisfy {
            $0 == 0 || $0 >= bytes.count || places[$0] != places[$0 - 1]
        }
    }

    /// Collects a text from several parts of a document, in their order.
    struct Builder {
        private var bytes: [UInt8] = []
        private var places: [UInt32] = []
        var count: Int { bytes.count }

        /// Appends a part without escapes.
        mutating func append(_ range: Range<Int>, of document: Span<UInt8>) {
            for index in range { append(document[index], at: index) }
        }

        /// Appends a part with its character references decoded.
        mutating func append(
            _ range: Range<Int>, of document: Span<UInt8>, decodedIn kind: CharacterReference.Place,
            _ entities: [String: [UInt8]]
        ) {
            let value = document.extracting(range)
            var index = 0
            while index < value.count {
                let place = range.lowerBound + index
                if value[index] != UInt8(ascii: "&") {
                    append(value[index], at: place)
                    index += 1
                } else if let (text, end) = EntityName.text(value, at: index, entities)
                    ?? CharacterReference.decode(value, at: index, in: kind)
                {
                    for byte in text { append(byte, at: place) }
                    index = end
                } else {
                    append(value[index], at: place)
                    index += 1
                }
            }
        }

        func text(end: Int) -> DecodedText {
            DecodedText(bytes: bytes, places: places + [UInt32(end)], start: 0)
        }

        private mutating func append(_ byte: UInt8, at place: Int) {
            bytes.append(byte)
            places.append(UInt32(place))
        }
    }
}

/// The name of an entity that an XML document declares.
enum EntityName {
    /// The most bytes of a name.
    static let limit = 64

    /// Reads a reference to an entity at the ampersand at `start`. Returns its text and the index behind it.
    static func text(
        _ value: Span<UInt8>, at start: Int, _ entities: [String: [UInt8]]
    ) -> (text: [UInt8], end: Int)? {
        guard !entities.isEmpty else { return nil }
        let near = value.extracting(0..<min(value.count, start + limit + 2))
        guard let end = near.firstIndex(of: UInt8(ascii: ";"), from: start) else { return nil }
        return entities[value.text(start + 1..<end)].map { ($0, end + 1) }
    }
}
