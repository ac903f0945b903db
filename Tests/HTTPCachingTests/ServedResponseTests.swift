import HTTPTypes
import Primitives
import Testing

@testable import HTTPCaching

@Suite("Served responses")
struct ServedResponseTests {
    /// 2026-01-02T00:00:00Z: a day after `modified`, twelve hours after `made`, and the same instant as `late`.
    private static let now = Timestamp(seconds: 1_767_312_000)
    private static let modified = "Thu, 01 Jan 2026 00:00:00 GMT"
    private static let made = "Thu, 01 Jan 2026 12:00:00 GMT"
    private static let early = "Wed, 31 Dec 2025 00:00:00 GMT"
    private static let late = "Fri, 02 Jan 2026 00:00:00 GMT"

    /// The fields of a stored response of ten bytes.
    private static let stored: HTTPFields = [
        .date: made, .eTag: "\"v1\"", .lastModified: modified, .contentType: "text/plain", .contentLength: "10",
        .cacheControl: "max-age=60", .setCookie: "a=b",
    ]

    private func serve(
        _ request: HTTPFields = [:], method: HTTPRequest.Method = .get, status: Int = 200,
        fields: HTTPFields = stored, length: Int64 = 10, available: ByteCoverage? = nil, age: Duration = .seconds(7),
        validates: Bool = true
    ) -> ServedResponse? {
        ServedResponse(
            to: method, request,
            from: ServedResponse.Stored(status: status, fields: fields, length: length, available: available),
            age: age, now: Self.now, validates: validates, boundary: "B")
    }

    private static func multipart(_ ranges: Range<Int64>...) -> ServedResponse.Body {
        let type = HTTPField(name: .contentType, value: "text/plain")
        return .multipart(
            MultipartByteranges(ranges: ranges, completeLength: 10, contentType: type, boundary: "B"))
    }

    @Test("The whole response is served as it was stored, plus its Age (RFC 9111 §4, §5.1)")
    func whole() throws {
        let served = try #require(serve())
        #expect(served.status == 200)
        #expect(served.body == .whole)
        #expect(Array(served.fields) == Array(Self.stored) + [HTTPField(name: .age, value: "7")])
    }

