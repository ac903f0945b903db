import Testing

@testable import Origin

@Suite("The memo of known URLs")
struct KnownURLsTests {
    private func request(_ url: String, target: String? = "/x") -> OriginRequest {
        var request = OriginRequest(url: url)
        request.requestTarget = target
        return request
    }

    @Test("KnownURLs remembers a URL only if it is valid and short, and the request has a requestTarget beside its URL")
    func remembered() throws {
        var known = KnownURLs()
        for _ in 0..<2 {
            #expect(try known.url(of: request("http://h:81/")).origin == "http://h:81")
            #expect(try known.url(of: request("http://h:82/a", target: nil)).port == 82)
            #expect(throws: OriginURL.Invalid.self) { try known.url(of: request("no URL")) }
            _ = try known.url(of: request("http://\(String(repeating: "h", count: 300))/"))
        }
        #expect(known.urls.count == 1)
        for number in 0..<2500 { _ = try known.url(of: request("http://h\(number)/")) }
        #expect(known.urls.count <= 1000)
    }

    @Test("A remembered URL is still refused when the configuration refuses it")
    func checked() throws {
        var known = KnownURLs()
        var configuration = OriginConfiguration()
        configuration.schemes = ["http", "https"]
        _ = try request("https://h/").checkedURL(configuration, known: &known)
        configuration.schemes = ["http"]
        #expect(throws: OriginError.self) { try request("https://h/").checkedURL(configuration, known: &known) }
        var tunnel = request("http://h/")
        _ = try tunnel.checkedURL(configuration, known: &known)
        tunnel.method = .connect
        #expect(throws: OriginError.self) { try tunnel.checkedURL(configuration, known: &known) }
    }
}
