import HTTPTypes
import Primitives
import Testing

@testable import HTTPCaching

@Suite("The fields of served responses")
struct ServedFieldsTests {
    private static let names = [
        "Date", "Server", "ETag", "Last-Modified", "Cache-Control", "CDN-Cache-Control", "Larder-Cache-Control",
        "Expires", "Vary", "Content-Location", "Content-Type", "Content-Encoding", "Content-Language", "Content-Length",
        "Content-Digest", "Content-MD5", "Repr-Digest", "Set-Cookie", "Set-Cookie", "Link", "Via", "Cache-Status",
    ]

    /// The answer to `request` from a stored response that has the fields `names` except `missing`.
    private func served(
        _ request: HTTPFields, without missing: Set<String> = [], available: ByteCoverage? = nil
    ) throws -> ServedResponse {
        let fields = try Self.names.filter { !missing.contains($0) }.map { name in
            HTTPField(name: try #require(HTTPField.Name(name)), value: name == "ETag" ? "\"a\"" : "x")
        }
        return try #require(
            ServedResponse(
                to: .get, request,
                from: ServedResponse.Stored(
                    status: available == nil ? 200 : 206, fields: HTTPFields(fields), length: 10, available: available),
                age: .zero, now: Timestamp(seconds: 0), boundary: "B"))
    }

    private func names(_ served: ServedResponse) -> [String] { served.fields.map(\.name.rawName) }

