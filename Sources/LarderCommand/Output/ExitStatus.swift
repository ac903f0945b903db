import ArgumentParser
import Foundation
import LarderClient

/// The exit statuses of the commands that call a server; 0 is success. Numbers of `sysexits.h` are used where they fit.
enum ExitStatus: Int32, CaseIterable {
    case failed = 1
    case partial = 3
    case notHeld = 4
    case usage = 64
    case noInput = 66
    case unavailable = 69
    case cannotCreate = 73
    case tryLater = 75
    case notAllowed = 77
    case interrupted = 130

    var meaning: String {
        switch self {
        case .failed: "failed; the message names the cause. Of several URLs, at least one failed"
        case .partial: "a page or a subscription is stored, but lacks resources"
        case .notHeld: "no such entry, page, subscription, change or credential; for explain: a miss"
        case .usage: "invalid arguments"
        case .noInput: "an input file cannot be read"
        case .unavailable: "the server cannot be reached, or the connection broke"
        case .cannotCreate: "an output file cannot be written"
        case .tryLater: "the server is overloaded, or the token's rate limit is used up; retry later"
        case .notAllowed: "the token is missing, invalid, or lacks the permission"
        case .interrupted: "interrupted"
        }
    }

    static var help: String {
        (["0 done"] + allCases.map { "\($0.rawValue) \($0.meaning)" }).joined(separator: "\n")
    }

    var code: ExitCode { ExitCode(rawValue) }

    init(_ error: ClientError) {
        switch error {
        case .unreachable, .broken: self = .unavailable
        case .unexpected: self = .failed
        case .cancelled: self = .interrupted
        case .refused(let problem) where problem.isForeign: self = .unavailable
        case .refused(let problem):
            switch problem.status {
            case 400, 415, 422: self = .usage
            case 401: self = .notAllowed
            // A 403 with a pointer is about the URL: the origin may not be contacted.
            case 403 where problem.pointer == nil: self = .notAllowed
            case 404: self = .notHeld
            case 429, 503: self = .tryLater
            default: self = .failed
            }
        }
    }
}

struct CommandFailure: Error, CustomStringConvertible {
    let status: ExitStatus
    let description: String

    init(_ status: ExitStatus, _ description: String) {
        self.status = status
        self.description = description
    }

    /// Appends the system's message for `errno`.
    init(_ status: ExitStatus, errnoOf name: String) {
        self.init(status, "\(name): \(String(cString: strerror(errno)))")
    }
}
