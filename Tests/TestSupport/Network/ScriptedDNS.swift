import Foundation
import Primitives

/// A small real name server (RFC 1035) over UDP that answers as a script says, for tests against a hostile name server.
///
/// Resolvers send queries to port 53 only, and listening on this port needs privileges. A process queries this server
/// when the process's `/etc/resolv.conf` names this server.
package final class ScriptedDNS: Sendable {
    /// A query.
    package struct Question: Sendable {
        /// The name, lower-case, without a dot at the end.
        package let name: String
        /// The number of earlier queries for the same name and type.
        package let count: Int
    }

    /// The address on which the server listens.
    package let address: String
    private let descriptor: Int32
    private let counts = Locked<[String: Int]>([:])
    private let ended = Gate("end of the name server")

    /// Listens on port 53 of a loopback address.
    ///
    /// - Parameter script: returns the addresses of a name, IPv4 and IPv6 in any order; an empty list means that
    ///   the name does not exist.
    ///
    /// Throws ``SystemError`` when it cannot listen.
    package init(address: String, script: @escaping @Sendable (Question) -> [String]) throws {
        self.address = address
        descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw SystemError("socket") }
        var own = sockaddr_in(port: 53, address: address)
        let isBound = withUnsafePointer(to: &own) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        guard isBound else {
            let error = SystemError("bind")
            close(descriptor)
            throw error
        }
        startThread { [self] in
            serve(script)
            close(descriptor)
            ended.open()
        }
    }

    /// Stops listening, and waits for the end of the thread.
    package func stop() {
        // A datagram of a single byte ends the thread.
        let sender = socket(AF_INET, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var target = sockaddr_in(port: 53, address: address)
        withUnsafePointer(to: &target) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                _ = sendto(sender, "x", 1, 0, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        close(sender)
        try? ended.waitBlocking()
    }

    private func serve(_ script: (Question) -> [String]) {
        var buffer = [UInt8](repeating: 0, count: 512)
        while true {
            var peer = sockaddr_storage()
            var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
            let count = withUnsafeMutablePointer(to: &peer) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    recvfrom(descriptor, &buffer, buffer.count, 0, $0, &length)
                }
            }
            if count == 1 { return }
            guard count > 16, let answer = answer(to: Array(buffer[..<count]), script) else { continue }
            withUnsafePointer(to: &peer) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    _ = sendto(descriptor, answer, answer.count, 0, $0, length)
                }
            }
        }
    }

    private func answer(to query: [UInt8], _ script: (Question) -> [String]) -> [UInt8]? {
        var labels: [String] = []
        var index = 12
        while index < query.count, query[index] != 0 {
            let end = index + 1 + Int(query[index])
            guard end < query.count else { return nil }
            labels.append(String(decoding: query[(index + 1)..<end], as: UTF8.self))
            index = end
        }
        guard index + 5 <= query.count else { return nil }
        let type = UInt16(query[index + 1]) << 8 | UInt16(query[index + 2])
        let question = Array(query[12..<(index + 5)])
        let name = labels.joined(separator: ".").lowercased()
        let count = counts.withLock { counts in
            defer { counts["\(name) \(type)", default: 0] += 1 }
            return counts["\(name) \(type)", default: 0]
        }
        let addresses = script(Question(name: name, count: count))
        let records = addresses.compactMap { Self.bytes(of: $0) }.filter { $0.count == (type == 28 ? 16 : 4) }
        // A name that does not exist is error 3. A name without addresses of this type is no error.
        let code: UInt8 = addresses.isEmpty ? 3 : 0
        var answer = Array(query[..<2])
        answer += [0x85, 0x80 | code, 0, 1, 0, UInt8(records.count), 0, 0, 0, 0] as [UInt8]
        answer += question
        for record in type == 1 || type == 28 ? records : [] {
            answer += [0xc0, 12, 0, UInt8(type), 0, 1, 0, 0, 0, 0, 0, UInt8(record.count)] as [UInt8]
            answer += record
        }
        return answer
    }

    private static func bytes(of address: String) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: 16)
        if inet_pton(AF_INET, address, &bytes) == 1 { return Array(bytes[..<4]) }
        return inet_pton(AF_INET6, address, &bytes) == 1 ? bytes : nil
    }
}
