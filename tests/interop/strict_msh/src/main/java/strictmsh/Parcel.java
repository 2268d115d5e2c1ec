package strictmsh;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.apache.james.mime4j.MimeException;
import org.apache.james.mime4j.parser.AbstractContentHandler;
import org.apache.james.mime4j.parser.MimeStreamParser;
import org.apache.james.mime4j.stream.BodyDescriptor;
import org.apache.james.mime4j.stream.Field;
import org.apache.james.mime4j.stream.MimeConfig;

/** A package as bytes: an envelope and its parts, read by mime4j. */
record Parcel(byte[] envelope, List<Part> parts) {

    record Part(String contentId, String contentType, byte[] content) {}

    record Packed(String contentType, byte[] body) {}

    static Parcel read(String contentType, byte[] body) throws MimeException, IOException {
        if (!contentType.startsWith("multipart")) {
            return new Parcel(body, List.of());
        }
        Reader reader = new Reader();
        // With the limits of mime4j, as deployed gateways have them.
        MimeStreamParser parser = new MimeStreamParser(
            MimeConfig.custom().setHeadlessParsing(contentType).build());
        parser.setContentHandler(reader);
        parser.setContentDecoding(true);
        parser.parse(new ByteArrayInputStream(body));
        if (reader.parts.isEmpty()) {
            throw new MimeException("a package without parts");
        }
        Part first = reader.parts.remove(0);
        return new Parcel(first.content, reader.parts);
    }

    private static final class Reader extends AbstractContentHandler {
        final List<Part> parts = new ArrayList<>();
        private String contentId = "";
        private String contentType = "";

        @Override
        public void startHeader() {
            contentId = "";
            contentType = "";
        }

        @Override
        public void field(Field field) {
            if (field.getName().equalsIgnoreCase("Content-ID")) {
                contentId = field.getBody().trim().replaceAll("^<(.*)>$", "$1");
            } else if (field.getName().equalsIgnoreCase("Content-Type")) {
                contentType = field.getBody().trim();
            }
        }

        @Override
        public void body(BodyDescriptor descriptor, InputStream content) throws IOException {
            parts.add(new Part(contentId, contentType, content.readAllBytes()));
        }
    }

    /** How this MSH writes: `text/xml` alone, or multipart with the envelope first. */
    Packed pack() {
        if (parts.isEmpty()) {
            return new Packed("text/xml; charset=UTF-8", envelope);
        }
        String boundary = "-=" + UUID.randomUUID() + "=-";
        String root = UUID.randomUUID().toString();
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        writePart(out, boundary, "Content-Type: text/xml; charset=UTF-8\r\nContent-ID: <" + root
            + ">\r\n", envelope);
        for (Part part : parts) {
            boolean isText = part.contentType.matches("^(text/.*|.*/xml)$");
            writePart(out, boundary, "Content-Type: " + part.contentType + "\r\nContent-ID: <"
                + part.contentId + ">\r\nContent-Disposition: attachment; filename=\"part\"\r\n"
                + (isText ? "" : "Content-Transfer-Encoding: binary\r\n"), part.content);
        }
        out.writeBytes(("--" + boundary + "--\r\n").getBytes(StandardCharsets.US_ASCII));
        return new Packed("multipart/related; boundary=\"" + boundary
            + "\"; type=\"text/xml\"; start=\"<" + root + ">\"; start-info=\"text/xml\"",
            out.toByteArray());
    }

    private static void writePart(
        ByteArrayOutputStream out, String boundary, String head, byte[] content) {
        out.writeBytes(("--" + boundary + "\r\n" + head + "\r\n").getBytes(StandardCharsets.UTF_8));
        out.writeBytes(content);
        out.writeBytes("\r\n".getBytes(StandardCharsets.US_ASCII));
    }
}
