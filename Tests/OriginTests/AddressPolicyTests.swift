import Primitives
import Testing

@testable import Origin

@Suite struct AddressPolicyTests {
    @Test(
        "An address that is not globally routable is refused, and the error names the range of the address",
        arguments: [
            ("0.0.0.0", "0.0.0.0/8"), ("0.255.1.1", "0.0.0.0/8"), ("10.0.0.1", "10.0.0.0/8"),
            ("100.64.0.1", "100.64.0.0/10"), ("100.127.255.255", "100.64.0.0/10"),
            ("127.0.0.1", "127.0.0.0/8"), ("127.255.255.254", "127.0.0.0/8"), ("169.254.1.1", "169.254.0.0/16"),
            ("192.31.196.1", "192.31.196.0/24"), ("192.52.193.1", "192.52.193.0/24"),
            ("192.175.48.1", "192.175.48.0/24"),
            ("2620:4f:8000::1", "2620:4f:8000::/48"), ("172.16.0.1", "172.16.0.0/12"),
            ("172.31.255.255", "172.16.0.0/12"),
            ("192.0.0.8", "192.0.0.0/24"), ("192.0.2.1", "192.0.2.0/24"), ("192.88.99.1", "192.88.99.0/24"),
            ("192.168.1.1", "192.168.0.0/16"), ("198.18.0.1", "198.18.0.0/15"), ("198.19.255.255", "198.18.0.0/15"),
            ("198.51.100.7", "198.51.100.0/24"), ("203.0.113.7", "203.0.113.0/24"), ("224.0.0.1", "224.0.0.0/4"),
            ("239.255.255.250", "224.0.0.0/4"), ("240.0.0.1", "240.0.0.0/4"), ("255.255.255.255", "255.255.255.255/32"),
            ("::", "::/128"), ("::1", "::1/128"), ("::ffff:127.0.0.1", "::ffff:0.0.0.0/96"),
            ("::ffff:8.8.8.8", "::ffff:0.0.0.0/96"), ("::127.0.0.1", "::/96"), ("64:ff9b::7f00:1", "64:ff9b::/96"),
            ("64:ff9b:1::1", "64:ff9b:1::/48"), ("100::1", "100::/64"), ("2001::1", "2001::/32"),
            ("2001:20::1", "2001::/23"), ("2001:1ff::1", "2001::/23"), ("2001:db8::1", "2001:db8::/32"),
            ("2002:7f00:1::", "2002::/16"), ("3fff::1", "3fff::/20"), ("5f00::1", "5f00::/16"),
            ("fc00::1", "fc00::/7"), ("fdff::1", "fc00::/7"), ("fe80::1", "fe80::/10"), ("febf::1", "fe80::/10"),
            ("fec0::1", "fec0::/10"), ("ff02::1", "ff00::/8"), ("4000::1", "::/0"), ("200::1", "::/0"),
        ])
    func refused(address: String, range: String) throws {
        let address = try #require(IPAddress(address))
        let reason = try #require(AddressPolicy().refusal(of: address, port: 80, host: "example.com"))
        #expect(reason.hasPrefix("example.com is "))
        // Apart from the range, the reason does not reveal the address of the host name.
        #expect(!reason.dropLast("(\(range))".count).contains(address.description))
        #expect(reason.hasSuffix("(\(range))"))
    }

    @Test(
        "A globally routable address is allowed, even next to the bounds of a special range",
        arguments: [
            "1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255",
            "128.0.0.1", "169.253.255.255", "172.15.255.255", "172.32.0.0", "192.0.1.0", "192.0.3.0", "192.167.255.255",
            "192.169.0.0", "198.17.255.255", "198.20.0.0", "223.255.255.255", "2606:4700::1111", "2001:200::1",
            "2001:4860:4860::8888", "2003::1", "2a00::1", "3ffe::1", "2620:4f:8001::1",
        ])
    func allowed(address: String) throws {
        #expect(AddressPolicy().refusal(of: try #require(IPAddress(address)), port: 80, host: "example.com") == nil)
    }

