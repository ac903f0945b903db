import Foundation

/// A system call that failed.
public struct SystemError: Error, CustomStringConvertible {
    /// The call.
    public let call: String
    /// Its `errno`.
    public let code: Int32

    /// Takes the current `errno` by default.
    public init(_ call: String, code: Int32 = errno) {
        self.call = call
        self.code = code
    }

    /// For example `connect: Connection refused (111)`.
    public var description: String { "\(call): \(String(cString: strerror(code))) (\(code))" }
}
