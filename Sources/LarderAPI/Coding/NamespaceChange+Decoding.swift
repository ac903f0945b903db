import Larder
import Primitives

extension NamespaceChange {
    /// A missing member leaves the setting unchanged, and `null` resets it to the server's default.
    init(_ json: JSON) throws(Problem) {
        let fields = try JSONFields(
            json,
            known: ["version", "defaultTTL", "diskLimit", "memoryLimit", "layout", "origins", "contentCaching"])
        self.init()
        version = try Self.read("version", fields) { (json, pointer) throws(Problem) in
            // A caller that numbers its versions may send the number itself.
            let text: String? = if case .number(let number) = json { number } else { json.stringValue }
            guard let text, (1...NamespaceSettings.versionLimit).contains(text.utf8.count) else {
                throw .invalid(
                    "version must be a string of 1 to \(NamespaceSettings.versionLimit) bytes", pointer: pointer)
            }
            return text
        }
        defaultTTL = try Self.read("defaultTTL", fields) { (json, pointer) throws(Problem) in
            try TTL(json, pointer: pointer).duration
        }
        diskLimit = try Self.read("diskLimit", fields, Self.size)
        memoryLimit = try Self.read("memoryLimit", fields, Self.size)
        layout = try Self.read("layout", fields, Self.choice)
        origins = try Self.read("origins", fields, Self.rules)
        contentCaching = try Self.read("contentCaching", fields, Self.choice)
    }

    private static func choice<Value: RawRepresentable<String> & CaseIterable>(
        _ json: JSON, _ pointer: String
    ) throws(Problem) -> Value {
        guard let value = json.stringValue.flatMap(Value.init(rawValue:)) else {
            let words = Value.allCases.map(\.rawValue).joined(separator: " or ")
            throw .invalid("\(pointer.dropFirst()) must be \(words)", pointer: pointer)
        }
        return value
    }

    private static func read<Value>(
        _ name: String, _ fields: JSONFields, _ decode: (JSON, String) throws(Problem) -> Value
    ) throws(Problem) -> Value?? {
        switch fields[name] {
        case nil: .none
        case .null?: .some(nil)
        case let json?: .some(try decode(json, "/" + name))
        }
    }

    /// Decodes a number of bytes, or text such as `512MiB`.
    private static func size(_ json: JSON, _ pointer: String) throws(Problem) -> Int64 {
        let size: Int64? =
            if case .number(let number) = json {
                // Some clients write a whole number as 1048576.0 or 1e6, which is the same number in JSON.
                Int64(number) ?? json.doubleValue.flatMap { Int64(exactly: $0) }
            } else {
                json.stringValue.flatMap { ByteSize($0) }.map { Int64($0.bytes) }
            }
        guard let size, size >= 0 else {
            throw .invalid(
                "\(pointer.dropFirst()) must be a number of bytes, such as 1048576 or \"64MiB\"", pointer: pointer)
        }
        return size
    }

    private static func rules(_ json: JSON, _ pointer: String) throws(Problem) -> OriginRules {
        guard let elements = json.arrayValue, elements.count <= OriginRules.limit else {
            throw .invalid("origins must be an array of at most \(OriginRules.limit) rules", pointer: pointer)
        }
        var texts: [String] = []
        for (index, element) in elements.enumerated() {
            guard let text = element.stringValue else {
                throw .invalid("an origin rule must be a string", pointer: "\(pointer)/\(index)")
            }
            texts.append(text)
        }
        do {
            return try OriginRules(texts)
        } catch {
            throw .invalid(error.reason, pointer: "\(pointer)/\(error.index)")
        }
    }
}
