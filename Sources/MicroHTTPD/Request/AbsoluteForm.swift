extension UnsafeRawBufferPointer {
    /// The authority of a request target in absolute form, `http://host/path?query`, and the rest of the target after
    /// it. `nil` for a target in another form, without an authority, or with an authority that is not just a host and a
    /// port. A server must accept the absolute form (RFC 9112 §3.2.2, RFC 9110 §4.2). The rest may begin with `?`, or
    /// be empty.
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
