import HTTPTypes

/// Which of a stored answer's fields go into an answer with another status.
extension HTTPFields {
    /// Those of a 304 (RFC 9110 §15.4.5): the ones that it must have, with the targeted forms of Cache-Control
    /// (RFC 9213); Last-Modified only where there is no entity tag.
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

    /// Those of a 412 or 416 that Larder makes: when, and about which version. It has no content.
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

    /// Those of a 206, but for what depends on the range (RFC 9110 §15.3.7): all that are about the representation,
    /// none that are about the content of the message that brought it (RFC 9530 §2).
    ///
    /// - Parameter clientHasOthers: whether the client showed by If-Range that it has the metadata already: then only
    ///   those are repeated by which it can tell that they still are right.
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
    /// Makes a text the only line of a field; `nil` removes the field. Nothing is done, and nothing copied, where that
    /// is so already.
    ///
    /// - Parameter value: ASCII: it is compared as text.
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
    /// The digest of the content of the message that it comes with (RFC 9530 §2).
    static let contentDigest = Self("Content-Digest")!
    fileprivate static let contentMD5 = Self("Content-MD5")!
}
