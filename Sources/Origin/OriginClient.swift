import CCurl
import Foundation
import Primitives
import Synchronization

/// Fetches from origins over HTTP/1.1, HTTP/2 and FTP: libcurl's multi interface, on some threads of its own.
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
    private let inboxes: [Inbox]
    private let places: TransferPlaces
    private let threads: [LoopThread]
    private let transferCount = Atomic<UInt64>(0)

    /// Starts the client's threads.
    public init(configuration: Configuration = Configuration()) {
        _ = Self.globalInitialisation
        self.configuration = configuration
        let multis = (0..<configuration.threads).map { _ in
            guard let multi = curl_multi_init() else { fatalError("libcurl is out of memory") }
            return multi
        }
        inboxes = multis.map { Inbox(multi: $0) }
        places = TransferPlaces(
            limit: configuration.maxTransfers, limitPerHost: configuration.maxTransfersPerHost, inboxes: inboxes)
        threads = zip(inboxes, multis).map { [places] inbox, multi in
            LoopThread(configuration: configuration, inbox: inbox, places: places, multi: multi)
        }
    }

    deinit {
        shutDown()
    }

    /// Starts a transfer and returns at once. After ``shutDown()`` the receiver is told of
    /// ``OriginError/Kind/cancelled`` before this returns.
    @discardableResult
    public func fetch(_ request: OriginRequest, receiver: any OriginReceiver) -> OriginTransfer {
        let index = leastBusy
        let inbox = inboxes[index]
        let turn = transferCount.add(1, ordering: .relaxed).newValue
        let transfer = OriginTransfer(id: turn * UInt64(inboxes.count) + UInt64(index), inbox: inbox)
        request.body?.attach(to: transfer)
        if !inbox.append(.start(transfer, request, receiver)) {
            request.body?.close()
            receiver.originDidFinish(.failure(OriginError(.cancelled)))
        }
        return transfer
    }

    /// The first of the threads with the fewest transfers: who fetches one thing after another finds the connection of
    /// the last one again.
    private var leastBusy: Int {
        let counts = inboxes.map(\.openTransfers)
        return counts.indices.min { counts[$0] < counts[$1] } ?? 0
    }

    /// How many transfers were begun and are not over, those on their way to a thread included.
    public var openTransfers: Int { inboxes.reduce(0) { $0 + $1.openTransfers } }

    /// How many transfers run, and how many wait for their turn under the limits.
    public var transferCounts: (running: Int, queued: Int) {
        let counts = places.counts
        return (counts.running, counts.waiting)
    }

    /// Cancels every transfer, whose receivers are told, closes all connections and waits until the threads have ended.
    /// Called from a receiver, it does not wait. Called by `deinit`, too.
    public func shutDown() {
        for inbox in inboxes { inbox.append(.shutDown) }
        guard !threads.contains(where: \.isCurrent) else { return }
        for thread in threads { thread.join() }
    }

    private static let globalInitialisation = curl_global_init(Int(CURL_GLOBAL_DEFAULT))
}

/// The thread that runs a ``TransferLoop``.
private final class LoopThread: Sendable {
    private let isRunning = DispatchGroup()
    private let number = Locked<UInt?>(nil)

    init(
        configuration: OriginClient.Configuration, inbox: Inbox, places: TransferPlaces, multi: UnsafeMutableRawPointer
    ) {
        // A raw pointer is not Sendable; this one goes to the thread and is used nowhere else (see `Inbox`).
        let multi = UInt(bitPattern: multi)
        isRunning.enter()
        let thread = Thread { [self] in
            ThreadName.set("larder-origin")
            number.withLock { $0 = UInt(pthread_self()) }
            TransferLoop(
                configuration: configuration, inbox: inbox, places: places,
                multi: UnsafeMutableRawPointer(bitPattern: multi)!
            ).run()
            isRunning.leave()
        }
        thread.start()
    }

    /// Whether it is the one that asks.
    var isCurrent: Bool { number.withLock { $0 } == UInt(pthread_self()) }

    /// Waits for the end of the thread.
    func join() {
        isRunning.wait()
    }
}
