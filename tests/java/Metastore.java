import java.net.InetSocketAddress;
import org.apache.hadoop.hive.conf.HiveConf;
import org.apache.hadoop.hive.metastore.HiveMetaStore;
import org.apache.hadoop.hive.metastore.IHMSHandler;
import org.apache.hadoop.hive.metastore.TSetIpAddressProcessor;
import org.apache.hadoop.hive.metastore.txn.TxnDbUtil;
import org.apache.thrift.protocol.TBinaryProtocol;
import org.apache.thrift.server.TThreadPoolServer;
import org.apache.thrift.transport.TServerSocket;
import org.apache.thrift.transport.TTransportFactory;

/** Hive's metastore as a server on loopback: PORT FOLDER. Its own program listens everywhere. */
public final class Metastore {
    public static void main(String[] words) throws Exception {
        HiveConf settings = new HiveConf();
        settings.set(
            "javax.jdo.option.ConnectionURL",
            "jdbc:derby:;databaseName=" + words[1] + "/database;create=true");
        settings.set("datanucleus.schema.autoCreateAll", "true");
        // The pool that Spark brings; the default is not among its jars.
        settings.set("datanucleus.connectionPoolingType", "HikariCP");
        settings.set("hive.metastore.schema.verification", "false");
        settings.set("hive.metastore.warehouse.dir", words[1] + "/warehouse");
        // The tables of its locks, which Iceberg takes, are made by nobody else.
        TxnDbUtil.prepDb(settings);
        HiveMetaStore.HMSHandler handler = new HiveMetaStore.HMSHandler("of the tests", settings, false);
        IHMSHandler retrying = HiveMetaStore.newRetryingHMSHandler(handler, settings, true);
        int port = Integer.parseInt(words[0]);
        TServerSocket socket = new TServerSocket(new InetSocketAddress("127.0.0.1", port));
        new TThreadPoolServer(
                new TThreadPoolServer.Args(socket)
                    .processor(new TSetIpAddressProcessor<>(retrying))
                    .transportFactory(new TTransportFactory())
                    .protocolFactory(new TBinaryProtocol.Factory()))
            .serve();
    }
}
