import HTTPTypes
import Primitives

extension ScriptedOrigin {
    /// The server's end of a connection, which a script controls.
    package final class Connection: Sendable {
        /// The number of the connection, from 0.
        package let number: Int
        private let stream: SocketStream
        private let state = Locked((isClosed: false, method: ""))

        init(stream: SocketStream, number: Int) {
            self.stream = stream
            self.number = number
        }

        /// Whether the script has closed the connection.
        package var isClosed: Bool { state.withLock { $0.isClosed } }

        /// Sends the text unchanged, so it must contain each `\r\n`. Throws when the client is gone.
        package func send(_ text: String) throws { try stream.send(text) }

        /// Sends the bytes unchanged. Throws when the client is gone.
        package func send(_ bytes: some Sequence<UInt8>) throws { try stream.send(bytes) }

        /// Sends a whole answer, with `Content-Length` unless `fields` has one or the status allows none. The answer to
        /// `HEAD` counts the body but does not contain it. Throws when the client is gone.
        package func respond(
            _ status: Int = 200, fields: HTTPFields = [:], body: some Sequence<UInt8>
        ) throws {
            let bytes = Array(body)
            var fields = fields
            let allowsBody = status != 204 && status != 304
            if allowsBody && fields[.contentLength] == nil { fields[.contentLength] = String(bytes.count) }
            let isSent = allowsBody && state.withLock { $0.method } != "HEAD"
            try stream.send(head(status, fields) + (isSent ? bytes : []))
        }

        /// Sends a whole answer with a text, empty by default, as its body.
        package func respond(_ status: Int = 200, fields: HTTPFields = [:], body: String = "") throws {
            try respond(status, fields: fields, body: Array(body.utf8))
        }

        /// Sends only a head, with exactly these fields. The script sends the body, if any.
        package func sendHead(_ status: Int = 200, fields: HTTPFields = [:]) throws {
            try stream.send(head(status, fields))
        }

        /// Sends the head of an answer with a chunked body.
        package func startChunks(_ status: Int = 200, fields: HTTPFields = [:]) throws {
            var fields = fields
            fields[.transferEncoding] = "chunked"
            try stream.send(head(status, fields))
        }

        /// Sends one chunk, which must not be empty.
        package func sendChunk(_ bytes: some Sequence<UInt8>) throws {
            let bytes = Array(bytes)
            try stream.send(Array("\(String(bytes.count, radix: 16))\r\n".utf8) + bytes + [0x0d, 0x0a])
        }

        /// Sends a text as one chunk.
        package func sendChunk(_ text: String) throws { try sendChunk(text.utf8) }

        /// Sends the last chunk, without trailers.
        package func endChunks() throws { try stream.send("0\r\n\r\n") }

        /// Sends the bytes in pieces. Each piece except the first waits until its gate is open.
        package func send(_ pieces: [[UInt8]], gates: [Gate]) throws {
            for (index, piece) in pieces.enumerated() {
                if index > 0 { try gates[index - 1].waitBlocking() }
                try stream.send(piece)
            }
        }

        /// Blocks until the client closes its end, and discards the bytes that the client sends meanwhile.
        package func waitForHangUp() {
            while let some = try? stream.readSome(), !some.isEmpty {}
        }

        /// Closes the connection; bytes that were sent still arrive.
        package func close() {
            state.withLock { $0.isClosed = true }
            stream.close()
        }

        /// Closes the connection with a reset (RST), as a crashing server does; bytes that were sent may be lost.
        package func reset() {
            state.withLock { $0.isClosed = true }
            stream.reset()
        }

        private func head(_ status: Int, _ fields: HTTPFields) -> [UInt8] {
            var head = "HTTP/1.1 \(status) \(HTTPResponse.Status(code: status).reasonPhrase)\r\n"
            for field in fields { head += "\(field.name.rawName): \(field.value)\r\n" }
            return Array((head + "\r\n").utf8)
        }

        /// The next request; `nil` when the client has closed the connection or the request line is not three words.
        func readRequest(index: Int) throws -> Request? {
            guard let first = try stream.readLine() else { return nil }
            var lines = [String(decoding: first, as: UTF8.self)]
            var fields = HTTPFields()
            while let line = try stream.readLine(), !line.isEmpty {
                lines.append(String(decoding: line, as: UTF8.self))
                if let colon = line.firstIndex(of: 0x3a),
                    let name = HTTPField.Name(String(decoding: line[..<colon], as: UTF8.self))
                {
                    let value = line[(colon + 1)...].trimmingPrefix { $0 == 0x20 || $0 == 0x09 }
                    fields.append(HTTPField(name: name, lenientValue: value))
                }
            }
            let words = lines[0].split(separator: " ", omittingEmptySubsequences: false).map(String.init)
            guard words.count == 3 else { return nil }
            state.withLock { $0.method = words[0] }
            return Request(
                method: words[0], target: words[1], version: words[2], fields: fields, lines: lines,
                body: try readBody(fields), connection: number, index: index)
        }

        private func readBody(_ fields: HTTPFields) throws -> [UInt8] {
            if fields[.transferEncoding] == "chunked" {
                var body: [UInt8] = []
                while let line = try stream.readLine(), let size = Int(String(decoding: line, as: UTF8.self), radix: 16)
                {
                    body += try stream.read(size)
                    _ = try stream.read(2)
                    if size == 0 { break }
                }
                return body
            }
            return try stream.read(fields[.contentLength].flatMap { Int($0) } ?? 0)
        }
    }
}
