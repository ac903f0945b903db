import Foundation
import Primitives

/// Asks `/readyz` of a server, in plain HTTP: one connection, one request, and what comes until it is closed.
struct ReadinessProbe {
    /// A name or an address.
    let host: String
    let port: UInt16
    /// How long it waits: to be connected, and for each piece of the answer.
    let patience: Duration

    /// Why a server is not ready, in a few words.
    struct NotReady: Error {
        let reason: String
    }

    /// More than the answer has.
    private static let answerLimit = 64 << 10

    /// Where it asks, as in a URL.
    var place: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }

    /// Returns when the server is ready; throws ``NotReady`` when it says that it is not, or says nothing.
    func run() throws(NotReady) {
        let descriptor = try connect()
        defer { close(descriptor) }
        let request = "GET /readyz HTTP/1.1\r\nHost: \(place)\r\nConnection: close\r\n\r\n"
        let bytes = Array(request.utf8)
        let sent = bytes.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
        guard sent == bytes.count else { throw Self.failure() }
        let answer = String(decoding: try Self.readToEnd(descriptor), as: UTF8.self)
        let words = answer.prefix { !$0.isNewline }.split(separator: " ")
        guard words.count > 1, words[0].hasPrefix("HTTP/") else { throw NotReady(reason: "its answer is no HTTP") }
        guard words[1] != "200" else { return }
        let body = answer.firstRange(of: "\r\n\r\n").flatMap { try? JSON(parsing: String(answer[$0.upperBound...])) }
        throw NotReady(reason: body?["status"]?.stringValue ?? "status \(words[1])")
    }

    /// A connected socket, to the first of the host's addresses where somebody listens.
    private func connect() throws(NotReady) -> Int32 {
        var hints = addrinfo()
        hints.ai_flags = AI_NUMERICSERV
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(host, String(port), &hints, &list)
        guard code == 0 else { throw NotReady(reason: String(cString: gai_strerror(code))) }
        defer { freeaddrinfo(list) }
        var failure = NotReady(reason: "it has no address")
        var next = list
        while let address = next?.pointee {
            let descriptor = socket(address.ai_family, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
            if descriptor >= 0 {
                setPatience(of: descriptor)
                if Foundation.connect(descriptor, address.ai_addr, address.ai_addrlen) == 0 { return descriptor }
            }
            failure = Self.failure()
            if descriptor >= 0 { close(descriptor) }
            next = address.ai_next
        }
        throw failure
    }

    private func setPatience(of descriptor: Int32) {
        let milliseconds = patience.milliseconds
        var time = timeval(tv_sec: Int(milliseconds / 1000), tv_usec: Int(milliseconds % 1000) * 1000)
        let size = socklen_t(MemoryLayout<timeval>.size)
        // The time to send is that to connect, too.
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &time, size)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &time, size)
    }

    private static func readToEnd(_ descriptor: Int32) throws(NotReady) -> [UInt8] {
        var answer: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while answer.count < answerLimit {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            guard count >= 0 else { throw failure() }
            if count == 0 { break }
            answer += buffer.prefix(count)
        }
        return answer
    }

    /// What the system has just said.
    private static func failure() -> NotReady {
        let code = errno
        let isLate = code == EAGAIN || code == EINPROGRESS
        return NotReady(reason: isLate ? "no answer in time" : String(cString: strerror(code)))
    }
}
