/// A part of a document after its escapes were decoded, with the place of each decoded byte in the document. So a URL
/// within the text can be replaced in the document, and all other bytes of the document stay as they are.
struct DecodedText {
    let bytes: [UInt8]
    /// The place of each byte, and at the end the place behind the text; `nil` if the places are consecutive.
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

    /// The value of an attribute, with its character references decoded. `entities`: those that an XML document
    /// declares.
    static func attribute(
        _ range: Range<Int>, of document: Span<UInt8>, entities: [String: [UInt8]] = [:]
    ) -> DecodedText {
        guard document.extracting(range).firstIndex(of: UInt8(ascii: "&"), from: 0) != nil else {
            return DecodedText(range, of: document)
        }
        var builder = Builder()
        builder.append(attribute: range, of: document, entities: entities)
        return builder.text(end: range.upperBound)
    }

    /// The bytes of the document from which a range of the decoded text comes.
    func place(of range: Range<Int>) -> Range<Int> {
        guard let places else { return start + range.lowerBound..<start + range.upperBound }
        guard !range.isEmpty else { return Int(places[range.lowerBound])..<Int(places[range.lowerBound]) }
        return Int(places[range.lowerBound])..<Int(places[range.upperBound])
    }

    /// Collects a text from several parts of a document, in their order.
    struct Builder {
        private var bytes: [UInt8] = []
        private var places: [UInt32] = []

        /// Appends a part without escapes.
        mutating func append(_ range: Range<Int>, of document: Span<UInt8>) {
            for index in range { append(document[index], at: index) }
        }

        /// Appends a part with its character references decoded.
        mutating func append(
            attribute range: Range<Int>, of document: Span<UInt8>, entities: [String: [UInt8]] = [:]
        ) {
            let value = document.extracting(range)
            var index = 0
            while index < value.count {
                let place = range.lowerBound + index
                if value[index] != UInt8(ascii: "&") {
                    append(value[index], at: place)
                    index += 1
                } else if let (text, end) = Self.entity(value, at: index, entities) {
                    for byte in text { append(byte, at: place) }
                    index = end
                } else if let found = CharacterReference.decode(value, at: index) {
                    for byte in found.text.utf8 { append(byte, at: place) }
                    index = found.end
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

        private static func entity(
            _ value: Span<UInt8>, at start: Int, _ entities: [String: [UInt8]]
        ) -> (text: [UInt8], end: Int)? {
            guard !entities.isEmpty, let end = value.firstIndex(of: UInt8(ascii: ";"), from: start), end - start < 100
            else { return nil }
            return entities[value.text(start + 1..<end)].map { ($0, end + 1) }
        }
    }
}
