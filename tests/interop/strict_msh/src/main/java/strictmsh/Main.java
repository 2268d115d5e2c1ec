package strictmsh;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpHandler;
import com.sun.net.httpserver.HttpServer;
import java.io.File;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import strictmsh.Letter.Refusal;
import strictmsh.Parcel.Part;

/**
 * The process: an endpoint for the partner and one for the test, both on loopback alone.
 *
 * <p>Of the test: {@code POST /send?action=A[&conversation=C][&ref=R]} with a payload or none,
 * {@code POST /ping}, {@code POST /status?about=ID}; {@code GET /inbox}, {@code /outbox},
 * {@code /answers} and {@code /log} give lines of fields between tabs, with
 * {@code ?until=REGEX} as soon as a part of them matches.
 */
public final class Main {
    private static final long POLL_MS = 100;
    private static final long LOOK_MS = 20;
    private static final long PATIENCE_S = 40;

    private Main() {}

    public static void main(String[] arguments) throws Exception {
        Map<String, String> given = new HashMap<>();
        for (int at = 0; at + 1 < arguments.length; at += 2) {
            given.put(arguments[at].substring(2), arguments[at + 1]);
        }
        Cpa cpa = Cpa.read(new File(given.get("cpa")), given.get("party"));
        Seal seal = given.containsKey("keys")
            ? new Seal(new File(given.get("keys")), new File(given.get("partner"))) : null;
        File schemas = given.containsKey("schemas") ? new File(given.get("schemas")) : null;
        File captures = given.containsKey("captures") ? new File(given.get("captures")) : null;
        Msh msh = new Msh(
            cpa, new Store(given.get("store")), new Rules(cpa, schemas, seal), seal, captures,
            "true".equals(given.get("chunked")));
        serve(Integer.parseInt(given.get("port")), exchange -> partner(msh, exchange));
        serve(Integer.parseInt(given.get("control")), exchange -> test(msh, exchange));
        Executors.newSingleThreadScheduledExecutor().scheduleWithFixedDelay(() -> {
            try {
                msh.poll();
            } catch (Exception error) {
                msh.log.add("poll " + error);
            }
        }, 0, POLL_MS, TimeUnit.MILLISECONDS);
        System.out.println("ready");
    }

    private static void serve(int port, HttpHandler handler) throws IOException {
        var address = new InetSocketAddress(InetAddress.getLoopbackAddress(), port);
        HttpServer server = HttpServer.create(address, 0);
        server.createContext("/", handler);
        server.setExecutor(Executors.newFixedThreadPool(8));
        server.start();
    }

    private static void partner(Msh msh, HttpExchange exchange) throws IOException {
        byte[] body = exchange.getRequestBody().readAllBytes();
        try {
            if (!exchange.getRequestMethod().equals("POST")) {
                throw Refusal.silent("method " + exchange.getRequestMethod());
            }
            byte[] answer = msh.receive(
                exchange.getRequestHeaders().getFirst("SOAPAction"),
                exchange.getRequestHeaders().getFirst("Content-Type"), body);
            if (answer != null) {
                exchange.getResponseHeaders().set("SOAPAction", Names.SOAP_ACTION);
                msh.capture("answer", "text/xml", answer);
            }
            answer(exchange, answer == null ? 204 : 200, "text/xml", answer);
        } catch (Refusal refusal) {
            msh.log.add("refused a request: " + refusal.getMessage());
            byte[] fault = null;
            if (refusal.code.equals("Fault")) {
                try {
                    fault = Writing.fault(refusal.getMessage());
                    msh.capture("fault", "text/xml", fault);
                } catch (Exception error) {
                    throw new IOException(error);
                }
            }
            answer(exchange, 500, "text/xml", fault);
        }
    }

    private static void test(Msh msh, HttpExchange exchange)
        throws IOException {
        byte[] body = exchange.getRequestBody().readAllBytes();
        Map<String, String> query = new HashMap<>();
        String raw = exchange.getRequestURI().getRawQuery();
        for (String pair : raw == null ? new String[0] : raw.split("&")) {
            String[] halves = pair.split("=", 2);
            query.put(halves[0], URLDecoder.decode(halves[1], StandardCharsets.UTF_8));
        }
        try {
            String said = switch (exchange.getRequestURI().getPath()) {
                case "/send" -> {
                    // Not `local@domain`, as RFC 2392 has it: others write a bare UUID, too.
                    String id = UUID.randomUUID().toString();
                    String type = exchange.getRequestHeaders().getFirst("Content-Type");
                    yield msh.send(
                        query.get("action"), query.get("conversation"), query.get("ref"),
                        body.length == 0 ? List.of() : List.of(new Part(id, type, body)));
                }
                case "/ping" -> msh.ask("Ping", null);
                case "/status" -> msh.ask("StatusRequest", query.get("about"));
                case "/inbox" -> until(query.get("until"), msh::inbox);
                case "/outbox" -> until(query.get("until"), msh::outbox);
                case "/answers" ->
                    until(query.get("until"), () -> String.join("\n", List.copyOf(msh.answers)));
                case "/log" ->
                    until(query.get("until"), () -> String.join("\n", List.copyOf(msh.log)));
                default -> throw new IllegalArgumentException("no such path");
            };
            answer(exchange, 200, "text/plain", said.getBytes(StandardCharsets.UTF_8));
        } catch (Exception error) {
            answer(exchange, 500, "text/plain", error.toString().getBytes(StandardCharsets.UTF_8));
        }
    }

    /** What is said as soon as it matches, and after some time whatever it is. */
    private static String until(String expected, Store.Work<String> said) throws Exception {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE_S);
        String now = said.run();
        while (expected != null && System.nanoTime() < end
            && !Pattern.compile(expected, Pattern.MULTILINE).matcher(now).find()) {
            Thread.sleep(LOOK_MS);
            now = said.run();
        }
        return now;
    }

    private static void answer(HttpExchange exchange, int status, String type, byte[] body)
        throws IOException {
        if (body == null || body.length == 0) {
            exchange.sendResponseHeaders(status, -1);
        } else {
            exchange.getResponseHeaders().set("Content-Type", type);
            exchange.sendResponseHeaders(status, body.length);
            exchange.getResponseBody().write(body);
        }
        exchange.close();
    }
}
