extension UnsafeRawBufferPointer {
    /// The authority of a target in absolute form, `http://host/path?query`, which a server must accept (RFC 9112
    /// §3.2.2, RFC 9110 §4.2), and the rest of the target, which may begin with `?`, or be empty. `nil` for another
    /// form, and for an authority that is empty or not just a host and a port.
    var absoluteForm: (authority: UnsafeRawBufferPointer, rest: UnsafeRawBufferPointer)? {
        for scheme in ["http://", "https://"] as [StaticString] {
            let length = scheme.utf8CodeUnitCount
            guard count > length, UnsafeRawBufferPointer(rebasing: self[..<length]).equalsIgnoringCase(scheme) else {
                continue
            }
            let path = self[length...].firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? count
            let authority = UnsafeRawBufferPointer(rebasing: self[length..<path])
            guard !authority.isEmpty, authority.isHostAndPort else { return nil }
            return (authority, .init(rebasing: self[path...]))
        }
        return nil
    }
}
