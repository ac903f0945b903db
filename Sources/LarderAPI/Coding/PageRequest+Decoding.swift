import HTTPTypes
import Larder
import Primitives

extension PageRequest {
    private static let cookieLimit = 100
    /// The most captures that a page keeps.
    static let captureLimit = 100

    /// Throws 400 with a pointer to the invalid or unknown field.
    init(_ json: JSON) throws(Problem) {
        guard case .object = json else { throw .invalid("the body must be a JSON object with a url", pointer: "") }
        let fields = try JSONFields(
            json,
            known: [
                "url", "mode", "html", "ttl", "updateExpiry", "tags", "pinned", "headers", "cookies", "maxSeconds",
                "maxBytes", "maxResources", "captures", "viewport", "scroll",
            ])
        guard let text = try fields.string("url") else { throw .invalid("url is missing", pointer: "/url") }
        self.init(url: try URLDecoding.canonicalURL(text, params: nil))
        if let name = try fields.string("mode") {
            guard let mode = Mode(rawValue: name) else {
                let all = Mode.allCases.map(\.rawValue).joined(separator: ", ")
                throw .invalid("mode must be one of \(all)", pointer: "/mode")
            }
            self.mode = mode
        }
        document = try fields.string("html").map { Array($0.utf8) }
        ttl = try fields.ttl("ttl")
        updatesExpiry = try fields.bool("updateExpiry") ?? false
        tags = try fields.tags("tags") ?? []
        pinned = try fields.bool("pinned")
        self.fields = try OriginFields.decode(fields["headers"])
        cookies = try Self.cookies(fields["cookies"])
        let known = CaptureLimits()
        let seconds = Int64(known.time.milliseconds / 1000)
        limits.time = .seconds(try fields.integer("maxSeconds", in: 1...600) ?? seconds)
        limits.totalBytes = try fields.integer("maxBytes", in: 1...(4 << 30)) ?? known.totalBytes
        limits.resources = Int(try fields.integer("maxResources", in: 1...10_000) ?? Int64(known.resources))
        viewport = try Self.viewport(fields["viewport"])
        scrolls = try fields.bool("scroll") ?? true
        capturesKept = Int(try fields.integer("captures", in: 1...Int64(Self.captureLimit)) ?? 1)
    }

    private static func viewport(_ json: JSON?) throws(Problem) -> Viewport {
        var viewport = Viewport()
        guard let json else { return viewport }
        guard case .object(let members) = json else {
            throw .invalid("viewport must be an object", pointer: "/viewport")
        }
        for member in members {
            let name = member.name
            guard name == "width" || name == "height", let length = member.value.integerValue,
                (200...4000).contains(length)
            else {
                throw .invalid(
                    "viewport has width and height, each a whole number from 200 to 4000",
                    pointer: "/viewport/" + JSON.pointerToken(name))
            }
            if name == "width" { viewport.width = Int(length) } else { viewport.height = Int(length) }
        }
        return viewport
    }

    private static func cookies(_ json: JSON?) throws(Problem) -> [String] {
        guard let json else { return [] }
        guard let elements = json.arrayValue, elements.count <= cookieLimit else {
            throw .invalid("cookies must be an array of at most \(cookieLimit) texts NAME=VALUE", pointer: "/cookies")
        }
        var cookies: [String] = []
        for (index, element) in elements.enumerated() {
            guard let text = element.stringValue, let sign = text.utf8.firstIndex(of: UInt8(ascii: "=")),
                sign != text.utf8.startIndex, text.utf8.count <= 4096, !text.utf8.contains(UInt8(ascii: ";")),
                HTTPField.isValidValue(text), !TokenCredentials.areIn(text)
            else {
                throw .invalid(
                    "a cookie must be a text NAME=VALUE of at most 4096 bytes, without a semicolon, control characters "
                        + "or a Larder token",
                    pointer: "/cookies/\(index)")
            }
            cookies.append(text)
        }
        return cookies
    }
}

extension Problem {
    init(_ error: PageError) {
        switch error {
        case .schemeRefused: self.init(403, error.description, pointer: "/url")
        case .noBrowser: self.init(501, error.description, pointer: "/mode")
        case .otherVisit: self.init(409, error.description)
        case .busy, .tooManyArchives, .ending: self.init(503, error.description)
        case .stopping: self = .stopping
        case .document(.refused, _): self.init(403, error.description, pointer: "/url")
        case .document(.timedOut, _): self.init(504, error.description)
        case .document(.failed, _): self.init(502, error.description)
        case .cancelled, .purged, .worse: self.init(409, error.description)
        case .archive: self.init(400, error.description)
        case .archiveTooLarge: self.init(413, error.description)
        case .noPage: self.init(422, error.description, pointer: "/url")
        case .cache(let error): self.init(error)
        }
    }

    init(_ failure: PageViewer.Failure) {
        switch failure {
        case .absent: self = .noPage
        case .noCapture(let key, let number):
            self.init(
                404, "the page has no capture \(number); GET /pages/\(key) lists its captures", pointer: "/capture")
        case .ticket:
            self = .notFound("the view has ended, or never began; open the page again with GET /pages/KEY/view")
        case .invalid: self = .invalid("a view has the absolute URL of a captured resource at its end")
        case .busy: self.init(503, "too many documents are being rewritten; try again later")
        case .cache(let error): self.init(error)
        }
    }

    static func ofScreenshot(_ failure: PageViewer.Failure) -> Problem {
        guard case .absent = failure else { return Problem(failure) }
        return .notFound("the cache has no picture of this page; a browser takes it during a rendered capture")
    }

    static let noPage = Problem.notFound("the cache has no captured page with this key")
}
