import Foundation
import HTTPTypes
import Primitives

/// A client's connection to a server under test, byte by byte: for requests that no proper client sends, and for
/// keep-alive and pipelining. Every call blocks, so run it inside ``blocking(_:)``.
package final class RawConnection: Sendable {
    /// The error for an answer that is not HTTP.
    package struct Malformed: Error, CustomStringConvertible {
        /// The fault in the answer.
        package let description: String
    }

    private let stream: SocketStream
    /// An object that must live as long as the connection.
    private let kept: (any Sendable)?

    /// Connects to a port of this machine. Reads fail after `limit` without a byte.
    package init(port: UInt16, limit: Duration = Gate.defaultLimit) throws {
        stream = try SocketStream(port: port, limit: limit)
        kept = nil
    }

    /// Takes over a stream that is open already, and keeps `kept` alive.
    init(_ stream: SocketStream, keeping kept: any Sendable) {
        self.stream = stream
        self.kept = kept
    }

    /// Sends the text unchanged, so it must contain each `\r\n`.
    package func send(_ text: String) throws { try stream.send(text) }

    /// Sends the bytes unchanged.
    package func send(_ bytes: some Sequence<UInt8>) throws { try stream.send(bytes) }

    /// Sends a request. Adds `Host` unless `fields` has it. Adds `Content-Length` when there is a body or the method is
    /// `POST`, `PUT` or `PATCH`, unless `fields` has it or a `Transfer-Encoding`.
    package func sendRequest(
        _ method: String = "GET", _ target: String, fields: HTTPFields = [:], body: [UInt8] = []
    ) throws {
        var head = "\(method) \(target) HTTP/1.1\r\n"
        if fields[HTTPField.Name("Host")!] == nil { head += "Host: localhost\r\n" }
        for field in fields { head += "\(field.name.rawName): \(field.value)\r\n" }
        let needsLength = !body.isEmpty || method == "POST" || method == "PUT" || method == "PATCH"
        if needsLength && fields[.contentLength] == nil && fields[.transferEncoding] == nil {
            head += "Content-Length: \(body.count)\r\n"
        }
        try stream.send(Array((head + "\r\n").utf8) + body)
    }

    /// Reads one answer: the head, and the body as its framing says. Interim (1xx) answers before it are put into
    /// ``HTTPReply/interim``.
    ///
    /// - Parameter method: the method of the answered request; an answer to `HEAD` has no body.
    ///
    /// Throws when the connection ends before the answer is complete, or when the answer is not HTTP.
    package func readReply(to method: String = "GET") throws -> HTTPReply {
        var interim: [HTTPReply] = []
        while true {
            var reply = try readHead()
            if (100..<200).contains(reply.status) && reply.status != 101 {
                interim.append(reply)
                continue
            }
            reply.interim = interim
            let hasBody = method != "HEAD" && reply.status != 204 && reply.status != 304 && reply.status >= 200
            if hasBody { try readBody(of: &reply) }
            return reply
        }
    }

    /// Reads the head of one answer, which may be an interim answer, and leaves the body unread.
    package func readHead() throws -> HTTPReply {
        guard let statusLine = try stream.readLine() else {
            throw SocketStream.EndOfStream(description: "the server closed the connection without an answer")
        }
        let line = String(decoding: statusLine, as: UTF8.self)
        let words = line.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
        guard words.count >= 2, words[0].hasPrefix("HTTP/1."), words[1].utf8.count == 3, let status = Int(words[1])
        else { throw Malformed(description: "no status line: \(line)") }
        let reply = HTTPReply(status: status, reason: words.count > 2 ? String(words[2]) : "", head: line + "\r\n")
        return try readFields(into: reply)
    }

    /// Reads exactly `count` bytes.
    package func read(_ count: Int) throws -> [UInt8] { try stream.read(count) }

    /// Reads the bytes that have arrived, and waits for the first byte; `nil` when the server has closed the
    /// connection.
    package func readSome() throws -> [UInt8]? { try stream.readSome() }

    /// Reads until the server closes the connection.
    package func readToEnd() throws -> [UInt8] { try stream.readToEnd() }

    /// Closes the sending side; reading is still possible.
    package func finishSending() { stream.finishSending() }

    /// Closes the connection.
    package func close() { stream.close() }

    /// Closes the connection with a reset, as a crashing client does.
    package func reset() { stream.reset() }

    private func readFields(into reply: HTTPReply) throws -> HTTPReply {
        var reply = reply
        while true {
            guard let line = try stream.readLine() else {
                throw SocketStream.EndOfStream(description: "the connection ended in a head")
            }
            if line.isEmpty { return reply }
            reply.head += String(decoding: line, as: UTF8.self) + "\r\n"
            guard let colon = line.firstIndex(of: 0x3a),
                let name = HTTPField.Name(String(decoding: line[..<colon], as: UTF8.self))
            else { throw Malformed(description: "no field: \(String(decoding: line, as: UTF8.self))") }
            let value = line[(colon + 1)...].trimmingPrefix { $0 == 0x20 || $0 == 0x09 }
            reply.fields.append(HTTPField(name: name, lenientValue: value))
        }
    }

    private func readBody(of reply: inout HTTPReply) throws {
        if reply.fields[.transferEncoding] == "chunked" {
            while true {
                guard let line = try stream.readLine(),
                    let size = Int(String(decoding: line.prefix { $0 != 0x3b }, as: UTF8.self), radix: 16)
                else { throw Malformed(description: "no chunk") }
                if size == 0 { break }
                reply.body += try stream.read(size)
                guard try stream.read(2) == [0x0d, 0x0a] else { throw Malformed(description: "no end of a chunk") }
            }
            let trailer = HTTPReply(status: reply.status, reason: "", head: "")
            reply.trailers = try readFields(into: trailer).fields
        } else if let length = reply.fields[.contentLength] {
            guard let count = Int(length), count >= 0 else { throw Malformed(description: "Content-Length: \(length)") }
            reply.body = try stream.read(count)
        } else {
            reply.body = try stream.readToEnd()
        }
    }
}
