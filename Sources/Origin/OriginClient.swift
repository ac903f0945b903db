import CCurl
import Foundation
import Primitives

/// Fetches from origins over HTTP/1.1, HTTP/2 and FTP: libcurl's multi interface on one thread of its own.
///
/// It sends any method and body, follows redirects, undoes content codings, keeps connections for the next transfer,
/// connects only where the address policy lets it, holds every limit of its configuration, and sends again what failed
/// before any byte of an answer came. It knows no caching: any status is a success here. Proxies, cookies, `.netrc` and
/// HSTS are not used, whatever the environment says.
public final class OriginClient: Sendable {
    /// What can be in ``Configuration/schemes``.
    public static let possibleSchemes: Set<String> = ["http", "https", "ftp"]

    /// The configuration it was made with.
    public let configuration: Configuration
    private let inbox: Inbox
    private let thread: LoopThread

    /// Starts the client's thread.
    public init(configuration: Configuration = Configuration()) {
        _ = Self.globalInitialisation
        guard let multi = curl_multi_init() else { fatalError("libcurl is out of memory") }
        self.configuration = configuration
        inbox = Inbox(multi: multi)
        thread = LoopThread(configuration: configuration, inbox: inbox, multi: multi)
    }

    deinit {
        shutDown()
    }

    /// Starts a transfer and returns at once. After ``shutDown()`` the receiver is told of
    /// ``OriginError/Kind/cancelled`` before this returns.
    @discardableResult
    public func fetch(_ request: OriginRequest, receiver: any OriginReceiver) -> OriginTransfer {
        let transfer = OriginTransfer(id: inbox.nextTransfer(), inbox: inbox)
        request.body?.attach(to: transfer)
        if !inbox.append(.start(transfer, request, receiver)) {
            request.body?.close()
            receiver.originDidFinish(.failure(OriginError(.cancelled)))
        }
        return transfer
    }

    /// How many transfers run, and how many wait for their turn under the limits.
    public var transferCounts: (running: Int, queued: Int) {
        let counts = inbox.counts
        return (counts.running, counts.waiting)
    }

    /// Cancels every transfer, whose receivers are told, closes all connections and waits until the thread has ended.
    /// Called from a receiver, it does not wait. Called by `deinit`, too.
    public func shutDown() {
        inbox.append(.shutDown)
        thread.join()
    }

    private static let globalInitialisation = curl_global_init(Int(CURL_GLOBAL_DEFAULT))
}

/// The thread that runs a ``TransferLoop``.
private final class LoopThread: Sendable {
    private let isRunning = DispatchGroup()
    private let number = Locked<UInt?>(nil)

    init(configuration: OriginClient.Configuration, inbox: Inbox, multi: UnsafeMutableRawPointer) {
        // A raw pointer is not Sendable; this one goes to the thread and is used nowhere else (see `Inbox`).
        let multi = UInt(bitPattern: multi)
        isRunning.enter()
        let thread = Thread { [self] in
            number.withLock { $0 = UInt(pthread_self()) }
            TransferLoop(
                configuration: configuration, inbox: inbox, multi: UnsafeMutableRawPointer(bitPattern: multi)!
            ).run()
            isRunning.leave()
        }
        thread.name = "larder-origin"
        thread.start()
    }

    /// Waits for the end of the thread, unless it is the one that asks.
    func join() {
        if number.withLock({ $0 }) == UInt(pthread_self()) { return }
        isRunning.wait()
    }
}
