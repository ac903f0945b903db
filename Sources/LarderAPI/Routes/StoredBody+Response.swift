import DiskCache
import Foundation
import MicroHTTPD
import Primitives

extension StoredBody {
    /// A part of the body, to be sent without a copy.
    func part(_ range: Range<Int64>) throws(Problem) -> Response.Body {
        switch self {
        case .bytes(let bytes):
            return range.count == bytes.count
                ? .bytes(bytes) : .slice(bytes, Int(range.lowerBound)..<Int(range.upperBound))
        case .file(let file):
            // The response closes its descriptor when it was sent, which may be long after the cache has closed its
            // own.
            let descriptor = fcntl(file.descriptor, F_DUPFD_CLOEXEC, 0)
            guard descriptor >= 0 else {
                throw Problem(status: 503, detail: "the server has no more file descriptors")
            }
            return .file(
                FileBody(descriptor: descriptor, offset: range.lowerBound, length: Int64(range.count)))
        }
    }
}
