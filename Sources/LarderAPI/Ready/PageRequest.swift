import MicroHTTPD

/// Whether a browser would show the answer to a request as a page, which must not run as one of Larder's own.
///
/// Browsers say so in `Sec-Fetch-Dest` (https://www.w3.org/TR/fetch-metadata/#sec-fetch-dest-header), which scripts
/// cannot set, but only to https and to localhost. Elsewhere a page is known by what is asked for with it: browsers
/// send `Upgrade-Insecure-Requests` with a navigation and nothing else, and name HTML in `Accept` as scripts seldom do.
/// What is taken for a page and is none gets one field more.
enum PageRequest {
    /// Whether the request is for a page.
    static func isPage(_ request: Request) -> Bool {
        var destination: Bool?
        var isLikely = false
        request.forEachFieldLine { field in
            if field.isNamed("sec-fetch-dest") {
                destination = destination == true || isPage(field.value)
            } else if field.isNamed("upgrade-insecure-requests") || (field.isNamed("accept") && wantsPage(field.value))
            {
                isLikely = true
            }
        }
        return destination ?? isLikely
    }

    /// Whether a `Sec-Fetch-Dest` says so.
    static func isPage(_ destination: UnsafeRawBufferPointer) -> Bool {
        switch destination.count {
        case 5: destination.says("frame") || destination.says("embed")
        case 6: destination.says("iframe") || destination.says("object")
        case 8: destination.says("document")
        default: false
        }
    }

    /// Whether an `Accept` names `text/html` or `application/xhtml+xml`, with whatever weight.
    static func wantsPage(_ accept: UnsafeRawBufferPointer) -> Bool {
        // Few are as long as the shorter of the two.
        guard accept.count >= 9 else { return false }
        for index in 4..<accept.count - 4 where accept[index] == UInt8(ascii: "/") {
            if accept[(index - 4)...].begins("text/html") { return true }
            if index >= 11, accept[(index - 11)...].begins("application/xhtml+xml") { return true }
        }
        return false
    }
}

extension UnsafeRawBufferPointer {
    fileprivate func says(_ text: StaticString) -> Bool {
        RawField(name: UnsafeRawBufferPointer(start: nil, count: 0), value: self).says(text)
    }
}

extension Slice<UnsafeRawBufferPointer> {
    /// Whether it begins like that, which is written in lower case, in whatever case.
    fileprivate func begins(_ text: StaticString) -> Bool {
        count >= text.utf8CodeUnitCount
            && UnsafeRawBufferPointer(rebasing: prefix(text.utf8CodeUnitCount)).says(text)
    }
}
