import CMicroHTTPD
import Foundation
import Primitives

/// The threads that serve connections, each with its own libmicrohttpd daemon, so that ``ThreadLoads`` can choose the
/// thread. `MHD_add_connection` of 0.9.75 would choose "descriptor modulo thread count", often the same thread.
///
/// `@unchecked Sendable` is safe because no member changes until ``stop()``, which is called once, after the last
/// ``add(_:_:_:)``, and because libmicrohttpd's functions may be called from any thread.
final class ServingThreads: @unchecked Sendable {
    private let core: DaemonCore
    private var members: [Member] = []

    /// libmicrohttpd's handle of a daemon, and the objects that libmicrohttpd uses as long as the handle exists.
    private struct Member {
        let daemon: OpaquePointer
        let options: UnsafeMutablePointer<cmhd_options>
        let context: CallbackContext
    }

    /// If a thread does not start, ends the other threads and throws ``DaemonError`` with the library's last log line.
    init(
        core: DaemonCore, lastLine: () -> String,
        start: (UnsafeMutablePointer<cmhd_options>) -> OpaquePointer? = { cmhd_start($0) }
    ) throws {
        self.core = core
        for index in 0..<core.threadLoads.threadCount {
            let context = CallbackContext(core: core, threadIndex: index)
            let options = UnsafeMutablePointer<cmhd_options>.allocate(capacity: 1)
            options.initialize(to: Self.options(context))
            guard let daemon = start(options) else {
                let error = DaemonError(step: .start, code: errno, reason: lastLine())
                options.deallocate()
                stop()
                throw error
            }
            members.append(Member(daemon: daemon, options: options, context: context))
        }
    }

    private static func options(_ context: CallbackContext) -> cmhd_options {
        let configuration = context.core.configuration
        return cmhd_options(
            connection_memory: max(1024, configuration.connectionMemory),
            tls_priorities: context.core.tls == nil ? nil : TLSSession.priorities.cString,
            context: Unmanaged.passUnretained(context).toOpaque(),
            handler: handleRequest, target: receiveTarget, completed: completeRequest,
            connection: noteConnection, log: receiveLog)
    }

    /// Returns false if libmicrohttpd refused the connection. In this case libmicrohttpd has closed the socket.
    func add(_ descriptor: Int32, _ address: UnsafePointer<sockaddr>, _ length: socklen_t) -> Bool {
        let index = core.threadLoads.join()
        if cmhd_add_connection(members[index].daemon, descriptor, address, length) { return true }
        core.threadLoads.leave(index)
        return false
    }

    /// No connection may be suspended during this call, because libmicrohttpd would abort the process.
    func stop() {
        for member in members {
            MHD_stop_daemon(member.daemon)
            member.options.deallocate()
        }
        members = []
    }
}
