import CMicroHTTPD
import Primitives

extension Response {
    /// What is read when a response is sent.
    public struct Memory: Sendable {
        private let response, object, fields, body: MemoryHint

        fileprivate init(of response: Response) {
            let bytes: UnsafeRawBufferPointer =
                switch response.body {
                case .bytes(let bytes): bytes.bytes
                case .slice(let bytes, let range): .init(rebasing: bytes.bytes[range])
                case .empty, .file, .stream, .withheld: .init(start: nil, count: 0)
                }
            self.response = MemoryHint(response, length: 64)
            // libmicrohttpd's object; malloc often puts its list of fields behind it.
            object = MemoryHint(response.shared.map { UnsafeRawPointer($0) }, length: 448)
            fields = response.fieldBlock ?? MemoryHint(nil, length: 0)
            // What is longer is read ahead by the processor on its own.
            body = MemoryHint(bytes.baseAddress, length: min(bytes.count, 2048))
        }

        /// Begins to fetch it.
        public func prefetch() {
            response.prefetch()
            object.prefetch()
            fields.prefetch()
            body.prefetch()
        }
    }

    /// What is read when this is sent; little of a body that can be sent once.
    public var memory: Memory { Memory(of: self) }
}
