"""Certificates for tests: an authority, the servers it vouches for, and some that it does not."""

from __future__ import annotations

import datetime
import ssl
from functools import cache
from pathlib import Path

import trustme

NAMES = ("127.0.0.1", "localhost")
LONG_AGO = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)


class Authority:
    """An authority with a certificate of each kind; its files lie in one folder.

    Attributes:
        bundle: the file for `verify=`.
        client: the file for `cert=`: key and certificates of a client.
    """

    def __init__(self, folder: Path) -> None:
        self.root = trustme.CA()
        self.bundle = str(folder / "authority.pem")
        self.client = str(folder / "client.pem")
        self.root.cert_pem.write_to_path(self.bundle)
        client = self.root.issue_cert("client@example.com", common_name="client")
        client.private_key_and_cert_chain_pem.write_to_path(self.client)
        self.good = server_context(self.root.issue_cert(*NAMES))
        self.http2 = server_context(self.root.issue_cert(*NAMES))
        self.http2.set_alpn_protocols(["h2"])
        self.untrusted = server_context(trustme.CA().issue_cert(*NAMES))
        self.wrong_host = server_context(self.root.issue_cert("elsewhere.example"))
        self.expired = server_context(
            self.root.issue_cert(
                *NAMES, not_before=LONG_AGO, not_after=LONG_AGO + datetime.timedelta(days=1)
            )
        )

    @cache  # noqa: B019 - one authority lives as long as the tests
    def asking(self, version: ssl.TLSVersion) -> ssl.SSLContext:
        """A server that speaks one version of TLS and wants a certificate of the client."""
        context = server_context(self.root.issue_cert(*NAMES))
        context.minimum_version = context.maximum_version = version
        context.verify_mode = ssl.CERT_REQUIRED
        self.root.configure_trust(context)
        return context


def server_context(leaf: trustme.LeafCert) -> ssl.SSLContext:
    """What a server shows to those who connect."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    leaf.configure_cert(context)
    return context
