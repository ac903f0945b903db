import CMicroHTTPD
import Foundation
import Primitives

/// The threads that serve connections: as many daemons of libmicrohttpd's as there are threads, each with one.
///
/// One daemon could have them all, but `MHD_add_connection` of 0.9.75 then gives a connection to the thread whose index
/// is the number of its descriptor modulo their count. A new descriptor has the lowest number that is free, so what
/// else the process has open would decide: where a file, or a connection to an origin, was opened between every two
/// clients, all of them would come to one thread, and the others have nothing to do. With a daemon each it is decided
/// here: see ``ThreadLoads``.
///
/// `@unchecked Sendable` is safe: nothing in it changes until ``stop()``, which is called once and after the last
/// ``add(_:_:_:)``, and libmicrohttpd's functions may be called from any thread.
final class ServingThreads: @unchecked Sendable {
    private let core: DaemonCore
    private var members: [Member] = []

    /// One of them: the library's handle, and what that needs for as long as it lives.
    private struct Member {
        let daemon: OpaquePointer
        let options: UnsafeMutablePointer<cmhd_options>
        let context: Context
    }

    /// What libmicrohttpd's callbacks get.
    final class Context: Sendable {
        let core: DaemonCore
        /// Which of the threads it is, from 0.
        let index: Int

        init(core: DaemonCore, index: Int) {
            self.core = core
            self.index = index
        }
    }

    /// Starts them all. Throws ``DaemonError``, with the library's last line as its reason, when one does not start;
    /// those that did have ended then.
    ///
    /// - Parameter start: starts one; the library's own function unless told.
    init(
        core: DaemonCore, lastLine: () -> String,
        start: (UnsafeMutablePointer<cmhd_options>) -> OpaquePointer? = { cmhd_start($0) }
    ) throws {
        self.core = core
        for index in 0..<core.threadLoads.threadCount {
            let context = Context(core: core, index: index)
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

    private static func options(_ context: Context) -> cmhd_options {
        let configuration = context.core.configuration
        return cmhd_options(
            connection_memory: max(1024, configuration.connectionMemory),
            tls_priorities: context.core.tls == nil ? nil : TLSSession.priorities.cString,
            context: Unmanaged.passUnretained(context).toOpaque(),
            handler: handleRequest, target: receiveTarget, completed: completeRequest,
            connection: noteConnection, log: receiveLog)
    }

    /// Gives a connection that was accepted to one of them. False: the library refused it, and has closed its socket.
    func add(_ descriptor: Int32, _ address: UnsafePointer<sockaddr>, _ length: socklen_t) -> Bool {
        let index = core.threadLoads.join()
        if cmhd_add_connection(members[index].daemon, descriptor, address, length) { return true }
        core.threadLoads.leave(index)
        return false
    }

    /// Ends them, and every connection. libmicrohttpd aborts the process when one is suspended.
    func stop() {
        for member in members {
            MHD_stop_daemon(member.daemon)
            member.options.deallocate()
        }
        members = []
    }
}
