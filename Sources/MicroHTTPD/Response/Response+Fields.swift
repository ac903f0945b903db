import CMicroHTTPD
import HTTPTypes

extension Response {
    /// Adds the fields to libmicrohttpd's response object.
    static func add(_ head: Head, to handle: OpaquePointer, closing: Bool) {
        switch head {
        case .fields(let fields): add(fields, to: handle, closing: closing)
        case .prepared(let prepared):
            if closing { _ = cmhd_add_field(handle, "Connection", "close") }
            prepared.add(to: handle)
        }
    }

    private static func add(_ fields: HTTPFields, to handle: OpaquePointer, closing: Bool) {
        // Connection comes first, because libmicrohttpd duplicates it if it is added after some other fields.
        if closing || (fields.contains(.connection) && fields[values: .connection].contains(where: hasClose)) {
            _ = cmhd_add_field(handle, "Connection", "close")
        }
        var lines = PreparedFields()
        forEachLine(of: fields) { name, value in
            // `Date` stays a field of its own, because libmicrohttpd looks for it and adds its own if it is missing.
            if UnsafeRawBufferPointer(name).equalsIgnoringCase("date") {
                var date = PreparedFields()
                date.append(name, value)
                date.add(to: handle)
            } else {
                lines.append(name, value)
            }
        }
        lines.add(to: handle)
    }

    /// Passes each field that may be sent to `body`, as its caller gave it, in order; see
    /// ``init(status:fields:body:)``.
    static func forEachLine(
        of fields: HTTPFields,
        _ body: (_ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>) -> Void
    ) {
        for field in fields {
            if isOfConnection(field.name) { continue }
            var name = field.name.rawName
            name.withUTF8 { name in
                guard UnsafeRawBufferPointer(name).isToken else { return }
                field.withUnsafeBytesOfValue { value in
                    guard UnsafeRawBufferPointer(value).isFieldContent else { return }
                    body(name, value)
                }
            }
        }
    }

    /// Whether libmicrohttpd, which frames the body and keeps the connection, writes the field itself.
    private static func isOfConnection(_ name: HTTPField.Name) -> Bool {
        // The length comes first, because comparing texts costs more.
        switch name.canonicalName.utf8.count {
        case 10: name == .connection
        case 14: name == .contentLength
        case 17: name == .transferEncoding
        default: false
        }
    }

    private static func hasClose(_ value: String) -> Bool {
        value.split(separator: ",").contains { option in
            option.drop { $0 == " " || $0 == "\t" }.prefix { $0 != " " && $0 != "\t" }.lowercased() == "close"
        }
    }
}
