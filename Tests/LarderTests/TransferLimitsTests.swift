import Testing

@testable import Larder

@Suite("How many requests to origins there may be")
struct TransferLimitsTests {
    @Test("with few descriptors, requests to origins that hang leave three of four for everybody else")
    func few() {
        let limits = TransferLimits(descriptors: 600, maxDownloads: 512, maxDownloadsPerHost: 128)
        #expect(2 * limits.gateway <= 600 / 4)
        #expect(2 * limits.downloads <= 600 / 8)
        #expect(limits.clients >= 600 / 2)
        #expect(limits.namespaces == 4)
        // One host that hangs leaves half of them.
        #expect(2 * limits.downloadsPerHost <= limits.downloads)
    }

    @Test("with enough of them it is what is configured, and 4,096 through the gateway")
    func enough() {
        let limits = TransferLimits(descriptors: 1 << 20, maxDownloads: 512, maxDownloadsPerHost: 128)
        #expect(limits.gateway == 4096)
        #expect(limits.namespaces == 100)
        #expect(limits.gatewayPerHost == 2048)
        #expect(limits.downloads == 512)
        #expect(limits.downloadsPerHost == 128)
    }

    @Test("clients may have what origins cannot use: 10,000 idle connections fit into 20,000 descriptors")
    func clients() {
        let limits = TransferLimits(descriptors: 20_000, maxDownloads: 512, maxDownloadsPerHost: 128)
        #expect(limits.clients > 11_000)
        #expect(limits.clients + 2 * limits.gateway + 2 * limits.downloads <= 20_000 - 20_000 / 8)
        let plenty = TransferLimits(descriptors: 1 << 20, maxDownloads: 512, maxDownloadsPerHost: 128)
        #expect(plenty.clients == 16_384)
    }

    @Test("there is always one")
    func none() {
        let limits = TransferLimits(descriptors: 3, maxDownloads: 512, maxDownloadsPerHost: 128)
        #expect(limits.gateway == 1)
        #expect(limits.downloads == 1)
        #expect(limits.clients == 1)
    }
}
