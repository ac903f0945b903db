/// A part of a document after its escapes were decoded, with the place of each decoded byte in the document. So a URL
/// within the text can be replaced in the document, and all other bytes of the document stay as they are.
struct DecodedText {
    let bytes: [UInt8]
    /// The place of each byte, and at the end the place behind the text; `nil` if the places are consecutive.
    private let places: [Int]?
    private let start: Int

    /// A part of a document without escapes.
    init(_ range: Range<Int>, of document: Span<UInt8>) {
        bytes = document.array(range)
        places = nil
        start = range.lowerBound
    }

    /// The value of an attribute, with its character references decoded. In an XML document, the same references are
    /// decoded, because its own entities have the same meaning.
    static func attribute(_ range: Range<Int>, of document: Span<UInt8>) -> DecodedText {
        guard document.extracting(range).firstIndex(of: UInt8(ascii: "&"), from: 0) != nil else {
            return DecodedText(range, of: document)
        }
        let value = document.extracting(range)
        var bytes: [UInt8] = []
        var places: [Int] = []
        bytes.reserveCapacity(range.count)
        places.reserveCapacity(range.count + 1)
        var index = 0
        while index < value.count {
            if value[index] == UInt8(ascii: "&"), let found = CharacterReference.decode(value, at: index) {
                for byte in UTF8.encode(found.character)! {
                    bytes.append(byte)
                    places.append(range.lowerBound + index)
                }
                index = found.end
            } else {
                bytes.append(value[index])
                places.append(range.lowerBound + index)
                index += 1
            }
        }
        places.append(range.upperBound)
        return DecodedText(bytes: bytes, places: places, start: range.lowerBound)
    }

    private init(bytes: [UInt8], places: [Int], start: Int) {
        self.bytes = bytes
        self.places = places
        self.start = start
    }

    /// The bytes of the document from which a range of the decoded text comes.
    func place(of range: Range<Int>) -> Range<Int> {
        guard let places else { return start + range.lowerBound..<start + range.upperBound }
        return places[range.lowerBound]..<places[range.upperBound]
    }
}
