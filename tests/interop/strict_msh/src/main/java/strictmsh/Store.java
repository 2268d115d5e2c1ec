package strictmsh;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;

/** What survives a kill: what came, what goes out, and how that stands. */
final class Store {
    /** Something to post. An answer in the connection is stored as one too, already done. */
    record Out(
        String id, String kind, String ref, String document, String contentType, byte[] body,
        String uri, boolean wantsAck, boolean isSync, int attempts, int attemptsMax,
        long intervalMs, String status, String note) {}

    record In(String id, String action, String conversation, String answer, String digests, long at) {}

    private final Connection connection;

    Store(String path) throws SQLException {
        // WRITE_DELAY=0: a commit is with the operating system, which a kill -9 cannot take back.
        connection = DriverManager.getConnection("jdbc:h2:file:" + path + ";WRITE_DELAY=0");
        connection.setAutoCommit(false);
        try (var statement = connection.createStatement()) {
            statement.execute(
                "CREATE TABLE IF NOT EXISTS outgoing (id VARCHAR PRIMARY KEY, kind VARCHAR,"
                    + " ref VARCHAR, document CLOB, content_type VARCHAR, body BLOB, uri VARCHAR,"
                    + " wants_ack BOOLEAN, is_sync BOOLEAN, attempts INT, attempts_max INT,"
                    + " interval_ms BIGINT, next_at BIGINT, status VARCHAR, note VARCHAR)");
            statement.execute(
                "CREATE TABLE IF NOT EXISTS incoming (id VARCHAR PRIMARY KEY, action VARCHAR,"
                    + " conversation VARCHAR, answer VARCHAR, digests VARCHAR, at BIGINT,"
                    + " number BIGINT GENERATED ALWAYS AS IDENTITY)");
        }
        connection.commit();
    }

    interface Work<T> {
        T run() throws Exception;
    }

    /** One transaction; everybody else waits. */
    synchronized <T> T in(Work<T> work) throws Exception {
        try {
            T value = work.run();
            connection.commit();
            return value;
        } catch (Exception error) {
            connection.rollback();
            throw error;
        }
    }

    void addOut(Out out, long nextAt) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(
            "INSERT INTO outgoing VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)")) {
            Object[] values = {
                out.id, out.kind, out.ref, out.document, out.contentType, out.body, out.uri,
                out.wantsAck, out.isSync, out.attempts, out.attemptsMax, out.intervalMs, nextAt,
                out.status, out.note};
            for (int at = 0; at < values.length; at++) {
                statement.setObject(at + 1, values[at]);
            }
            statement.execute();
        }
    }

    void addIn(In in) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(
            "INSERT INTO incoming (id, action, conversation, answer, digests, at)"
                + " VALUES (?,?,?,?,?,?)")) {
            statement.setString(1, in.id);
            statement.setString(2, in.action);
            statement.setString(3, in.conversation);
            statement.setString(4, in.answer);
            statement.setString(5, in.digests);
            statement.setLong(6, in.at);
            statement.execute();
        }
    }

    void count(String id, int attempts, long nextAt, String note) throws SQLException {
        update("UPDATE outgoing SET attempts = ?, next_at = ?, note = ? WHERE id = ?",
            attempts, nextAt, note, id);
    }

    /** From sending to something final; what is final stays. */
    void settle(String id, String status, String note) throws SQLException {
        update("UPDATE outgoing SET status = ?, note = ? WHERE id = ? AND status = 'sending'",
            status, note, id);
    }

    /** A signal is posted once more. */
    void again(String id, String uri) throws SQLException {
        update("UPDATE outgoing SET status = 'sending', attempts = 0, next_at = 0, uri = ?"
            + " WHERE id = ?", uri, id);
    }

    private void update(String sql, Object... values) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            for (int at = 0; at < values.length; at++) {
                statement.setObject(at + 1, values[at]);
            }
            statement.execute();
        }
    }

    List<Out> listOut(String where, Object... values) throws SQLException {
        List<Out> found = new ArrayList<>();
        try (PreparedStatement statement = connection.prepareStatement(
            "SELECT * FROM outgoing WHERE " + where)) {
            for (int at = 0; at < values.length; at++) {
                statement.setObject(at + 1, values[at]);
            }
            ResultSet row = statement.executeQuery();
            while (row.next()) {
                found.add(new Out(
                    row.getString("id"), row.getString("kind"), row.getString("ref"),
                    row.getString("document"), row.getString("content_type"),
                    row.getBytes("body"), row.getString("uri"), row.getBoolean("wants_ack"),
                    row.getBoolean("is_sync"), row.getInt("attempts"), row.getInt("attempts_max"),
                    row.getLong("interval_ms"), row.getString("status"), row.getString("note")));
            }
        }
        return found;
    }

    Out findOut(String id) throws SQLException {
        List<Out> found = listOut("id = ?", id);
        return found.isEmpty() ? null : found.get(0);
    }

    List<Out> due(long now) throws SQLException {
        return listOut("status = 'sending' AND next_at <= ?", now);
    }

    List<In> listIn() throws SQLException {
        List<In> found = new ArrayList<>();
        try (var statement = connection.createStatement()) {
            ResultSet row = statement.executeQuery("SELECT * FROM incoming ORDER BY number");
            while (row.next()) {
                found.add(new In(
                    row.getString("id"), row.getString("action"), row.getString("conversation"),
                    row.getString("answer"), row.getString("digests"), row.getLong("at")));
            }
        }
        return found;
    }

    In findIn(String id) throws SQLException {
        for (In in : listIn()) {
            if (in.id.equals(id)) {
                return in;
            }
        }
        return null;
    }
}
