import CCurl
import Primitives
import Synchronization

/// Fetches from origins over HTTP/1.1, HTTP/2 and FTP, with libcurl's multi interface on its own threads. It sends any
/// method and body, follows redirects, decodes content codings, and keeps connections. It connects only to addresses
/// that the address policy allows. It repeats a request that failed before the first byte of the response. It does not
/// cache, and every status is a success. It ignores proxies, `.netrc` and HSTS. Cookies are kept only within one chain
/// of redirects.
///
///     let client = OriginClient()
///     client.fetch(OriginRequest(url: "https://example.com/"), receiver: receiver)
package final class OriginClient: Sendable {
    package let configuration: OriginConfiguration
    private let inboxes: [Inbox]
    private let places: TransferPlaces
    private let threads: [NamedThread]
    private let transferCount = Atomic<UInt64>(0)

    package init(configuration: OriginConfiguration = OriginConfiguration()) {
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
            // A raw pointer is not Sendable. Only the new thread uses this pointer, apart from the wake-up in `Inbox`.
            let multi = UInt(bitPattern: multi)
            return NamedThread("larder-origin") {
                TransferLoop(
                    configuration: configuration, inbox: inbox, places: places,
                    multi: UnsafeMutableRawPointer(bitPattern: multi)!
                ).run()
            }
        }
    }

    deinit {
        shutDown()
    }

    /// After ``shutDown()`` the receiver gets ``OriginError/Kind/cancelled`` before this call returns.
    @discardableResult
    package func fetch(_ request: OriginRequest, receiver: any OriginReceiver) -> OriginTransfer {
        let index = leastBusy
        let inbox = inboxes[index]
        let turn = transferCount.add(1, ordering: .relaxed).newValue
        let transfer = OriginTransfer(id: turn * UInt64(inboxes.count) + UInt64(index), inbox: inbox)
        request.body?.attach { transfer.wake() }
        if !inbox.append(.start(transfer, request, receiver)) {
            request.body?.close()
            receiver.originDidFinish(.failure(OriginError(.cancelled)))
        }
        return transfer
    }

    /// The first thread with the fewest transfers. So a series of fetches gets the same thread and its connection.
    private var leastBusy: Int {
        let counts = inboxes.map(\.openTransfers)
        return counts.indices.min { counts[$0] < counts[$1] } ?? 0
    }

    /// The reason why the client would refuse a request, found without DNS and the network; `nil` when only DNS, the
    /// network or a redirect can lead to a refusal. For a port that is always refused, ``fetch(_:receiver:)`` may
    /// report another reason.
    package func foreseenRefusal(of request: OriginRequest) -> OriginError? {
        var known = KnownURLs()
        do throws(OriginError) {
            let url = try request.checkedURL(configuration, known: &known)
            let policy = request.addressPolicy ?? configuration.addressPolicy
            let rule =
                if let address = url.address {
                    configuration.ownSockets.refusal(of: address, port: url.port)
                        ?? policy.refusal(of: address, port: url.port, host: url.host)
                } else {
                    policy.refusal(ofAnyAddressOf: url.host, port: url.port)
                }
            return rule.map { OriginError(.addressRefused(rule: $0)) }
        } catch {
            return error
        }
    }

    /// The number of unfinished transfers, including transfers that no thread has taken yet.
    package var openTransfers: Int { inboxes.reduce(0) { $0 + $1.openTransfers } }

    package var transferCounts: (running: Int, queued: Int) {
        let counts = places.counts
        return (counts.running, counts.waiting)
    }

    /// Cancels every transfer, and waits until the threads have ended. A call from a receiver does not wait.
    package func shutDown() {
        for inbox in inboxes { inbox.append(.shutDown) }
        guard !threads.contains(where: \.isCurrent) else { return }
        for thread in threads { thread.join() }
    }

    private static let globalInitialisation = curl_global_init(Int(CURL_GLOBAL_DEFAULT))
}
