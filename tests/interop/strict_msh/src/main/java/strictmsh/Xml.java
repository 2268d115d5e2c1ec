package strictmsh;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.StringReader;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import javax.xml.XMLConstants;
import javax.xml.parsers.DocumentBuilderFactory;
import javax.xml.transform.OutputKeys;
import javax.xml.transform.Source;
import javax.xml.transform.Transformer;
import javax.xml.transform.TransformerFactory;
import javax.xml.transform.dom.DOMSource;
import javax.xml.transform.stream.StreamResult;
import javax.xml.transform.stream.StreamSource;
import javax.xml.validation.Schema;
import javax.xml.validation.SchemaFactory;
import org.w3c.dom.Document;
import org.w3c.dom.Element;
import org.w3c.dom.Node;
import org.w3c.dom.bootstrap.DOMImplementationRegistry;
import org.w3c.dom.ls.DOMImplementationLS;
import org.w3c.dom.ls.LSInput;
import org.xml.sax.SAXException;

/** Documents by the parser, the writer and the schema validator of the JDK. */
final class Xml {
    private Xml() {}

    static Document parse(byte[] bytes) throws Exception {
        DocumentBuilderFactory factory = DocumentBuilderFactory.newInstance();
        factory.setNamespaceAware(true);
        factory.setFeature("http://apache.org/xml/features/disallow-doctype-decl", true);
        var builder = factory.newDocumentBuilder();
        builder.setErrorHandler(null);
        return builder.parse(new ByteArrayInputStream(bytes));
    }

    static Document empty() throws Exception {
        DocumentBuilderFactory factory = DocumentBuilderFactory.newInstance();
        factory.setNamespaceAware(true);
        return factory.newDocumentBuilder().newDocument();
    }

    static byte[] bytes(Document document) throws Exception {
        Transformer writer = TransformerFactory.newInstance().newTransformer();
        writer.setOutputProperty(OutputKeys.ENCODING, "UTF-8");
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        writer.transform(new DOMSource(document), new StreamResult(out));
        return out.toByteArray();
    }

    static List<Element> children(Node parent, String namespace, String name) {
        List<Element> found = new ArrayList<>();
        for (Node at = parent.getFirstChild(); at != null; at = at.getNextSibling()) {
            boolean isIt = at instanceof Element && name.equals(at.getLocalName());
            if (isIt && namespace.equals(at.getNamespaceURI())) {
                found.add((Element) at);
            }
        }
        return found;
    }

    static Element child(Node parent, String namespace, String name) {
        List<Element> found = children(parent, namespace, name);
        return found.isEmpty() ? null : found.get(0);
    }

    /** The schemas of OASIS; nothing outside of the folder is ever opened. */
    static Schema schema(File folder) throws Exception {
        Map<String, String> places = Map.of(
            Names.SOAP, "envelope.xsd", Names.EB, "msg-header-2_0.xsd", Names.XLINK, "xlink.xsd",
            Names.DS, "xmldsig-core-schema.xsd", XMLConstants.XML_NS_URI, "xml.xsd");
        SchemaFactory factory = SchemaFactory.newInstance(XMLConstants.W3C_XML_SCHEMA_NS_URI);
        var loader =
            (DOMImplementationLS) DOMImplementationRegistry.newInstance().getDOMImplementation("LS");
        factory.setResourceResolver((type, namespace, publicId, systemId, base) -> {
            LSInput input = loader.createLSInput();
            String place = namespace == null ? null : places.get(namespace);
            if (place == null) {
                // A DTD of a schema: entities for readers, which no schema needs.
                input.setCharacterStream(new StringReader(""));
                return input;
            }
            File file = new File(folder, place);
            input.setSystemId(file.toURI().toString());
            try {
                input.setByteStream(new java.io.FileInputStream(file));
            } catch (java.io.FileNotFoundException error) {
                throw new IllegalStateException(error);
            }
            return input;
        });
        List<Source> sources = new ArrayList<>();
        for (String name : List.of("envelope.xsd", "msg-header-2_0.xsd")) {
            sources.add(new StreamSource(new File(folder, name)));
        }
        return factory.newSchema(sources.toArray(new Source[0]));
    }

    /** What the schemas say against the document; null if nothing. */
    static String fault(Schema schema, Document document) throws Exception {
        if (schema == null) {
            return null;
        }
        try {
            schema.newValidator().validate(new DOMSource(document));
            return null;
        } catch (SAXException error) {
            return error.getMessage();
        }
    }
}
