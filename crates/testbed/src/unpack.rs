//! Taking the wanted files out of an archive.

use std::fs::{self, File};
use std::io::{self, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

use flate2::bufread::GzDecoder;

use crate::error::TestbedError;
use crate::packages::{Client, Package};

/// Writes every file of the archive for which `place` names a path below `into`, and counts them.
///
/// Both kinds of package lose run bits on their way through a registry, so modes are not kept; see [`make_runnable`].
pub(crate) fn unpack(
    package: &Package,
    archive: &Path,
    into: &Path,
    place: impl Fn(&Path) -> Option<PathBuf>,
) -> Result<usize, TestbedError> {
    let unpacked = match package.client {
        Client::Npm => unpack_tar_gz(archive, into, place),
        Client::Pip => unpack_zip(archive, into, place),
    };
    unpacked.map_err(TestbedError::disk("unpack", archive))
}

fn unpack_tar_gz(archive: &Path, into: &Path, place: impl Fn(&Path) -> Option<PathBuf>) -> io::Result<usize> {
    let mut tar = tar::Archive::new(GzDecoder::new(BufReader::with_capacity(1 << 16, File::open(archive)?)));
    let mut count = 0;
    for entry in tar.entries()? {
        let mut entry = entry?;
        let wanted = place(&entry.path()?);
        if let Some(path) = wanted.filter(|_| entry.header().entry_type().is_file()) {
            write(&mut entry, into, &path)?;
            count += 1;
        }
    }
    Ok(count)
}

fn unpack_zip(archive: &Path, into: &Path, place: impl Fn(&Path) -> Option<PathBuf>) -> io::Result<usize> {
    let mut zip = zip::ZipArchive::new(BufReader::new(File::open(archive)?))?;
    let mut count = 0;
    for index in 0..zip.len() {
        let mut entry = zip.by_index(index)?;
        let wanted = entry.enclosed_name().and_then(|name| place(&name));
        if let Some(path) = wanted.filter(|_| entry.is_file()) {
            write(&mut entry, into, &path)?;
            count += 1;
        }
    }
    Ok(count)
}

fn write(from: &mut impl io::Read, into: &Path, path: &Path) -> io::Result<()> {
    // The hash was checked, but a path that leaves the folder would be a mistake worth stopping at all the same.
    if !path.components().all(|part| matches!(part, Component::Normal(_))) {
        return Err(io::Error::other(format!("the archive has an unsafe path: {}", path.display())));
    }
    let path = into.join(path);
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    io::copy(from, &mut File::create(&path)?)?;
    Ok(())
}

/// Gives a program the run bit that the registry took.
pub(crate) fn make_runnable(path: &Path) -> Result<(), TestbedError> {
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))
        .map_err(TestbedError::disk("make runnable", path))
}
