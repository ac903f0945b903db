import Testing

@testable import Larder

@Suite("The limits of requests to origins")
struct TransferLimitsTests {
    @Test("With few descriptors, requests to hanging origins leave most descriptors to other uses")
    func few() {
        let limits = TransferLimits(descriptors: 600, maxDownloads: 512, maxDownloadsPerHost: 128)
        #expect(2 * limits.gateway <= 600 / 4)
        #expect(2 * limits.downloads <= 600 / 8)
        #expect(limits.clients >= 600 / 2)
        #expect(limits.namespaces == 4)
        // A hanging host leaves half of the downloads to other hosts.
        #expect(2 * limits.downloadsPerHost <= limits.downloads)
    }

    @Test("With enough descriptors, the configured limits apply, and 4,096 requests use the gateway")
    func enough() {
        let limits = TransferLimits(descriptors: 1 << 20, maxDownloads: 512, maxDownloadsPerHost: 128)
        #expect(limits.gateway == 4096)
        #expect(limits.namespaces == 100)
        #expect(limits.gatewayPerHost == 2048)
        #expect(limits.downloads == 512)
        #expect(limits.downloadsPerHost == 128)
    }

    @Test("Clients get descriptors that origins cannot use: 10,000 idle connections fit into 20,000")
    func clients() {
        let limits = TransferLimits(descriptors: 20_000, maxDownloads: 512, maxDownloadsPerHost: 128)
        #expect(limits.clients > 11_000)
        #expect(limits.clients + 2 * limits.gateway + 2 * limits.downloads <= 20_000 - 20_000 / 8)
        let plenty = TransferLimits(descriptors: 1 << 20, maxDownloads: 512, maxDownloadsPerHost: 128)
        #expect(plenty.clients == 16_384)
    }

    @Test("Each limit is at least 1")
    func none() {
        let limits = TransferLimits(descriptors: 3, maxDownloads: 512, maxDownloadsPerHost: 128)
        #expect(limits.gateway == 1)
        #expect(limits.downloads == 1)
        #expect(limits.clients == 1)
    }
}