    @Test("A 304 has only the fields that RFC 9110 §15.4.5 requires, and Age")
    func notModified() throws {
        let answer = try served([.ifNoneMatch: "\"a\""])
        #expect(answer.status == 304)
        #expect(
            names(answer) == [
                "Date", "ETag", "Cache-Control", "CDN-Cache-Control", "Larder-Cache-Control", "Expires", "Vary",
                "Content-Location", "Age",
            ])
    }

    @Test("A 304 also has Last-Modified if the response has no entity tag (RFC 9110 §15.4.5)")
    func notModifiedByDate() throws {
        let answer = try served([.ifNoneMatch: "*"], without: ["ETag", "Vary", "Expires"])
        #expect(answer.status == 304)
        #expect(
            names(answer) == [
                "Date", "Last-Modified", "Cache-Control", "CDN-Cache-Control", "Larder-Cache-Control",
                "Content-Location", "Age",
            ])
    }

    @Test("A 206 keeps all stored fields except digests of the whole content (RFC 9110 §15.3.7)")
    func part() throws {
        let answer = try served([.range: "bytes=0-4"])
        #expect(answer.status == 206)
        let whole = Self.names.filter { $0 != "Content-Digest" && $0 != "Content-MD5" }
        #expect(names(answer) == whole + ["Content-Range", "Age"])
        #expect(answer.fields[.contentRange] == "bytes 0-4/10")
        #expect(answer.fields[.contentType] == "x")
    }

    @Test(
        "A 206 to a request with If-Range omits representation fields, because the client has them (RFC 9110 §15.3.7)"
    )
    func partAfterIfRange() throws {
        let answer = try served([.range: "bytes=0-4", .ifRange: "\"a\""])
        #expect(answer.status == 206)
        for name: HTTPField.Name in [.contentType, .contentEncoding, .contentLanguage, .lastModified] {
            #expect(!answer.fields.contains(name))
        }
        for name: HTTPField.Name in [.date, .cacheControl, .eTag, .expires, .contentLocation, .vary, .contentRange] {
            #expect(answer.fields.contains(name))
        }
    }

    @Test("Each part of a multipart 206 has its Content-Range and the stored Content-Type (RFC 9110 §15.3.7.2)")
    func parts() throws {
        for request: HTTPFields in [
            [.range: "bytes=0-1,7-9"], [.range: "bytes=0-1,7-9", .ifRange: "\"a\""],
        ] {
            let answer = try served(request)
            #expect(answer.status == 206)
            #expect(!answer.fields.contains(.contentRange))
            #expect(answer.fields[values: .contentType] == ["multipart/byteranges; boundary=B"])
            guard case .multipart(let multipart) = answer.body else {
                Issue.record("no multipart")
                return
            }
            let head = String(decoding: multipart.head(of: 0), as: UTF8.self)
            #expect(head == "--B\r\nContent-Type: x\r\nContent-Range: bytes 0-1/10\r\n\r\n")
        }
    }

    @Test("A 412 and a 416 have the current validators and no content (RFC 9110 §15.5.13, §15.5.17)")
    func errors() throws {
        let failed = try served([.ifMatch: "\"b\""])
        #expect(failed.status == 412)
        #expect(names(failed) == ["Date", "ETag", "Vary", "Content-Length", "Age"])
        #expect(failed.fields[.contentLength] == "0")
        let unsatisfiable = try served([.range: "bytes=10-"])
        #expect(unsatisfiable.status == 416)
        #expect(names(unsatisfiable) == ["Date", "ETag", "Vary", "Content-Length", "Content-Range", "Age"])
        #expect(unsatisfiable.fields[.contentRange] == "bytes */10")
    }

    // MARK: - Responses stored in parts

    @Test(
        "Stored parts answer only requests for ranges within them (RFC 9111 §3.3, §3.4)",
        arguments: [
            ([.range: "bytes=0-4"], 206, .range(0..<5)),
            ([.range: "bytes=1-2"], 206, .range(1..<3)),
            ([.range: "bytes=-2"], 206, .range(8..<10)),
            ([.range: "bytes=0-5"], nil, .none),
            ([.range: "bytes=5-7"], nil, .none),
            ([.range: "bytes=-4"], nil, .none),
            ([.range: "bytes=0-1, 6-6"], nil, .none),
            ([.range: "bytes=10-"], 416, .none),
            ([:], nil, .none),
            ([.range: "bytes=4-0"], nil, .none),
            // A failed If-Range turns the request into a request for the whole.
            ([.range: "bytes=0-4", .ifRange: "\"a\""], 206, .range(0..<5)),
            ([.range: "bytes=0-4", .ifRange: "\"b\""], nil, .none),
            // Conditions are evaluated only if the stored parts could answer the request without conditions.
            ([.range: "bytes=0-4", .ifNoneMatch: "\"a\""], 304, .none),
            ([.range: "bytes=0-4", .ifMatch: "\"b\""], 412, .none),
            ([.range: "bytes=0-5", .ifNoneMatch: "\"a\""], nil, .none),
            ([.ifNoneMatch: "\"a\""], nil, .none),
        ] as [(HTTPFields, Int?, ServedResponse.Body)])
    func partial(request: HTTPFields, status: Int?, body: ServedResponse.Body) {
        let fields: HTTPFields = [.eTag: "\"a\"", .contentRange: "bytes 0-4/10", .contentLength: "5"]
        let stored = ServedResponse.Stored(
            status: 206, fields: fields, length: 10, available: ByteCoverage([0..<5, 8..<10]))
        func serve(_ method: HTTPRequest.Method) -> ServedResponse? {
            ServedResponse(
                to: method, request, from: stored, age: .zero, now: Timestamp(seconds: 0), boundary: "B")
        }
        #expect(serve(.get)?.status == status)
        #expect(serve(.get)?.body ?? .none == body)
        // HEAD asks for the fields of the whole representation, so parts do not answer it.
        #expect(serve(.head) == nil)
    }

    @Test("Stored parts that together cover the whole are served as a 200 without Content-Range (RFC 9111 §3.4)")
    func completed() throws {
        let answer = try served([:], available: ByteCoverage([0..<5, 5..<10]))
        #expect(answer.status == 200)
        #expect(answer.body == .whole)
        #expect(!answer.fields.contains(.contentRange))
        #expect(answer.fields[.contentLength] == "10")
    }

    @Test("Larder serves the Content-Range of a stored 200 unchanged; in a 200 it has no meaning (RFC 9110 §14.4)")
    func contentRangeOfWhole() throws {
        let stored = ServedResponse.Stored(status: 200, fields: [.contentRange: "bytes 0-4/5"], length: 5)
        func answer(_ method: HTTPRequest.Method, _ request: HTTPFields = [:]) throws -> ServedResponse {
            try #require(
                ServedResponse(
                    to: method, request, from: stored, age: .zero, now: Timestamp(seconds: 0), boundary: "B"))
        }
        #expect(try answer(.get).fields[values: .contentRange] == ["bytes 0-4/5"])
        #expect(try answer(.head).fields[values: .contentRange] == ["bytes 0-4/5"])
        #expect(try answer(.get, [.range: "bytes=1-2"]).fields[values: .contentRange] == ["bytes 1-2/5"])
        #expect(try answer(.get, [.range: "bytes=9-"]).fields[values: .contentRange] == ["bytes */5"])
    }

    @Test("In an answer, the Content-Range of the served range replaces the Content-Range of the stored part")
    func contentRangeOfPart() throws {
        let stored = ServedResponse.Stored(
            status: 206, fields: [.contentRange: "bytes 0-7/10"], length: 10, available: ByteCoverage([0..<8]))
        func contentRange(_ range: String) -> [String]? {
            ServedResponse(
                to: .get, [.range: range], from: stored, age: .zero, now: Timestamp(seconds: 0), boundary: "B"
            )?.fields[values: .contentRange]
        }
        #expect(contentRange("bytes=2-3") == ["bytes 2-3/10"])
        #expect(contentRange("bytes=0-1, 6-7") == [])
        #expect(contentRange("bytes=20-") == ["bytes */10"])
    }
}
