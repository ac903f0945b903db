import CExpat
import Glibc
import Primitives

/// The receiver of the parts of an XML document. A method that throws ends the reading.
protocol XMLHandler: AnyObject {
    /// Each name is that of ``XMLNamespaces/name(_:)``. An attribute without a prefix has no namespace. Attributes with
    /// values over ``SourceLimits/fieldBytes`` are left out.
    func start(_ name: String, _ attributes: [(name: String, value: String)]) throws(SourceFault)
    func end(_ name: String) throws(SourceFault)
    /// A piece of text in UTF-8, which may be a part of a longer text. A character is never divided.
    func text(_ bytes: UnsafeBufferPointer<UInt8>) throws(SourceFault)
}

/// Reads an XML document with expat, in a time that grows linearly with its length.
///
/// Entities and attribute lists are refused when a DOCTYPE declares them, so neither texts nor elements can grow. expat
/// keeps about a hundred bytes for each name and each attribute of an element, so their numbers have limits.
///
/// A class, because expat passes a pointer to it to each callback.
final class XMLReader {
    /// The most attributes of an element.
    static let attributeLimit = 1000
    /// The most different names of elements and attributes in a document.
    private static let nameLimit = 10_000
    /// The most bytes of a name.
    private static let nameBytes = 1000

    private let parser: XML_Parser
    private let handler: any XMLHandler
    private let limits: SourceLimits
    private var namespaces = XMLNamespaces()
    /// The names of the open elements.
    private var open: [String] = []
    /// All names of elements and attributes so far, as the document writes them.
    private var names: Set<ExactText> = []
    private var elementCount = 0
    private var fault: SourceFault?

    /// Passes the parts of a document in UTF-8 to `handler`. Throws ``SourceFault`` for a document that is not
    /// well-formed, declares entities or attributes, or exceeds a limit, and the errors of `handler`.
    static func read(_ document: [UInt8], limits: SourceLimits, _ handler: any XMLHandler) throws(SourceFault) {
        try XMLReader(handler, limits).read(XMLRepair.repaired(document, attributeLimit: attributeLimit))
    }

    private init(_ handler: any XMLHandler, _ limits: SourceLimits) throws(SourceFault) {
        // The name overrides the encoding of the XML declaration, because the text is already in UTF-8.
        guard let parser = XML_ParserCreate("UTF-8") else { throw SourceFault("expat is out of memory") }
        self.parser = parser
        self.handler = handler
        self.limits = limits
    }

    deinit {
        XML_ParserFree(parser)
    }

    private func read(_ document: [UInt8]) throws(SourceFault) {
        guard document.count < Int(Int32.max) else { throw SourceFault("the document is over 2 GiB") }
        XML_SetUserData(parser, Unmanaged.passUnretained(self).toOpaque())
        XML_SetElementHandler(
            parser, { reader, name, attributes in XMLReader.of(reader).start(name!, attributes!) },
            { reader, _ in XMLReader.of(reader).end() })
        XML_SetCharacterDataHandler(parser) { reader, text, length in XMLReader.of(reader).text(text!, Int(length)) }
        XML_SetEntityDeclHandler(parser) { reader, _, _, _, _, _, _, _, _ in
            XMLReader.of(reader).stop(SourceFault("the document declares entities, which a feed must not do"))
        }
        // expat would copy the default values into each element.
        XML_SetAttlistDeclHandler(parser) { reader, _, _, _, _, _ in
            XMLReader.of(reader).stop(SourceFault("the document declares attributes, which a feed must not do"))
        }
        // In a single piece, because expat scans an unfinished token from its beginning for each new piece.
        let status = document.withUnsafeBytes { bytes in
            XML_Parse(parser, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(bytes.count), 1)
        }
        if let fault { throw fault }
        if status == XML_STATUS_ERROR {
            let words = XML_ErrorString(XML_GetErrorCode(parser)).map { String(cString: $0) } ?? "unknown error"
            throw SourceFault("the XML is not well-formed: \(words) in line \(XML_GetCurrentLineNumber(parser))")
        }
    }

    private static func of(_ pointer: UnsafeMutableRawPointer?) -> XMLReader {
        Unmanaged<XMLReader>.fromOpaque(pointer!).takeUnretainedValue()
    }

    private func stop(_ fault: SourceFault) {
        guard self.fault == nil else { return }
        self.fault = fault
        XML_StopParser(parser, 0)
    }

    private func run(_ body: () throws(SourceFault) -> Void) {
        // expat may call once more after it was stopped.
        guard fault == nil else { return }
        do throws(SourceFault) { try body() } catch { stop(error) }
    }

    private func start(_ name: UnsafePointer<CChar>, _ list: UnsafeMutablePointer<UnsafePointer<CChar>?>) {
        run { () throws(SourceFault) in
            guard open.count < limits.depth else {
                throw SourceFault("elements are nested more than \(limits.depth) deep")
            }
            elementCount += 1
            guard elementCount <= limits.elements else {
                throw SourceFault("the document has over \(limits.elements) elements")
            }
            let element = try checkedName(name)
            var attributes: [(name: String, value: String)] = []
            var next = list
            while let start = next[0], let value = next[1] {
                next += 2
                let name = try checkedName(start)
                let text = Self.text(value, limit: limits.fieldBytes)
                if name.hasPrefix("xmlns"),
                    name.utf8.count == 5 || name.utf8.dropFirst(5).first == UInt8(ascii: ":")
                {
                    // No known namespace has a URI over the limit.
                    namespaces.declare(String(name.dropFirst(6)), text ?? "", depth: open.count)
                }
                if let text { attributes.append((name, text)) }
            }
            for index in attributes.indices {
                let name = attributes[index].name
                // The default namespace is none of an attribute without a prefix.
                attributes[index].name = name.contains(":") ? namespaces.name(name) : name.lowercased()
            }
            let name = namespaces.name(element)
            open.append(name)
            try handler.start(name, attributes)
        }
    }

    /// The name of an element or attribute. All names with characters outside ASCII are `?`, because no vocabulary has
    /// them, and `String` takes long to compare accents.
    private func checkedName(_ start: UnsafePointer<CChar>) throws(SourceFault) -> String {
        guard let name = Self.text(start, limit: Self.nameBytes) else {
            throw SourceFault("the name of an element or attribute has over \(Self.nameBytes) bytes")
        }
        guard !names.insert(ExactText(name)).inserted || names.count <= Self.nameLimit else {
            throw SourceFault("the document has over \(Self.nameLimit) names of elements and attributes")
        }
        return name.utf8.allSatisfy { $0 < 0x80 } ? name : "?"
    }

    /// `nil` for a text over the limit, of which no byte is copied.
    private static func text(_ start: UnsafePointer<CChar>, limit: Int) -> String? {
        strnlen(start, limit + 1) <= limit ? String(cString: start) : nil
    }

    private func end() {
        run { () throws(SourceFault) in
            let name = open.removeLast()
            namespaces.leave(depth: open.count)
            try handler.end(name)
        }
    }

    private func text(_ start: UnsafePointer<CChar>, _ length: Int) {
        run { () throws(SourceFault) in
            let bytes = UnsafeRawBufferPointer(start: start, count: length).bindMemory(to: UInt8.self)
            try handler.text(bytes)
        }
    }
}
