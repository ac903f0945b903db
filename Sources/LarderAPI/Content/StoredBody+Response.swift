import Larder
import MicroHTTPD
import Primitives

extension StoredBody {
    func part(_ range: Range<Int64>) -> Response.Body {
        switch self {
        case .bytes(let bytes):
            range.count == bytes.count
                ? .bytes(bytes) : .slice(bytes, Int(range.lowerBound)..<Int(range.upperBound))
        case .file(let file):
            .file(
                FileBody(
                    descriptor: file.descriptor, of: file, offset: range.lowerBound, length: Int64(range.count)))
        }
    }
}
