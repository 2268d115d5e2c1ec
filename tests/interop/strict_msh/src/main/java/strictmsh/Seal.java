package strictmsh;

import java.io.ByteArrayInputStream;
import java.io.File;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.xml.security.c14n.Canonicalizer;
import org.apache.xml.security.signature.XMLSignature;
import org.apache.xml.security.signature.XMLSignatureInput;
import org.apache.xml.security.transforms.Transforms;
import org.apache.xml.security.transforms.params.XPathContainer;
import org.apache.xml.security.utils.resolver.ResourceResolverContext;
import org.apache.xml.security.utils.resolver.ResourceResolverSpi;
import org.w3c.dom.Document;
import org.w3c.dom.Element;

/** XML signatures by Santuario; the partner's certificate is pinned. */
final class Seal {
    private static final String FILTER =
        "not(ancestor-or-self::node()[@soap:actor=\"" + Names.NEXT_MSH
            + "\"]|ancestor-or-self::node()[@soap:actor=\"" + Names.NEXT + "\"])";
    private static final String SHA256 = "http://www.w3.org/2001/04/xmlenc#sha256";

    private final PrivateKey key;
    private final X509Certificate certificate;
    private final X509Certificate partner;

    static {
        org.apache.xml.security.Init.init();
    }

    Seal(File keys, File partner) throws Exception {
        char[] password = "password".toCharArray();
        KeyStore store = KeyStore.getInstance(keys, password);
        String alias = store.aliases().nextElement();
        this.key = (PrivateKey) store.getKey(alias, password);
        this.certificate = (X509Certificate) store.getCertificate(alias);
        try (var in = new java.io.FileInputStream(partner)) {
            this.partner =
                (X509Certificate) CertificateFactory.getInstance("X.509").generateCertificate(in);
        }
    }

    /** The same document with a Signature. */
    Document sign(Document unsigned, List<Parcel.Part> parts) throws Exception {
        // Written and read again first: what was copied into it brings its prefixes along only then,
        // and the canonical form of a tree without them is not that of the bytes that leave.
        Document document = Xml.parse(Xml.bytes(unsigned));
        XMLSignature signature = new XMLSignature(
            document, "", XMLSignature.ALGO_ID_SIGNATURE_RSA_SHA256,
            Canonicalizer.ALGO_ID_C14N_OMIT_COMMENTS);
        Xml.child(document.getDocumentElement(), Names.SOAP, "Header")
            .appendChild(signature.getElement());
        Transforms transforms = new Transforms(document);
        transforms.addTransform(Transforms.TRANSFORM_ENVELOPED_SIGNATURE);
        XPathContainer filter = new XPathContainer(document);
        filter.setXPath(FILTER);
        filter.setXPathNamespaceContext("soap", Names.SOAP);
        transforms.addTransform(
            Transforms.TRANSFORM_XPATH, filter.getElementPlusReturns());
        transforms.addTransform(Transforms.TRANSFORM_C14N_OMIT_COMMENTS);
        signature.addDocument("", transforms, SHA256);
        signature.addResourceResolver(new PartResolver(parts));
        for (Parcel.Part part : parts) {
            signature.addDocument("cid:" + part.contentId(), null, SHA256);
        }
        signature.addKeyInfo(certificate);
        signature.sign(key);
        return document;
    }

    static Element find(Letter letter) {
        return Xml.child(letter.header, Names.DS, "Signature");
    }

    /** Null where the partner signed this envelope and each of these parts; else what is wrong. */
    String fault(Letter letter, List<Parcel.Part> parts) {
        Element element = find(letter);
        if (element == null) {
            return "no Signature";
        }
        try {
            XMLSignature signature = new XMLSignature(element, "");
            signature.addResourceResolver(new PartResolver(parts));
            if (!signature.checkSignatureValue(partner.getPublicKey())) {
                return "the Signature is not the partner's, or not over this";
            }
            Set<String> covered = new HashSet<>();
            for (Element reference : references(letter)) {
                covered.add(reference.getAttribute("URI"));
            }
            Set<String> wanted = new HashSet<>(List.of(""));
            wanted.addAll(letter.hrefs());
            return covered.containsAll(wanted) ? null : "not covered: " + wanted;
        } catch (Exception error) {
            return error.toString();
        }
    }

    static List<Element> references(Letter letter) {
        Element signature = find(letter);
        if (signature == null) {
            return List.of();
        }
        return Xml.children(
            Xml.child(signature, Names.DS, "SignedInfo"), Names.DS, "Reference");
    }

    /** URI, algorithm and value of each ds:Reference, as a set. */
    static Set<String> digests(List<Element> references) {
        Set<String> found = new HashSet<>();
        for (Element reference : references) {
            found.add(reference.getAttribute("URI") + " "
                + Xml.child(reference, Names.DS, "DigestMethod").getAttribute("Algorithm") + " "
                + Xml.child(reference, Names.DS, "DigestValue").getTextContent()
                    .replaceAll("\\s", ""));
        }
        return found;
    }

    private static final class PartResolver extends ResourceResolverSpi {
        private final List<Parcel.Part> parts;

        PartResolver(List<Parcel.Part> parts) {
            this.parts = new ArrayList<>(parts);
        }

        @Override
        public boolean engineCanResolveURI(ResourceResolverContext context) {
            return context.uriToResolve != null && context.uriToResolve.startsWith("cid:");
        }

        @Override
        public XMLSignatureInput engineResolveURI(ResourceResolverContext context) {
            for (Parcel.Part part : parts) {
                if (("cid:" + part.contentId()).equals(context.uriToResolve)) {
                    return new XMLSignatureInput(part.content());
                }
            }
            throw new IllegalStateException("no part " + context.uriToResolve);
        }
    }
}