    @Test(
        "The request's conditions and ranges decide the status for GET and HEAD, and the body for GET",
        arguments: [
            ([:], 200, 200, .whole),
            // RFC 9110 §13.1.1: If-Match compares strongly.
            ([.ifMatch: "\"v1\""], 200, 200, .whole),
            ([.ifMatch: "*"], 200, 200, .whole),
            ([.ifMatch: "\"v2\""], 412, 412, .none),
            ([.ifMatch: "W/\"v1\""], 412, 412, .none),
            // RFC 9110 §13.1.2: If-None-Match compares weakly.
            ([.ifNoneMatch: "\"v1\""], 304, 304, .none),
            ([.ifNoneMatch: "\"v0\", W/\"v1\""], 304, 304, .none),
            ([.ifNoneMatch: "*"], 304, 304, .none),
            ([.ifNoneMatch: "\"v2\""], 200, 200, .whole),
            // RFC 9110 §13.1.3: If-Modified-Since is ignored if the request has If-None-Match.
            ([.ifModifiedSince: modified], 304, 304, .none),
            ([.ifModifiedSince: late], 304, 304, .none),
            ([.ifModifiedSince: early], 200, 200, .whole),
            ([.ifModifiedSince: "yesterday"], 200, 200, .whole),
            ([.ifNoneMatch: "\"v2\"", .ifModifiedSince: late], 200, 200, .whole),
            // RFC 9110 §13.1.4: If-Unmodified-Since.
            ([.ifUnmodifiedSince: modified], 200, 200, .whole),
            ([.ifUnmodifiedSince: early], 412, 412, .none),
            // RFC 9110 §14.2: Range applies to GET, not to HEAD.
            ([.range: "bytes=0-4"], 206, 200, .range(0..<5)),
            ([.range: "bytes=-3"], 206, 200, .range(7..<10)),
            ([.range: "bytes=4-"], 206, 200, .range(4..<10)),
            ([.range: "bytes=0-99"], 206, 200, .range(0..<10)),
            ([.range: "items=0-4"], 200, 200, .whole),
            ([.range: "bytes=4-0"], 200, 200, .whole),
            // RFC 9110 §15.5.17: a Range without a satisfiable range gets 416.
            ([.range: "bytes=10-"], 416, 200, .none),
            ([.range: "bytes=-0"], 416, 200, .none),
            // RFC 9110 §15.3.7.2: if the requested ranges yield a single part, the body is not multipart.
            ([.range: "bytes=0-1,7-9"], 206, 200, multipart(0..<2, 7..<10)),
            ([.range: "bytes=7-9, 0-1"], 206, 200, multipart(7..<10, 0..<2)),
            ([.range: "bytes=0-1, 20-"], 206, 200, .range(0..<2)),
            ([.range: "bytes=0-1, 2-4"], 206, 200, .range(0..<5)),
            // RFC 9110 §13.1.5: If-Range compares a strong tag or a strong date.
            ([.range: "bytes=0-4", .ifRange: "\"v1\""], 206, 200, .range(0..<5)),
            ([.range: "bytes=0-4", .ifRange: "\"v2\""], 200, 200, .whole),
            ([.range: "bytes=0-4", .ifRange: "W/\"v1\""], 200, 200, .whole),
            ([.range: "bytes=0-4", .ifRange: modified], 206, 200, .range(0..<5)),
            ([.range: "bytes=0-4", .ifRange: late], 200, 200, .whole),
            ([.range: "bytes=10-", .ifRange: "\"v2\""], 200, 200, .whole),
            ([.ifRange: "\"v2\""], 200, 200, .whole),
            // RFC 9110 §13.2.2: conditions are evaluated before ranges.
            ([.range: "bytes=0-4", .ifNoneMatch: "\"v1\""], 304, 304, .none),
            ([.range: "bytes=10-", .ifMatch: "\"v2\""], 412, 412, .none),
            ([.range: "bytes=0-4", .ifMatch: "\"v1\""], 206, 200, .range(0..<5)),
        ] as [(HTTPFields, Int, Int, ServedResponse.Body)])
    func outcomes(request: HTTPFields, get: Int, head: Int, body: ServedResponse.Body) throws {
        let served = try #require(serve(request))
        #expect(served.status == get)
        #expect(served.body == body)
        // RFC 9110 §9.3.2: HEAD has no body, and the fields of GET unless a range changes the answer to GET.
        let headed = try #require(serve(request, method: .head))
        #expect(headed.status == head)
        #expect(headed.body == .none)
        if head == get { #expect(Array(headed.fields) == Array(served.fields)) }
        // RFC 9111 §5.1: the answer states its age.
        #expect(served.fields[values: .age] == ["7"])
        // RFC 9111 §4.2.3: Date is still the time at which the origin generated the response.
        #expect(served.fields[values: .date] == [Self.made])
    }

    @Test(
        "Conditions and ranges apply only to a stored 200 or 206 (RFC 9110 §13.2.1, §14.2, §15.4.5)",
        arguments: [203, 204, 299, 301, 404, 410, 412, 416, 500])
    func otherStatuses(status: Int) throws {
        for request: HTTPFields in [
            [.ifNoneMatch: "\"v1\""], [.ifNoneMatch: "*"], [.ifMatch: "\"v2\""], [.ifModifiedSince: Self.late],
            [.ifUnmodifiedSince: Self.early], [.range: "bytes=0-4"], [.range: "bytes=20-"],
        ] {
            let served = try #require(serve(request, status: status))
            #expect(served.status == status)
            #expect(served.body == (status == 204 ? .none : .whole))
        }
    }

    @Test("A stored 416 keeps its Content-Range, and a 204 has no Content-Length (RFC 9110 §15.5.17, §8.6)")
    func fieldsOfOtherStatuses() throws {
        let fields: HTTPFields = [.contentRange: "bytes */47", .contentLength: "0"]
        #expect(try #require(serve(status: 416, fields: fields, length: 0)).fields[.contentRange] == "bytes */47")
        #expect(try #require(serve(status: 204, fields: fields, length: 0)).fields[.contentLength] == nil)
    }

    @Test("If the origin has evaluated a request's conditions, Larder evaluates only the ranges")
    func validated() throws {
        #expect(try #require(serve([.ifNoneMatch: "\"v1\""], validates: false)).status == 200)
        #expect(try #require(serve([.ifMatch: "\"v2\""], validates: false)).status == 200)
        #expect(try #require(serve([.range: "bytes=0-4"], validates: false)).status == 206)
        let changed: HTTPFields = [.range: "bytes=0-4", .ifRange: "\"v2\""]
        #expect(try #require(serve(changed, validates: false)).status == 200)
    }

    @Test(
        "Larder replaces the origin's Age by the age in whole seconds, at most 2^31 (RFC 9111 §1.2.2, §5.1)",
        arguments: [
            (.zero, "0"), (.milliseconds(999), "0"), (.milliseconds(1999), "1"), (.seconds(-5), "0"),
            (.seconds(Int64.max), "2147483648"),
        ] as [(Duration, String)])
    func age(age: Duration, text: String) throws {
        let fields = HTTPFields([
            HTTPField(name: .age, value: "99"), HTTPField(name: .server, value: "x"),
            HTTPField(name: .age, value: "100"),
        ])
        let served = try #require(serve(fields: fields, age: age))
        #expect(served.fields[values: .age] == [text])
        #expect(served.fields[values: .server] == ["x"])
    }

    @Test("Content-Length is the length of the served bytes, even if the origin sent another length (RFC 9110 §8.6)")
    func contentLength() throws {
        let lengths: [HTTPFields] = [
            [:], [.contentLength: "10"], [.contentLength: "11"], [.contentLength: "10", .contentLength: "10"],
            [.contentLength: "10, 10"],
        ]
        for fields in lengths {
            #expect(try #require(serve(fields: fields)).fields[values: .contentLength] == ["10"])
            #expect(try #require(serve(method: .head, fields: fields)).fields[values: .contentLength] == ["10"])
            let part = try #require(serve([.range: "bytes=2-4"], fields: fields))
            #expect(part.fields[values: .contentLength] == ["3"])
            let parts = try #require(serve([.range: "bytes=0-1,7-9"], fields: fields))
            guard case .multipart(let multipart) = parts.body else {
                Issue.record("no multipart")
                return
            }
            #expect(parts.fields[values: .contentLength] == ["\(multipart.contentLength)"])
        }
    }

    @Test("Only for If-Modified-Since, Date replaces a missing Last-Modified (RFC 9111 §4.3.2, RFC 9110 §13.1.4)")
    func dateAsModificationDate() throws {
        let fields: HTTPFields = [.date: Self.made]
        func status(_ request: HTTPFields) throws -> Int { try #require(serve(request, fields: fields)).status }
        #expect(try status([.ifModifiedSince: Self.made]) == 304)
        #expect(try status([.ifModifiedSince: Self.late]) == 304)
        #expect(try status([.ifModifiedSince: Self.modified]) == 200)
        #expect(try status([.ifUnmodifiedSince: Self.early]) == 200)
        #expect(try status([.ifModifiedSince: Self.made, .ifUnmodifiedSince: Self.early]) == 304)
        #expect(try status([.range: "bytes=0-4", .ifRange: Self.made]) == 200)
        // An unreadable Last-Modified does not count as missing.
        let odd: HTTPFields = [.date: Self.made, .lastModified: "yesterday"]
        #expect(try #require(serve([.ifModifiedSince: Self.late], fields: odd)).status == 200)
    }

    @Test("If-Range with a date needs a Date at least a second later than Last-Modified (RFC 9110 §8.8.2.2)")
    func strongDate() throws {
        func status(_ fields: HTTPFields) throws -> Int {
            try #require(serve([.range: "bytes=0-4", .ifRange: Self.modified], fields: fields)).status
        }
        #expect(try status([.lastModified: Self.modified, .date: "Thu, 01 Jan 2026 00:00:01 GMT"]) == 206)
        #expect(try status([.lastModified: Self.modified, .date: Self.modified]) == 200)
        #expect(try status([.lastModified: Self.modified, .date: Self.early]) == 200)
        #expect(try status([.lastModified: Self.modified]) == 200)
    }
}
