import HTTPTypes
import Outbox
import Primitives

@testable import Larder
@testable import LarderAPI

/// The first byte selects the call, and the rest is the body of its request: a change, a decision, or a credential.
enum OutboxProperties {
    private static let now = Timestamp(seconds: 1_000_000_000)

    static func check(_ input: [UInt8]) throws(Violation) {
        guard let first = input.first else { return }
        let body = Array(input.dropFirst())
        guard let json = try? BodyDecoding.json(body, contentType: "application/json") else { return }
        switch first % 3 {
        case 0: try checkChange(json, body)
        case 1: try checkResolution(json)
        default: try checkCredential(json)
        }
    }

    /// Returns `nil` for a refusal.
    private static func decoded<Value>(_ decode: () throws(Problem) -> Value) throws(Violation) -> Value? {
        do throws(Problem) {
            return try decode()
        } catch {
            try demand(error.status == 400, "a refused request gets 400", "\(error.status)")
            try demand(!error.detail.isEmpty, "a refusal has a reason")
            return nil
        }
    }

    private static func checkChange(_ json: JSON, _ body: [UInt8]) throws(Violation) {
        let request = try decoded { () throws(Problem) in try ChangeRequest(json, payload: body, at: now) }
        guard let request else { return }
        try demand(
            (try? CanonicalURL(request.url.string)) == request.url, "the URL of a change is canonical",
            request.url.string)
        for label in [request.lane, request.idempotency?.key].compactMap(\.self) {
            try demand((1...255).contains(label.utf8.count), "a label has 1 to 255 bytes", label)
        }
        try demand(request.expires ?? now >= now, "a change expires after its acceptance")
        try demand(request.idempotency?.payload ?? body == body, "a key belongs to the bytes of its request")
        let limits = OutboxLimits()
        func make(_ request: ChangeRequest) -> ChangeDraft? {
            try? request.draft(namespace: "n", caller: "c", shown: ShownVersions(), limits: limits)
        }
        guard let draft = make(request), (try? draft.check(limits)) != nil else { return }
        let again = try? ChangeRequest(try JSON(parsing: json.utf8), payload: body, at: now)
        try demand(again.flatMap(make) == draft, "a written request reads back as the same change", json.text)
        for field in draft.fields {
            let name = field.name.lowercased()
            try demand(
                !["authorization", "cookie", "proxy-authorization", "host", "content-length"].contains(name)
                    && !name.hasPrefix("if-"), "a change has no secret and no condition of its own", name)
        }
        try checkShown(Change(id: 1, draft: draft, created: now))
    }

    /// The answer of the API, and the body that readers see.
    private static func checkShown(_ change: Change) throws(Violation) {
        let shown = change.json
        // A patch is deeper in the answer than in the request.
        let read = try demanded(try? JSON(parsing: shown.utf8, depthLimit: 100), "a change can be read", shown.text)
        try demand(read == shown, "a change reads back unchanged", shown.text)
        var composition = PendingBody.Composition(over: nil, limit: OutboxLimits().changeBytes)
        composition.apply(change)
        let body = composition.finish()
        switch (change.draft.edit, body?.content) {
        case (.post, nil), (.delete, .absent?): break
        case (_, .own(let bytes, _)?):
            try demand(
                bytes.withUnsafeBytes(Array.init) == change.draft.ours, "without an entry, readers see the body")
        default: try demand(false, "the form of a body follows from the form of its change", shown.text)
        }
    }

    private static func checkResolution(_ json: JSON) throws(Violation) {
        let resolution = try decoded { () throws(Problem) in try Resolution(json) }
        guard let resolution else { return }
        let again = try? Resolution(try JSON(parsing: json.utf8))
        try demand(again == resolution, "a written decision reads back unchanged", json.text)
        guard case .body(let bytes) = resolution, let text = json["text"]?.stringValue else { return }
        try demand(bytes == Array(text.utf8), "a text keeps its bytes", text)
    }

    private static func checkCredential(_ json: JSON) throws(Violation) {
        let credential = try decoded { () throws(Problem) in try OutboxCredential(json) }
        guard let credential else { return }
        try demand((1...32).contains(credential.origins.count), "a credential has 1 to 32 origins")
        try demand(!credential.fields.isEmpty, "a credential has a field")
        for origin in credential.origins {
            let url = try demanded(try? CanonicalURL(origin), "an origin is a URL", origin)
            try demand(
                ChangeTarget(url, key: "").origin == origin, "an origin has the form of the origin of a change", origin)
            try demand(credential.fields(for: origin) == credential.fields, "an origin gets the fields", origin)
            try demand(credential.fields(for: origin + "0").isEmpty, "another origin gets no field", origin)
        }
        var blind = credential
        for index in blind.fields.indices { blind.fields[index].value = "x" }
        var (one, other) = ("", "")
        dump(credential, to: &one)
        dump(blind, to: &other)
        try demand("\(credential)" == "\(blind)" && one == other, "the words of a credential do not depend on secrets")
    }
}
