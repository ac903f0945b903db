import HTTPTypes

/// Selects the fields of a stored answer for an answer with another status.
extension HTTPFields {
    /// The fields for a 304 (RFC 9110 §15.4.5), with targeted Cache-Control. Last-Modified is sent only without ETag.
    func ofNotModified() -> HTTPFields {
        let hasTag = contains(.eTag)
        return filter { field in
            switch field.name {
            case .cacheControl, .cdnCacheControl, .larderCacheControl, .contentLocation, .date, .eTag, .expires, .vary:
                true
            case .lastModified: !hasTag
            default: false
            }
        }
    }

    /// The fields for a 412 or 416 made by Larder.
    func ofError() -> HTTPFields {
        var fields = filter { field in
            switch field.name {
            case .date, .eTag, .vary: true
            default: false
            }
        }
        fields[.contentLength] = "0"
        return fields
    }

    /// The fields of a 206 that do not depend on the range (RFC 9110 §15.3.7): all fields about the representation, but
    /// no digest of the content of the stored message (RFC 9530 §2). A client with If-Range already has the metadata:
    /// it gets no Content-Encoding, Content-Language and Content-Type, and no Last-Modified beside an entity tag.
    func ofPart(clientHasOthers: Bool) -> HTTPFields {
        let hasTag = contains(.eTag)
        return filter { field in
            switch field.name {
            case .contentDigest, .contentMD5: false
            case .contentEncoding, .contentLanguage, .contentType: !clientHasOthers
            case .lastModified: !clientHasOthers || !hasTag
            default: true
            }
        }
    }
}

extension HTTPFields {
    /// Makes `value` the only line of a field; `nil` removes the field. Does not copy the fields when the field already
    /// has this value. `value` is ASCII, because values are compared as text.
    mutating func set(_ name: HTTPField.Name, to value: String?) {
        var lines = 0
        var isSame = true
        for field in self where field.name == name {
            lines += 1
            isSame = isSame && field.value == value
        }
        if lines == (value == nil ? 0 : 1), isSame { return }
        self[name] = value
    }
}

extension HTTPField.Name {
    /// The digest of the content of the message that carries the field (RFC 9530 §2).
    static let contentDigest = Self("Content-Digest")!
    fileprivate static let contentMD5 = Self("Content-MD5")!
}

/// The field Via (RFC 9110 §7.6.3): a gateway must add itself to forwarded requests, and may add itself to answers.
package enum Via {
    /// Appends Larder behind earlier recipients. `version` is the received message's: `1.0`, `1.1`, `2`.
    package static func append(to fields: inout HTTPFields, version: String = "1.1") {
        fields.append(HTTPField(name: .via, value: "\(version) larder"))
    }
}
