import HTTPTypes

extension HTTPFields {
    /// Passes the fields that may be sent, as they were given, in order; see ``Response/init(status:fields:body:)``.
    func forEachSendable(
        _ body: (_ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>) -> Void
    ) {
        for field in self {
            if Self.isOfConnection(field.name) { continue }
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
}
