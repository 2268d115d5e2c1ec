import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.cert.X509Certificate;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import javax.xml.crypto.Data;
import javax.xml.crypto.KeySelector;
import javax.xml.crypto.OctetStreamData;
import javax.xml.crypto.URIDereferencer;
import javax.xml.crypto.dsig.DigestMethod;
import javax.xml.crypto.dsig.Reference;
import javax.xml.crypto.dsig.Transform;
import javax.xml.crypto.dsig.XMLSignature;
import javax.xml.crypto.dsig.XMLSignatureFactory;
import javax.xml.crypto.dsig.dom.DOMSignContext;
import javax.xml.crypto.dsig.dom.DOMValidateContext;
import javax.xml.crypto.dsig.keyinfo.KeyInfoFactory;
import javax.xml.crypto.dsig.spec.C14NMethodParameterSpec;
import javax.xml.crypto.dsig.spec.TransformParameterSpec;
import javax.xml.crypto.dsig.spec.XPathFilterParameterSpec;
import javax.xml.parsers.DocumentBuilderFactory;
import javax.xml.transform.TransformerFactory;
import javax.xml.transform.dom.DOMSource;
import javax.xml.transform.stream.StreamResult;
import org.w3c.dom.Document;

/** XML-DSig as the JDK has it: verifies or signs each NAME.xml of a folder, with cid: files there. */
public class Dsig {
    static final String SOAP = "http://schemas.xmlsoap.org/soap/envelope/";
    static final String NEXT_MSH = "urn:oasis:names:tc:ebxml-msg:actor:nextMSH";
    static final String NEXT = "http://schemas.xmlsoap.org/soap/actor/next";

    public static void main(String[] args) throws Exception {
        File[] files = new File(args[1]).listFiles((folder, name) -> name.endsWith(".xml"));
        Arrays.sort(files);
        KeyStore keys = KeyStore.getInstance(new File(args[2]), "password".toCharArray());
        for (File file : files) {
            DocumentBuilderFactory factory = DocumentBuilderFactory.newInstance();
            factory.setNamespaceAware(true);
            Document document = factory.newDocumentBuilder().parse(file);
            String said;
            try {
                said = args[0].equals("verify")
                    ? verify(document, keys, file.getParentFile())
                    : sign(document, keys, file);
            } catch (Exception error) {
                said = "error " + error;
            }
            System.out.println(file.getName() + " " + said);
        }
    }

    static X509Certificate certificate(KeyStore keys) throws Exception {
        return (X509Certificate) keys.getCertificate(keys.aliases().nextElement());
    }

    static URIDereferencer parts(XMLSignatureFactory signatures, File folder) {
        return (reference, context) -> {
            String uri = reference.getURI();
            if (!uri.startsWith("cid:")) {
                return signatures.getURIDereferencer().dereference(reference, context);
            }
            try {
                Path path = folder.toPath().resolve(uri.substring(4));
                return (Data) new OctetStreamData(Files.newInputStream(path));
            } catch (java.io.IOException error) {
                throw new javax.xml.crypto.URIReferenceException(error);
            }
        };
    }

    static String verify(Document document, KeyStore keys, File folder) throws Exception {
        var found = document.getElementsByTagNameNS(XMLSignature.XMLNS, "Signature");
        var key = KeySelector.singletonKeySelector(certificate(keys).getPublicKey());
        DOMValidateContext context = new DOMValidateContext(key, found.item(0));
        context.setProperty("org.jcp.xml.dsig.secureValidation", Boolean.FALSE);
        XMLSignatureFactory signatures = XMLSignatureFactory.getInstance("DOM");
        context.setURIDereferencer(parts(signatures, folder));
        return signatures.unmarshalXMLSignature(context).validate(context) ? "valid" : "invalid";
    }

    /** The name of the file says how: exclusive, nofilter; anything else is the standard's way. */
    static String sign(Document document, KeyStore keys, File file) throws Exception {
        XMLSignatureFactory signatures = XMLSignatureFactory.getInstance("DOM");
        String form = file.getName().contains("exclusive")
            ? "http://www.w3.org/2001/10/xml-exc-c14n#"
            : "http://www.w3.org/TR/2001/REC-xml-c14n-20010315";
        DigestMethod sha256 = signatures.newDigestMethod(DigestMethod.SHA256, null);
        List<Transform> transforms = new ArrayList<>();
        transforms.add(
            signatures.newTransform(Transform.ENVELOPED, (TransformParameterSpec) null));
        if (!file.getName().contains("nofilter")) {
            String condition = "ancestor-or-self::node()[@S:actor=\"%s\"]";
            String expression = "not(" + String.format(condition, NEXT_MSH) + " | "
                + String.format(condition, NEXT) + ")";
            transforms.add(signatures.newTransform(
                Transform.XPATH, new XPathFilterParameterSpec(expression, Map.of("S", SOAP))));
        }
        transforms.add(signatures.newTransform(form, (TransformParameterSpec) null));
        List<Reference> references = new ArrayList<>();
        references.add(signatures.newReference("", sha256, transforms, null, null));
        var hrefs = document.getElementsByTagNameNS("*", "Reference");
        for (int at = 0; at < hrefs.getLength(); at++) {
            String href = ((org.w3c.dom.Element) hrefs.item(at))
                .getAttributeNS("http://www.w3.org/1999/xlink", "href");
            references.add(signatures.newReference(href, sha256));
        }
        var info = signatures.newSignedInfo(
            signatures.newCanonicalizationMethod(form, (C14NMethodParameterSpec) null),
            signatures.newSignatureMethod(
                "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256", null),
            references);
        KeyInfoFactory infos = signatures.getKeyInfoFactory();
        var keyInfo = infos.newKeyInfo(List.of(infos.newX509Data(List.of(certificate(keys)))));
        var key = (PrivateKey) keys.getKey(keys.aliases().nextElement(), "password".toCharArray());
        var header = document.getElementsByTagNameNS(SOAP, "Header").item(0);
        DOMSignContext context = new DOMSignContext(key, header);
        context.setURIDereferencer(parts(signatures, file.getParentFile()));
        signatures.newXMLSignature(info, keyInfo).sign(context);
        var writer = TransformerFactory.newInstance().newTransformer();
        writer.transform(new DOMSource(document), new StreamResult(file));
        return "signed";
    }
}
