import java.io.File;
import java.nio.file.Files;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.DownloadApi;
import org.openapitools.client.api.EntriesApi;
import org.openapitools.client.api.JsonApi;
import org.openapitools.client.api.NamespacesApi;
import org.openapitools.client.api.ServiceApi;
import org.openapitools.client.model.DownloadRequest;
import org.openapitools.client.model.DownloadResult;
import org.openapitools.client.model.EntryChange;
import org.openapitools.client.model.EntryKind;
import org.openapitools.client.model.EntryState;
import org.openapitools.client.model.NamespaceChange;
import org.openapitools.client.model.Outcome;

/**
 * Makes real calls with the generated Java client to the server that world.py starts. scripts/check-clients compiles
 * and runs this class. The process exits with 1 at the first wrong answer.
 */
public class Calls {
    static void equal(Object found, Object expected) {
        if (!Objects.equals(found, expected)) throw new AssertionError(found + " instead of " + expected);
    }

    public static void main(String[] arguments) throws Exception {
        ApiClient client = new ApiClient();
        client.updateBaseUri(System.getenv("CHECK_URL"));
        client.setRequestInterceptor(request -> request.header("Authorization", "Bearer " + System.getenv("CHECK_TOKEN")));
        EntriesApi entries = new EntriesApi(client);
        DownloadApi downloads = new DownloadApi(client);
        String url = System.getenv("CHECK_ORIGIN") + "/java";

        DownloadRequest request = new DownloadRequest().url(url).ttl(3600.0).tags(List.of("java"));
        request.setParams(Map.of("a", 1, "b", List.of("x", true)));
        DownloadResult result = downloads.download(DownloadApi.APIDownloadRequest.newBuilder().downloadRequest(request).build());
        equal(result.getOutcome(), Outcome.DOWNLOADED);
        equal(result.getEntry().getUrl(), url + "?a=1&b=true&b=x");
        equal(result.getEntry().getState(), EntryState.IS_FRESH);
        equal(result.getEntry().getLastAccessDate(), null);
        String key = result.getEntry().getKey();

        EntryChange change = new EntryChange().tags(List.of("changed"));
        var update = EntriesApi.APIUpdateEntryRequest.newBuilder().key(key).entryChange(change).build();
        equal(entries.updateEntry(update).getEntry().getTags(), List.of("changed"));
        File content = entries.getContent(EntriesApi.APIGetContentRequest.newBuilder().key(key).build());
        equal(content.length(), result.getEntry().getContentLength());
        // putContent is left out: the library "native" sends the path of a file instead of its bytes.
        JsonApi json = new JsonApi(client);
        String where = "https://api.example.com/";
        var store = JsonApi.APIPutJSONRequest.newBuilder().url(where).body(List.of(1, 2)).ttl(60.0).build();
        equal(json.putJSON(store).getEntry().getKind(), EntryKind.JSON);
        equal(json.getJSON(JsonApi.APIGetJSONRequest.newBuilder().url(where).build()), List.of(1, 2));

        NamespacesApi namespaces = new NamespacesApi(client);
        var space = NamespacesApi.APIPutNamespaceRequest.newBuilder().name("java");
        var made = namespaces.putNamespace(space.namespaceChange(new NamespaceChange().diskLimit("64MiB")).build());
        equal(made.getDiskLimit(), 64L << 20);
        // The limit needs more than 32 bits.
        equal(new ServiceApi(client).getStats().getDiskLimit(), 4L << 30);
        List<DownloadRequest> batch = List.of(new DownloadRequest().url(url));
        File lines = downloads.downloadAll(DownloadApi.APIDownloadAllRequest.newBuilder().downloadRequest(batch).build());
        equal(Files.readString(lines.toPath()).startsWith("{\"index\":0,\"outcome\":\"downloaded\""), true);

        var filter = EntriesApi.APIRemoveEntriesRequest.newBuilder().tag("changed").build();
        equal(entries.removeEntries(filter).getRemoved(), 1L);
        try {
            entries.getEntry(EntriesApi.APIGetEntryRequest.newBuilder().key(key).build());
            throw new AssertionError("the entry is still there");
        } catch (ApiException error) {
            equal(error.getCode(), 404);
        }
        System.out.println("the Java client downloads, reads, stores and purges");
    }
}
