import DiskCache

// The values of the cache that callers of `EntryService` meet. Modules above use these names and do not import
// DiskCache, so that they cannot reach the cache itself.

package typealias CacheError = DiskCache::DiskCacheError
package typealias CacheKey = DiskCache::CacheKey
package typealias ChangeMark = DiskCache::ChangeMark
package typealias Entry = DiskCache::Entry
package typealias EntryFilter = DiskCache::EntryFilter
package typealias EntryMetadata = DiskCache::EntryMetadata
package typealias EntryPage = DiskCache::EntryPage
package typealias EntrySort = DiskCache::EntrySort
package typealias HotEntry = DiskCache::HotEntry
package typealias MemoryStatistics = DiskCache::MemoryStatistics
package typealias PassingBody = DiskCache::PassingBody
package typealias PassingResult = DiskCache::PassingResult
package typealias RemovalCause = DiskCache::RemovalCause
package typealias StoredBody = DiskCache::StoredBody
package typealias StoredEntry = DiskCache::StoredEntry
