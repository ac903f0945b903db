import Testing

@testable import Origin

@Suite struct AddressPolicyTests {
    @Test(
        "an address that is not globally routable is refused, with the range that says so",
        arguments: [
            ("0.0.0.0", "0.0.0.0/8"), ("0.255.1.1", "0.0.0.0/8"), ("10.0.0.1", "10.0.0.0/8"),
            ("100.64.0.1", "100.64.0.0/10"), ("100.100.100.200", "100.64.0.0/10"), ("100.127.255.255", "100.64.0.0/10"),
            ("127.0.0.1", "127.0.0.0/8"), ("127.255.255.254", "127.0.0.0/8"), ("168.63.129.16", "168.63.129.16/32"),
            ("169.254.169.254", "169.254.0.0/16"), ("172.16.0.1", "172.16.0.0/12"), ("172.31.255.255", "172.16.0.0/12"),
            ("192.0.0.8", "192.0.0.0/24"), ("192.0.2.1", "192.0.2.0/24"), ("192.88.99.1", "192.88.99.0/24"),
            ("192.168.1.1", "192.168.0.0/16"), ("198.18.0.1", "198.18.0.0/15"), ("198.19.255.255", "198.18.0.0/15"),
            ("198.51.100.7", "198.51.100.0/24"), ("203.0.113.7", "203.0.113.0/24"), ("224.0.0.1", "224.0.0.0/4"),
            ("239.255.255.250", "224.0.0.0/4"), ("240.0.0.1", "240.0.0.0/4"), ("255.255.255.255", "255.255.255.255/32"),
            ("::", "::/128"), ("::1", "::1/128"), ("::ffff:127.0.0.1", "::ffff:0.0.0.0/96"),
            ("::ffff:8.8.8.8", "::ffff:0.0.0.0/96"), ("::127.0.0.1", "::/96"), ("64:ff9b::7f00:1", "64:ff9b::/96"),
            ("64:ff9b:1::1", "64:ff9b:1::/48"), ("100::1", "100::/64"), ("2001::1", "2001::/32"),
            ("2001:20::1", "2001::/23"), ("2001:1ff::1", "2001::/23"), ("2001:db8::1", "2001:db8::/32"),
            ("2002:7f00:1::", "2002::/16"), ("3fff::1", "3fff::/20"), ("5f00::1", "5f00::/16"),
            ("fc00::1", "fc00::/7"), ("fd00:ec2::254", "fc00::/7"), ("fe80::1", "fe80::/10"), ("febf::1", "fe80::/10"),
            ("fec0::1", "fec0::/10"), ("ff02::1", "ff00::/8"), ("4000::1", "::/0"), ("200::1", "::/0"),
        ])
    func refused(address: String, range: String) throws {
        let address = try #require(IPAddress(address))
        let reason = try #require(AddressPolicy().refusal(of: address, port: 80, host: "example.com"))
        #expect(reason.hasPrefix("\(address) is "))
        #expect(reason.hasSuffix("(\(range))"))
    }

    @Test(
        "a globally routable address is allowed, those beside the special ranges too",
        arguments: [
            "1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255",
            "128.0.0.1", "169.253.255.255", "172.15.255.255", "172.32.0.0", "192.0.1.0", "192.0.3.0", "192.167.255.255",
            "192.169.0.0", "198.17.255.255", "198.20.0.0", "223.255.255.255", "2606:4700::1111", "2001:200::1",
            "2001:4860:4860::8888", "2003::1", "2a00::1", "3ffe::1", "2620:4f:8000::1",
        ])
    func allowed(address: String) throws {
        #expect(AddressPolicy().refusal(of: try #require(IPAddress(address)), port: 80, host: "example.com") == nil)
    }

    @Test(
        "a rule lets through what it names, on the port it names, and nothing else",
        arguments: [
            ("127.0.0.1", "127.0.0.1", 80, "x", true), ("127.0.0.1", "127.0.0.2", 80, "x", false),
            ("127.0.0.0/8", "127.9.9.9", 80, "x", true), ("127.0.0.1:8080", "127.0.0.1", 8080, "x", true),
            ("127.0.0.1:8080", "127.0.0.1", 80, "x", false), ("10.0.0.0/8:443", "10.1.1.1", 443, "x", true),
            ("10.0.0.0/8:443", "10.1.1.1", 80, "x", false), ("::1", "::1", 80, "x", true),
            ("[::1]:8080", "::1", 8080, "x", true), ("[::1]:8080", "::1", 80, "x", false),
            ("[fc00::/7]:443", "fd00::1", 443, "x", true), ("[fc00::]/7:443", "fd00::1", 443, "x", true),
            ("fc00::/7", "fe80::1", 443, "x", false), ("files.internal", "10.0.0.1", 80, "files.internal", true),
            ("Files.Internal.", "10.0.0.1", 80, "files.internal", true),
            ("files.internal", "10.0.0.1", 80, "FILES.internal.", true),
            ("files.internal", "10.0.0.1", 80, "www.files.internal", false),
            ("files.internal:81", "10.0.0.1", 80, "files.internal", false),
            ("127.0.0.1", "::ffff:127.0.0.1", 80, "x", false), ("0.0.0.0/0", "10.0.0.1", 80, "x", true),
            ("0.0.0.0/0", "::1", 80, "x", false),
        ] as [(String, String, UInt16, String, Bool)])
    func rules(rule: String, address: String, port: UInt16, host: String, isAllowed: Bool) throws {
        let policy = AddressPolicy(allowing: [try AddressRule(rule)])
        let refusal = policy.refusal(of: try #require(IPAddress(address)), port: port, host: host)
        #expect((refusal == nil) == isAllowed)
    }

    @Test(
        "a text that is no rule is refused, with the text and what is wrong",
        arguments: [
            ("", "empty"), ("  ", "empty"), ("10.0.0.1/8", "10.0.0.0/8"), ("10.0.0.0/33", "0 to 32"),
            ("::/129", "0 to 128"), ("10.0.0.0/", "prefix length"), ("10.0.0.0/a", "prefix length"),
            ("10.0.0.0/8:0", "port"), ("10.0.0.1:65536", "port"), ("localhost:", "port"), ("localhost:http", "port"),
            ("[::1", "bracket"), ("[::1]8080", "bracket"), ("[127.0.0.1]:80", "bracket"), ("127.1", "host name"),
            ("0x7f000001", "host name"), ("-a.example", "host name"), ("a..b", "host name"),
            ("bücher.example", "host name"),
            ("http://localhost", "URL"), ("*.example.com", "host name"), ("files.internal/8", "no address"),
            ("fe80::1%eth0", "host name"),
        ])
    func malformed(rule: String, words: String) {
        let error = #expect(throws: AddressRule.Malformed.self) { try AddressRule(rule) }
        #expect(error?.description.contains("expected an address, a CIDR range or a host name") == true)
        #expect(error?.reason.contains(words) == true)
    }

    @Test(
        "a rule is written as it can be read",
        arguments: [
            "127.0.0.1", "10.0.0.0/8", "10.0.0.0/8:80", "::1", "[::1]:80", "fc00::/7", "[fc00::/7]:80", "a.b:80",
        ])
    func description(rule: String) throws {
        #expect(try AddressRule(rule).description == rule)
    }
}
