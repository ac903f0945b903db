// Makes real calls with the generated TypeScript client to the server that world.py starts. scripts/check-clients puts
// this file beside the client, compiles and runs it. The process exits with 1 at the first wrong answer.
import { Configuration, DownloadApi, EntriesApi, EntryKind, EntrySort, EntryState, FetchApi, JsonApi } from './index';
import { NamespacesApi, Outcome, ResponseError, ServiceApi } from './index';

declare const process: { env: { [name: string]: string }; exit(status: number): never };

function equal(found: any, expected: any) {
    if (JSON.stringify(found) !== JSON.stringify(expected)) {
        throw new Error(`${JSON.stringify(found)} instead of ${JSON.stringify(expected)}`);
    }
}

async function main() {
    const { CHECK_URL, CHECK_TOKEN, CHECK_ORIGIN } = process.env;
    const configuration = new Configuration({ basePath: CHECK_URL, accessToken: CHECK_TOKEN });
    const entries = new EntriesApi(configuration);
    const url = CHECK_ORIGIN + '/ts';

    const result = await new DownloadApi(configuration).download({
        downloadRequest: { url, ttl: 3600, tags: ['ts'], params: { a: 1, b: ['x', true] } },
    });
    equal([result.outcome, result.entry.state], [Outcome.Downloaded, EntryState.IS_FRESH]);
    equal(result.entry.url, url + '?a=1&b=true&b=x');
    equal([result.entry.expiryDate instanceof Date, result.entry.lastAccessDate], [true, null]);
    const key = result.entry.key;

    const changed = await entries.updateEntry({ key, entryChange: { tags: ['changed'] } });
    equal(changed.tags, ['changed']);
    const list = await entries.listEntries({ tag: 'changed', sort: EntrySort.BY_KEY_REVERSED });
    equal(list.entries.map(entry => entry.key), [key]);

    const stored = await entries.putContent({ key: 'own key', body: new Blob(['hello']), ttl: 60, tags: ['a', 'b'] });
    equal([stored.key, stored.kind, stored.tags], ['own key', EntryKind.Data, ['a', 'b']]);
    equal(await (await entries.getContent({ key: 'own key' })).text(), 'hello');
    const json = new JsonApi(configuration);
    await json.putJSON({ url: 'https://api.example.com/', body: [1, { b: null }], ttl: 60 });
    equal(await json.getJSON({ url: 'https://api.example.com/' }), [1, { b: null }]);

    const namespaces = new NamespacesApi(configuration);
    const space = await namespaces.putNamespace({ name: 'ts', namespaceChange: { version: '1', diskLimit: '64MiB' } });
    equal([space.diskLimit, space.origins], [64 << 20, null]);
    equal((await new ServiceApi(configuration).getStats()).diskLimit, 4 * 2 ** 30);
    const headers = { 'Larder-Authorization': 'Bearer ' + CHECK_TOKEN };
    const fetched = await new FetchApi(new Configuration({ basePath: CHECK_URL, headers })).fetch({ url, ttl: 60 });
    equal(JSON.parse(await fetched.text()), { path: '/ts' });

    equal((await entries.removeEntries({ tag: 'changed' })).removed, 1);
    const error = await entries.getEntry({ key }).then(() => null, error => error as ResponseError);
    equal([error?.response.status, (await error?.response.json()).status], [404, 404]);
    console.log('the TypeScript client downloads, lists, reads, stores, fetches and purges');
}

main().catch(error => {
    console.error(error);
    process.exit(1);
});
