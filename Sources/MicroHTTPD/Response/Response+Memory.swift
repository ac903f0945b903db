import CMicroHTTPD
import Foundation
import Primitives

extension Response {
    /// The memory that sending a response reads.
    package struct Memory: Sendable {
        private let response, object, fields, body: MemoryHint

        fileprivate init(of response: Response) {
            let bytes: UnsafeRawBufferPointer =
                switch response.body {
                case .bytes(let bytes): bytes.bytes
                case .slice(let bytes, let range): .init(rebasing: bytes.bytes[range])
                case .empty, .file, .stream, .withheld: .init(start: nil, count: 0)
                }
            self.response = MemoryHint(response, length: 64)
            // libmicrohttpd's object; malloc often places its list of fields behind it.
            let handle = response.shared
            object = MemoryHint(handle.map { UnsafeRawPointer($0) }, length: 448)
            fields = handle.map(Self.longestField) ?? MemoryHint(nil, length: 0)
            // The processor reads further bytes ahead on its own.
            body = MemoryHint(bytes.baseAddress, length: min(bytes.count, 2048))
        }

        /// `cmhd_add_fields` joins most fields into one, so the longest field has most of the text.
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

        package func prefetch() {
            response.prefetch()
            object.prefetch()
            fields.prefetch()
            body.prefetch()
        }
    }

    /// Includes little of a body that can be sent only once. The first call may make libmicrohttpd's object.
    package var memory: Memory { Memory(of: self) }
}
