import HTTPTypes
import Larder
import MicroHTTPD
import Primitives

extension WriteCondition {
    init?(_ request: Request, at now: Timestamp) {
        guard let method = HTTPRequest.Method(rawValue: request.method) else { return nil }
        self.init(request.fields(named: Self.fieldNames), method: method, at: now)
    }

    /// See ``allows(untagged:)``. Throws 412.
    func check(untagged exists: Bool) throws(Problem) {
        if !allows(untagged: exists) { throw .preconditionFailed }
    }
}

extension Problem {
    /// RFC 9110 §15.5.13.
    static let preconditionFailed = Problem(
        status: 412,
        detail: "If-Match, If-None-Match or If-Unmodified-Since does not match the stored entry, which is unchanged")
}