    @Test(
        "A rule allows only the addresses or the host that it names, on its port",
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
            ("0.0.0.0/0", "::1", 80, "x", false), ("*.internal", "10.0.0.1", 80, "a.b.internal", true),
            ("*.internal", "10.0.0.1", 80, "internal", false), ("*.internal", "10.0.0.1", 80, "ainternal", false),
            ("*.internal", "10.0.0.1", 80, "A.INTERNAL.", true), ("*.internal:81", "10.0.0.1", 80, "a.internal", false),
            // A port other than HTTP's needs a rule, even on a globally routable address.
            ("192.0.2.1", "1.1.1.1", 8443, "x", false), ("1.1.1.1:8443", "1.1.1.1", 8443, "x", true),
            ("x:8443", "1.1.1.1", 8443, "x", true), ("x", "1.1.1.1", 22, "x", true), ("y", "1.1.1.1", 22, "x", false),
            ("192.0.2.1", "1.1.1.1", 443, "x", true),
            // A cloud's metadata address needs a rule for exactly this address.
            ("169.254.0.0/16", "169.254.169.254", 80, "x", false), ("x", "169.254.169.254", 80, "x", false),
            ("169.254.169.254", "169.254.169.254", 80, "x", true), ("fc00::/7", "fd00:ec2::254", 80, "x", false),
            ("fd00:ec2::254", "fd00:ec2::254", 80, "x", true), ("100.64.0.0/10", "100.100.100.200", 80, "x", false),
        ] as [(String, String, UInt16, String, Bool)])
    func rules(rule: String, address: String, port: UInt16, host: String, isAllowed: Bool) throws {
        let policy = AddressPolicy(allowing: [try AddressRule(rule)])
        let refusal = policy.refusal(of: try #require(IPAddress(address)), port: port, host: host)
        #expect((refusal == nil) == isAllowed)
    }

    @Test(
        "A cloud's metadata address is refused, and the reason says so",
        arguments: [
            "169.254.169.254", "169.254.170.2", "168.63.129.16", "100.100.100.200", "192.0.0.192", "fd00:ec2::254",
        ])
    func metadata(address: String) throws {
        let address = try #require(IPAddress(address))
        #expect(AddressPolicy().refusal(of: address, port: 80, host: "x") == "x is a cloud metadata address")
    }

    @Test(
        "A rule that denies an address or name overrules every rule that allows the same address or name",
        arguments: [
            ("10.0.0.0/8", "10.1.1.1", 80, "x", true), ("10.0.0.0/8", "1.1.1.1", 80, "x", false),
            ("x", "1.1.1.1", 80, "X.", true), ("*.x", "1.1.1.1", 80, "a.x", true), ("*.x", "1.1.1.1", 80, "x", false),
            ("1.1.1.1:443", "1.1.1.1", 443, "y", true), ("1.1.1.1:443", "1.1.1.1", 80, "y", false),
        ] as [(String, String, UInt16, String, Bool)])
    func denied(rule: String, address: String, port: UInt16, host: String, isRefused: Bool) throws {
        let everything = try ["0.0.0.0/0", "::/0"].map { text in try AddressRule(text) }
        let rule = try AddressRule(rule)
        let policy = AddressPolicy(allowing: everything, denying: [rule])
        let address = try #require(IPAddress(address))
        let refusal = policy.refusal(of: address, port: port, host: host)
        #expect((refusal != nil) == isRefused)
        #expect(refusal?.hasSuffix(" is denied (\(rule))") != false)
        // A denied name is refused before its addresses are known, so no DNS query is sent.
        if case .range = rule.target {
            #expect(policy.refusal(ofHost: host, port: port) == nil)
        } else {
            #expect(policy.refusal(ofHost: host, port: port) == refusal)
        }
    }

    @Test("The policy checks an FTP data connection by the rules for the control port and for the data port")
    func data() throws {
        let denied = try ["1.1.1.1:21", "*:25", "*:50001"].map { text in try AddressRule(text) }
        let policy = AddressPolicy(allowing: [try AddressRule("10.0.0.1:21")], denying: denied)
        for (address, port, isRefused) in [
            ("10.0.0.1", 50_000, false), ("10.0.0.2", 50_000, true), ("8.8.8.8", 50_000, false),
            ("1.1.1.1", 50_000, true), ("8.8.8.8", 50_001, true),
        ] as [(String, UInt16, Bool)] {
            let address = try #require(IPAddress(address))
            let refusal = policy.refusal(of: address, port: port, host: "x", for: .data(controlPort: 21))
            #expect((refusal != nil) == isRefused, "\(address) \(port)")
        }
    }

    @Test(
        "The policy refuses a name before its look-up only if it would refuse every address of the name",
        arguments: [
            ([], [], "x", 80, nil), ([], [], "x", 81, "port 81 is not one of 80, 443"),
            (["x"], [], "X.", 81, nil), (["*.x"], [], "a.x", 81, nil), (["*"], [], "x", 81, nil),
            (["10.0.0.0/8"], [], "x", 81, nil), (["x:82"], [], "x", 81, "port 81 is not one of 80, 443"),
            (["10.0.0.0/8:82"], [], "x", 81, "port 81 is not one of 80, 443"),
            ([], ["*"], "x", 80, "x is denied (*)"), (["x"], ["*"], "x", 80, nil),
            (["y"], ["*"], "x", 80, "x is denied (*)"), ([], ["*:81"], "x", 80, nil),
            (["x"], ["x"], "x", 80, "x is denied (x)"), ([], ["10.0.0.0/8"], "x", 80, nil),
        ] as [([String], [String], String, UInt16, String?)])
    func nameAlone(allowed: [String], denied: [String], host: String, port: UInt16, words: String?) throws {
        let policy = AddressPolicy(
            allowing: try allowed.map { text in try AddressRule(text) },
            denying: try denied.map { text in try AddressRule(text) })
        #expect(policy.refusal(ofAnyAddressOf: host, port: port) == words)
        guard words == nil else { return }
        let addresses = ["1.1.1.1", "10.0.0.1"].compactMap { IPAddress($0) }
        #expect(addresses.contains { policy.refusal(of: $0, port: port, host: host) == nil })
    }

    @Test("Under a rule that denies all, only explicitly allowed addresses and names pass")
    func onlyAllowed() throws {
        let allowed = try ["10.0.0.0/8", "files.example"].map { text in try AddressRule(text) }
        let policy = AddressPolicy(allowing: allowed, denying: [try AddressRule("*"), try AddressRule("10.0.0.9")])
        for (address, host, isRefused) in [
            ("10.0.0.1", "x", false), ("10.0.0.9", "x", true), ("1.1.1.1", "x", true),
            ("1.1.1.1", "files.example", false),
            ("::1", "x", true),
        ] {
            let address = try #require(IPAddress(address))
            #expect((policy.refusal(of: address, port: 80, host: host) != nil) == isRefused, "\(address) \(host)")
        }
    }

    @Test(
        "An IPv6 address that contains an IPv4 address is refused if the IPv4 address is refused",
        arguments: [
            ("::ffff:169.254.169.254", true), ("::ffff:10.0.0.1", true), ("::ffff:10.1.0.1", true),
            ("::ffff:192.168.0.1", true), ("64:ff9b::10.0.0.1", true), ("64:ff9b::a9fe:a9fe", true),
            ("2002:a00:1::1", true), ("2002:a9fe:a9fe::", true), ("::10.0.0.1", true), ("::ffff:8.8.8.8", false),
            ("64:ff9b::808:808", false), ("2002:808:808::", false), ("::ffff:10.1.2.3", false),
        ])
    func embedded(address: String, isRefused: Bool) throws {
        let allowed = try ["::/0", "10.1.2.3"].map { text in try AddressRule(text) }
        let policy = AddressPolicy(allowing: allowed, denying: [try AddressRule("10.0.0.0/16")])
        let refusal = policy.refusal(of: try #require(IPAddress(address)), port: 80, host: "x")
        #expect((refusal != nil) == isRefused, "\(refusal ?? "")")
    }

    @Test(
        "An address of this machine is recognised in each spelling",
        arguments: [
            ("127.0.0.1", true), ("127.9.9.9", true), ("0.0.0.0", true), ("::1", true), ("::", true),
            ("::ffff:127.0.0.1", true), ("1.1.1.1", false), ("2606:4700::1111", false), ("192.0.2.1", false),
        ])
    func ofThisMachine(address: String, isOwn: Bool) throws {
        #expect(try #require(IPAddress(address)).isOfThisMachine == isOwn)
    }

    @Test(
        "A text that is no address rule is refused with an error that gives the reason",
        arguments: [
            ("", "empty"), ("  ", "empty"), ("10.0.0.1/8", "10.0.0.0/8"), ("10.0.0.0/33", "0 to 32"),
            ("::/129", "0 to 128"), ("10.0.0.0/", "prefix length"), ("10.0.0.0/a", "prefix length"),
            ("10.0.0.0/8:0", "port"), ("10.0.0.1:65536", "port"), ("localhost:", "port"), ("localhost:http", "port"),
            ("[::1", "bracket"), ("[::1]8080", "bracket"), ("[127.0.0.1]:80", "bracket"), ("127.1", "host name"),
            ("0x7f000001", "host name"), ("-a.example", "host name"), ("a..b", "host name"),
            ("bücher.example", "host name"),
            ("http://localhost", "URL"), ("*.", "host name follows"), ("*.10.0.0.1", "host name follows"),
            ("a.*.b", "host name"), ("*a.b", "host name"),
            ("files.internal/8", "address before the slash"),
            ("fe80::1%eth0", "host name"),
        ])
    func malformed(rule: String, words: String) {
        let error = #expect(throws: AddressRule.Malformed.self) { try AddressRule(rule) }
        #expect(error?.description.contains("expected an address, a CIDR range or a host name") == true)
        #expect(error?.reason.contains(words) == true)
    }

    @Test(
        "Parsing the description of an address rule yields the same rule",
        arguments: [
            "127.0.0.1", "10.0.0.0/8", "10.0.0.0/8:80", "::1", "[::1]:80", "fc00::/7", "[fc00::/7]:80", "a.b:80",
            "*.a.b", "*.a.b:80", "*", "*:25",
        ])
    func description(rule: String) throws {
        #expect(try AddressRule(rule).description == rule)
        #expect(try (AddressRule(rule) == .everything) == (rule == "*"))
    }
}
