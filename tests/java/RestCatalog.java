import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.jdbc.JdbcCatalog;
import org.apache.iceberg.rest.RESTCatalogAdapter;
import org.apache.iceberg.rest.RESTCatalogServlet;
import org.eclipse.jetty.ee10.servlet.ServletContextHandler;
import org.eclipse.jetty.ee10.servlet.ServletHolder;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;

/** A catalog of Iceberg's behind its REST protocol, on loopback: PORT FOLDER. */
public final class RestCatalog {
    public static void main(String[] words) throws Exception {
        JdbcCatalog catalog = new JdbcCatalog();
        catalog.setConf(new Configuration());
        // Only this version of its tables has views, for which a client asks before it makes a table.
        Map<String, String> settings = Map.of(
            "uri", "jdbc:sqlite:" + words[1] + "/catalog.db",
            "warehouse", words[1] + "/tables",
            "jdbc.schema-version", "V1");
        catalog.initialize("of the tests", settings);
        ServletContextHandler handler = new ServletContextHandler();
        handler.addServlet(
            new ServletHolder(new RESTCatalogServlet(new RESTCatalogAdapter(catalog))), "/*");
        Server server = new Server();
        ServerConnector connector = new ServerConnector(server);
        connector.setHost("127.0.0.1");
        connector.setPort(Integer.parseInt(words[0]));
        server.addConnector(connector);
        server.setHandler(handler);
        server.start();
        server.join();
    }
}
