import Foundation
import Primitives
import TestSupport

/// A client that exchanges bytes over a blocking TCP socket. Do not use it on the concurrency pool: see
/// ``blocking(_:)``.
final class RawClient {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// An answer as the client received it.
    struct Answer {
        var status = 0
        /// The field lines in order: the name as sent, and the value.
        var fields: [(name: String, value: String)] = []
        var body: [UInt8] = []

        var text: String { String(decoding: body, as: UTF8.self) }

        func values(_ name: String) -> [String] {
            fields.filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
        }

        subscript(name: String) -> String? { values(name).first }
    }

    private let descriptor: Int32
    /// Received bytes that are not consumed yet.
    private var buffer: [UInt8] = []
    /// The space for the kernel's next bytes.
    private var space = [UInt8](repeating: 0, count: 64 * 1024)

    init(port: UInt16, receiveBuffer: Int32? = nil) throws {
        descriptor = socket(AF_INET, 1, 0)
        guard descriptor >= 0 else { throw Failure(description: "socket: \(errno)") }
        // With these limits a test ends even if the daemon never answers.
        var limit = timeval(tv_sec: Int(Gate.defaultLimit.milliseconds / 1000), tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        if var receiveBuffer {
            setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &receiveBuffer, socklen_t(MemoryLayout<Int32>.size))
        }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        let result = withUnsafeBytes(of: &address) { bytes in
            connect(
                descriptor, bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self),
                socklen_t(MemoryLayout<sockaddr_in>.size))
        }
        guard result == 0 else { throw Failure(description: "connect: \(errno)") }
    }

    deinit {
        close(descriptor)
    }

    func send(_ text: String) throws {
        try send(Array(text.utf8))
    }

    func send(_ bytes: [UInt8]) throws {
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes {
                Foundation.send(descriptor, $0.baseAddress! + sent, bytes.count - sent, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { throw Failure(description: "send: \(errno)") }
            sent += count
        }
    }

    /// Sends a `GET` or another request without a body.
    func request(_ method: String, _ target: String, fields: [String] = []) throws {
        try send(([method + " " + target + " HTTP/1.1", "Host: test"] + fields + ["", ""]).joined(separator: "\r\n"))
    }

    /// Closes the sending side only.
    func halfClose() {
        shutdown(descriptor, 1)
    }

    /// Returns the next bytes from the server; empty when the server has closed (or reset) the connection.
    func receive() throws -> [UInt8] {
        if !buffer.isEmpty {
            defer { buffer = [] }
            return buffer
        }
        return try receiveMore()
    }

    /// Returns at most `limit` of the next bytes from the server, and leaves all further bytes in the kernel. Returns
    /// no bytes when the server has closed or reset the connection.
    func receive(atMost limit: Int) throws -> [UInt8] {
        if buffer.isEmpty { return try receiveMore(limit: limit) }
        defer { buffer.removeFirst(min(limit, buffer.count)) }
        return Array(buffer.prefix(limit))
    }

    private func receiveMore(limit: Int = .max) throws -> [UInt8] {
        let count = recv(descriptor, &space, min(limit, space.count), 0)
        if count < 0 {
            if errno == ECONNRESET { return [] }
            throw Failure(description: "recv: \(errno)")
        }
        return Array(space.prefix(count))
    }

    /// Waits for a reset without reading: bytes that arrived before it stay in the kernel. Throws `Failure` after
    /// ``Gate/defaultLimit``.
    func waitForReset() throws {
        var polled = pollfd(fd: descriptor, events: 0, revents: 0)
        guard poll(&polled, 1, Int32(Gate.defaultLimit.milliseconds)) == 1, polled.revents & Int16(POLLERR) != 0 else {
            throw Failure(description: "no reset")
        }
    }

    /// Waits for the next bytes or the end of the connection. Returns whether the server has closed the connection
    /// without sending more bytes.
    func isAtEnd() throws -> Bool {
        if !buffer.isEmpty { return false }
        buffer = try receiveMore()
        return buffer.isEmpty
    }

    /// Returns the next answer. Throws `Failure` when the answer is truncated. With `toHead`, it is the answer to a
    /// `HEAD` request, which has no body even if its head declares one.
    func answer(toHead: Bool = false) throws -> Answer {
        var answer = Answer()
        let statusLine = try line()
        guard statusLine.hasPrefix("HTTP/1.1 "), let status = Int(statusLine.dropFirst(9).prefix(3)) else {
            throw Failure(description: "not a status line: \(statusLine)")
        }
        answer.status = status
        while true {
            let text = try line()
            if text.isEmpty { break }
            let colon = text.firstIndex(of: ":") ?? text.endIndex
            answer.fields.append(
                (String(text[..<colon]), text[colon...].dropFirst().trimmingCharacters(in: .whitespaces)))
        }
        if toHead || status == 304 || status == 204 || status < 200 { return answer }
        if answer["Transfer-Encoding"] == "chunked" {
            while true {
                guard let size = Int(try line(), radix: 16) else { throw Failure(description: "not a chunk size") }
                answer.body += try take(size)
                guard try line().isEmpty else { throw Failure(description: "a chunk without an end") }
                if size == 0 { return answer }
            }
        }
        if let length = answer["Content-Length"].flatMap({ Int($0) }) {
            answer.body = try take(length)
            return answer
        }
        while true {
            let bytes = try receive()
            if bytes.isEmpty { return answer }
            answer.body += bytes
        }
    }

    private func line() throws -> String {
        while true {
            if let end = buffer.firstIndex(of: 10) {
                var line = buffer[..<end]
                if line.last == 13 { line.removeLast() }
                let text = String(decoding: line, as: UTF8.self)
                buffer.removeFirst(end + 1)
                return text
            }
            let more = try receiveMore()
            guard !more.isEmpty else { throw Failure(description: "the connection ended") }
            buffer += more
        }
    }

    private func take(_ count: Int) throws -> [UInt8] {
        while buffer.count < count {
            let more = try receiveMore()
            guard !more.isEmpty else { throw Failure(description: "the body ended early") }
            buffer += more
        }
        defer { buffer.removeFirst(count) }
        return Array(buffer.prefix(count))
    }
}
