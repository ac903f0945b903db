import Primitives
import Testing

@testable import Origin

@Suite("The egress rules of deploy/kubernetes")
struct NetworkPolicyTests {
    /// The allowed addresses of a block: the addresses of its range, without the addresses of its exceptions.
    private struct Block {
        let range: AddressRange
        let exceptions: [AddressRange]

        init(_ value: JSONValue) throws {
            range = try AddressRange(text: try #require(value["cidr"]?.stringValue))
            exceptions = try (value["except"]?.arrayValue ?? []).map {
                try AddressRange(text: try #require($0.stringValue))
            }
        }

        func contains(_ address: IPAddress) -> Bool {
            range.contains(address) && !exceptions.contains { $0.contains(address) }
        }
    }

    /// The egress rule with address blocks. The other egress rule is for name servers.
    private static func rule() throws -> JSONValue {
        let policy = try DeployedFile("deploy/kubernetes/base/networkpolicy.yaml").yaml
        let rules = try #require(policy["spec"]?["egress"]?.arrayValue)
        let withBlocks = rules.filter { !$0.members(named: "ipBlock").isEmpty }
        return try #require(withBlocks.count == 1 ? withBlocks.first : nil)
    }

    private static func blocks() throws -> [Block] {
        try rule().members(named: "ipBlock").map { try Block($0) }
    }

    @Test("At the ends of each address range and just beyond, the egress rule permits the same as the address policy")
    func ranges() throws {
        let blocks = try Self.blocks()
        let special = (SpecialPurposeRanges.v4 + SpecialPurposeRanges.v6).map(\.range)
        let metadata = SpecialPurposeRanges.metadata.compactMap { AddressRange($0, prefixLength: $0.bitCount) }
        #expect(metadata.count == SpecialPurposeRanges.metadata.count)
        let policy = AddressPolicy()
        for range in special + metadata + blocks.map(\.range) + blocks.flatMap(\.exceptions) {
            for address in range.ends {
                let isAllowed = policy.refusal(of: address, port: 443, host: "example.com") == nil
                #expect(blocks.contains { $0.contains(address) } == isAllowed, "\(address), at an end of \(range)")
            }
        }
    }

    @Test("The egress rule opens exactly the default ports of the address policy")
    func ports() throws {
        let ports = try #require(try Self.rule()["ports"]?.arrayValue)
        #expect(Set(ports.compactMap { $0["port"]?.countValue }) == Set(AddressPolicy.defaultPorts.map { Int($0) }))
        #expect(ports.allSatisfy { $0["protocol"]?.stringValue == "TCP" && $0["endPort"] == nil })
    }

    @Test("Each exception of an ipBlock lies within the block's range, as Kubernetes demands")
    func exceptions() throws {
        for block in try Self.blocks() {
            for exception in block.exceptions {
                #expect(block.range.contains(exception.address), "\(exception)")
                #expect(exception.prefixLength > block.range.prefixLength, "\(exception)")
            }
        }
    }
}

extension AddressRange {
    fileprivate init(text: String) throws {
        let target = try AddressRule(text).target
        guard case .range(let range) = target else { throw AddressRule.Malformed(rule: text, reason: "it is no range") }
        self = range
    }

    /// The lowest and the highest address of the range, and the addresses directly before and behind the range. Behind
    /// the highest address of all comes the lowest address.
    fileprivate var ends: [IPAddress] {
        switch address {
        case .v4(let low):
            let high = low | UInt32.max >> prefixLength
            return [.v4(low &- 1), .v4(low), .v4(high), .v4(high &+ 1)]
        case .v6(let low):
            let high = low | UInt128.max >> prefixLength
            return [.v6(low &- 1), .v6(low), .v6(high), .v6(high &+ 1)]
        }
    }
}
