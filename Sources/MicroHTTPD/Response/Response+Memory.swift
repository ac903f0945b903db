import CMicroHTTPD
import Foundation
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
            let handle = response.shared
            object = MemoryHint(handle.map { UnsafeRawPointer($0) }, length: 448)
            fields = handle.map(Self.longestField) ?? MemoryHint(nil, length: 0)
            // What is longer is read ahead by the processor on its own.
            body = MemoryHint(bytes.baseAddress, length: min(bytes.count, 2048))
        }

        /// Most fields are one for libmicrohttpd, see `cmhd_add_fields`: where its text is.
        private static func longestField(of handle: OpaquePointer) -> MemoryHint {
            var longest = UnsafeRawBufferPointer(start: nil, count: 0)
            withUnsafeMutablePointer(to: &longest) { longest in
                _ = MHD_get_response_headers(
                    handle,
                    { longest, _, _, value in
                        let field = UnsafeRawBufferPointer(start: value, count: value.map { strlen($0) } ?? 0)
                        let longest = longest!.assumingMemoryBound(to: UnsafeRawBufferPointer.self)
                        if field.count > longest.pointee.count { longest.pointee = field }
                        return cmhd_result(true)
                    }, longest)
            }
            return MemoryHint(longest.baseAddress, length: longest.count)
        }

        /// Begins to fetch it.
        public func prefetch() {
            response.prefetch()
            object.prefetch()
            fields.prefetch()
            body.prefetch()
        }
    }

    /// What is read when this is sent; little of a body that can be sent once. Asked for the first time, it may make
    /// what libmicrohttpd needs.
    public var memory: Memory { Memory(of: self) }
}
