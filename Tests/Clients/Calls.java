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
 * Makes real calls with the generated Java client, beside what world.py starts. scripts/check-clients compiles and runs it.
 * It exits with 1 at the first answer that is wrong.
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
        DownloadResult result = downloads.download(request, null, null);
        equal(result.getOutcome(), Outcome.DOWNLOADED);
        equal(result.getEntry().getUrl(), url + "?a=1&b=true&b=x");
        equal(result.getEntry().getState(), EntryState.IS_FRESH);
        equal(result.getEntry().getLastAccessDate(), null);
        String key = result.getEntry().getKey();

        EntryChange change = new EntryChange().tags(List.of("changed"));
        equal(entries.updateEntry(key, change, null).getEntry().getTags(), List.of("changed"));
        File content = entries.getContent(key, null, null, null, null, null, null, null, null);
        equal(content.length(), result.getEntry().getContentLength());
        // putContent is left out: the library "native" sends the path of a file instead of its bytes.
        JsonApi json = new JsonApi(client);
        equal(json.putJSON("https://api.example.com/", List.of(1, 2), null, null, 60.0).getEntry().getKind(), EntryKind.JSON);
        equal(json.getJSON("https://api.example.com/", null, null, null, null, null, null, null, null, null), List.of(1, 2));

        NamespacesApi namespaces = new NamespacesApi(client);
        equal(namespaces.putNamespace("java", new NamespaceChange().diskLimit("64MiB")).getDiskLimit(), 64L << 20);
        // More than 32 bits.
        equal(new ServiceApi(client).getStats().getDiskLimit(), 4L << 30);
        File lines = downloads.downloadAll(List.of(new DownloadRequest().url(url)), null);
        equal(Files.readString(lines.toPath()).startsWith("{\"index\":0,\"outcome\":\"downloaded\""), true);

        equal(entries.removeEntries(null, null, null, null, null, "changed", null, null, null, null).getRemoved(), 1L);
        try {
            entries.getEntry(key, null);
            throw new AssertionError("the entry is still there");
        } catch (ApiException error) {
            equal(error.getCode(), 404);
        }
        System.out.println("the Java client downloads, reads, stores and purges");
    }
}
