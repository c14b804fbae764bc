"""CertificateSigningRequests: node clients are approved, approved requests are signed, old ones removed.

Upstream has a folder for each of the three controllers (pkg/controller/certificates); they share the parser of requests
and the names of conditions. The certificate and key of the CA come with the settings; nothing here reads files.
"""
