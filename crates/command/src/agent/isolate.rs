//! What may a run not touch, and does the system let us enforce it?
//!
//! Each level is a namespace or a mount that only this process and its children see, so what they
//! write, bind or start disappears with them. A level that the system refuses is told with its
//! reason, never half applied:
//!
//! * `tree` and `home`: an overlay over the folder. What is written goes to a `tmpfs` that exists
//!   in this mount namespace alone, so nobody has to clear it away. Other file systems mounted
//!   inside the folder, and our own folder for the run if it is there, would be hidden by the
//!   overlay; they are put back, and are not isolated.
//! * `net`: a network namespace with loopback up.
//! * `pid`: applies to processes started afterwards. Whether it can have its own `/proc` is only
//!   known inside, when there is no way back; then the run is begun again without it.
//!
//! Root does this directly. Others need a user namespace first, in which they keep their user id;
//! the rights it grants are given up again before the first test ([`give_up_rights`]), or a test
//! that expects to be denied something would not be.
//!
//! This does what the agent for Python does in `isolate.py`.

use std::ffi::{CString, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use rustix::mount::{MountFlags, MountPropagationFlags};
use rustix::process::{getegid, geteuid, getuid};
use rustix::thread::{CapabilitySet, CapabilitySets, UnshareFlags};
use unflake_wire::{Level, Refused};

use super::loopback;

/// Characters kept of a folder's name in that of its upper layer.
const NAME_MAX: usize = 20;

/// Where the tests stand.
#[derive(Clone, Debug)]
pub(crate) struct Ground {
    cwd: PathBuf,
    tree: PathBuf,
    home: Option<PathBuf>,
    mounts: Vec<PathBuf>,
    scratch: PathBuf,
}

/// What came of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Isolated {
    pub(crate) applied: Vec<Level>,
    pub(crate) refused: Vec<Refused>,
    /// Whether a user namespace gave the rights to do it.
    pub(crate) as_user: bool,
}

impl Ground {
    /// The folders to protect: the git top level or else the working directory, and HOME.
    pub(crate) fn here(scratch: &Path) -> io::Result<Self> {
        let cwd = std::env::current_dir()?;
        let home = std::env::var_os("HOME").filter(|home| !home.is_empty());
        let top = cwd.ancestors().find(|folder| folder.join(".git").exists());
        Ok(Self {
            tree: top.unwrap_or(&cwd).to_owned(),
            home: home.and_then(|home| fs::canonicalize(home).ok()),
            mounts: mount_points(&fs::read("/proc/self/mountinfo").unwrap_or_default()),
            scratch: scratch.to_owned(),
            cwd,
        })
    }

    /// The folders to cover, outermost only: a folder inside a covered one is covered with it.
    fn covered(&self, levels: &[Level]) -> Vec<(Vec<Level>, &Path)> {
        let tree = levels.contains(&Level::Tree).then_some(self.tree.as_path());
        let none = Path::new("");
        let home = self.home.as_deref().unwrap_or(none);
        let home = levels.contains(&Level::Home).then_some(home);
        match (tree, home) {
            (Some(tree), Some(home)) if is_inside(tree, home) => {
                vec![(vec![Level::Tree, Level::Home], home)]
            }
            (Some(tree), Some(home)) if is_inside(home, tree) => {
                vec![(vec![Level::Tree, Level::Home], tree)]
            }
            (tree, home) => {
                let tree = tree.map(|folder| (vec![Level::Tree], folder));
                tree.into_iter().chain(home.map(|folder| (vec![Level::Home], folder))).collect()
            }
        }
    }

    /// What is below the folder and must be seen through the overlay, without what comes along with
    /// another one.
    fn seen_through(&self, folder: &Path) -> Vec<&Path> {
        let mut inside: Vec<&Path> = self.mounts.iter().map(PathBuf::as_path).collect();
        inside.push(&self.scratch);
        inside.retain(|path| *path != folder && is_inside(path, folder) && path.exists());
        inside.sort_by_key(|path| path.as_os_str().len());
        let mut found: Vec<&Path> = Vec::new();
        for path in inside {
            if !found.iter().any(|other| path.starts_with(other)) {
                found.push(path);
            }
        }
        found
    }
}

/// Where file systems are mounted, from `mountinfo`. The kernel writes blanks, tabs, line ends and
/// backslashes as octal numbers.
fn mount_points(mountinfo: &[u8]) -> Vec<PathBuf> {
    let fields = mountinfo
        .split(|byte| *byte == b'\n')
        .filter_map(|line| line.split(|byte| *byte == b' ').nth(4));
    fields.map(|field| PathBuf::from(OsString::from_vec(unescaped(field)))).collect()
}

fn unescaped(field: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((first, behind)) = rest.split_first() {
        let digits = behind.get(..3).and_then(|digits| std::str::from_utf8(digits).ok());
        let number = digits.and_then(|digits| u8::from_str_radix(digits, 8).ok());
        if let (b'\\', Some(number)) = (*first, number) {
            plain.push(number);
            rest = &behind[3..];
        } else {
            plain.push(*first);
            rest = behind;
        }
    }
    plain
}

/// Whether a path is the folder or below it; nothing is inside the root or no folder.
fn is_inside(path: &Path, folder: &Path) -> bool {
    folder.parent().is_some() && !folder.as_os_str().is_empty() && path.starts_with(folder)
}

/// Applies what can be applied to this process, which must have one thread; `pid` to its children.
pub(crate) fn isolate(levels: &[Level], ground: &Ground) -> Isolated {
    let mut isolated = Isolated::default();
    if levels.is_empty() {
        return isolated;
    }
    match own_mounts() {
        Ok(as_user) => isolated.as_user = as_user,
        Err(error) => {
            isolated.refused = levels.iter().map(|level| refusal(*level, &error)).collect();
            return isolated;
        }
    }
    for (names, folder) in ground.covered(levels) {
        match cover(folder, ground, isolated.as_user) {
            Ok(()) => isolated.applied.extend(names),
            Err(error) => isolated.refused.extend(names.iter().map(|it| refusal(*it, &error))),
        }
    }
    // The working directory still is the folder under the overlay. One that is gone stays gone.
    let _ = std::env::set_current_dir(&ground.cwd);
    for level in [Level::Net, Level::Pid].into_iter().filter(|level| levels.contains(level)) {
        let done = match level {
            Level::Net => own_network(),
            _ => unshare(UnshareFlags::NEWPID),
        };
        match done {
            Ok(()) => isolated.applied.push(level),
            Err(error) => isolated.refused.push(refusal(level, &error)),
        }
    }
    isolated
}

fn refusal(level: Level, error: &io::Error) -> Refused {
    Refused { level, why: error.to_string() }
}

#[expect(
    deprecated,
    reason = "the new one is unsafe because of FILES, which parts the files of threads; we ask for \
              namespaces only, and unsafe code is forbidden here"
)]
fn unshare(flags: UnshareFlags) -> io::Result<()> {
    Ok(rustix::thread::unshare(flags)?)
}

/// A mount namespace; says whether a user namespace was needed for it.
fn own_mounts() -> io::Result<bool> {
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    let mut as_user = false;
    if let Err(error) = unshare(UnshareFlags::NEWNS) {
        if error.kind() != io::ErrorKind::PermissionDenied {
            return Err(error);
        }
        unshare(UnshareFlags::NEWUSER | UnshareFlags::NEWNS)?;
        fs::write("/proc/self/setgroups", "deny")?;
        fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
        fs::write("/proc/self/gid_map", format!("{group} {group} 1"))?;
        as_user = true;
    }
    let private = MountPropagationFlags::REC | MountPropagationFlags::PRIVATE;
    rustix::mount::mount_change("/", private)?;
    Ok(as_user)
}

/// Puts an overlay over a folder, writing to memory.
fn cover(folder: &Path, ground: &Ground, as_user: bool) -> io::Result<()> {
    let refuse = |why: &str| {
        let message = format!("`{}` {why}", folder.display());
        Err(io::Error::other(message))
    };
    if folder.parent().is_none() || folder.as_os_str().is_empty() {
        return refuse("cannot be covered");
    }
    if as_user && is_foreign(folder)? {
        return refuse("belongs to another user or group");
    }
    let (upper, work) = writable(ground, folder)?;
    let open = |path: &Path| rustix::fs::open(path, OFlags::PATH, Mode::empty());
    let mut seen = Vec::new();
    for path in ground.seen_through(folder) {
        seen.push((path, open(path)?));
    }
    let mut options = Vec::new();
    for (key, path) in [("lowerdir=", folder), (",upperdir=", &upper), (",workdir=", &work)] {
        options.extend(key.as_bytes());
        options.extend(escaped(path));
    }
    mount_overlay(folder, &options, as_user)?;
    for (path, handle) in &seen {
        let source = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(handle));
        rustix::mount::mount_bind_recursive(source, *path)?;
    }
    Ok(())
}

/// Whether the folder's owner does not exist in our user namespace: it could not be copied.
fn is_foreign(folder: &Path) -> io::Result<bool> {
    let found = fs::metadata(folder)?;
    Ok((found.uid(), found.gid()) != (geteuid().as_raw(), getegid().as_raw()))
}

fn mount_overlay(folder: &Path, options: &[u8], as_user: bool) -> io::Result<()> {
    let extra: &[u8] = if as_user { b",userxattr" } else { b",redirect_dir=on" };
    let mount = |options: Vec<u8>| {
        let options = CString::new(options)?;
        rustix::mount::mount("overlay", folder, "overlay", MountFlags::empty(), options.as_c_str())
            .map_err(io::Error::from)
    };
    match mount([options, extra].concat()) {
        // An older kernel does not know the extra.
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => mount(options.to_vec()),
        mounted => mounted,
    }
}

/// A pair of folders on one file system that can carry an overlay's upper layer.
fn writable(ground: &Ground, folder: &Path) -> io::Result<(PathBuf, PathBuf)> {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let name: String = name.chars().take(NAME_MAX).collect();
    let base = ground.scratch.join(format!("upper-{name}"));
    fs::DirBuilder::new().mode(0o700).create(&base)?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    rustix::mount::mount("tmpfs", &base, "tmpfs", flags, c"mode=0755")?;
    let (upper, work) = (base.join("u"), base.join("w"));
    fs::DirBuilder::new().mode(0o755).create(&upper)?;
    fs::DirBuilder::new().mode(0o755).create(&work)?;
    Ok((upper, work))
}

/// A path among the options of a mount.
fn escaped(path: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    for byte in path.as_os_str().as_bytes() {
        if b"\\,:".contains(byte) {
            bytes.push(b'\\');
        }
        bytes.push(*byte);
    }
    bytes
}

fn own_network() -> io::Result<()> {
    unshare(UnshareFlags::NEWNET)?;
    loopback::bring_up()
}

/// A `/proc` that shows this PID namespace; called from inside it.
pub(crate) fn own_proc() -> io::Result<()> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    Ok(rustix::mount::mount("proc", "/proc", "proc", flags, None)?)
}

/// Gives up what a user namespace gave: a user who is not root must not pass for one.
pub(crate) fn give_up_rights() -> io::Result<()> {
    if getuid().is_root() {
        return Ok(());
    }
    let none = CapabilitySet::empty();
    let sets = CapabilitySets { effective: none, permitted: none, inheritable: none };
    Ok(rustix::thread::set_capabilities(None, sets)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ground(tree: &str, home: &str) -> Ground {
        let home = (!home.is_empty()).then(|| home.into());
        Ground { cwd: tree.into(), tree: tree.into(), home, mounts: vec![], scratch: "/s".into() }
    }

    #[test]
    fn only_the_outermost_folder_is_covered() {
        let both = [Level::Tree, Level::Home];
        let folders = |tree, home| {
            let ground = ground(tree, home);
            let covered = ground.covered(&both);
            let text = |(levels, folder): &(Vec<Level>, &Path)| {
                (levels.len(), folder.display().to_string())
            };
            covered.iter().map(text).collect::<Vec<_>>()
        };
        assert_eq!(folders("/h/me/p", "/h/me"), [(2, "/h/me".to_owned())]);
        assert_eq!(folders("/p", "/p/home"), [(2, "/p".to_owned())]);
        assert_eq!(folders("/p", "/p2"), [(1, "/p".to_owned()), (1, "/p2".to_owned())]);
        assert_eq!(folders("/p", "/"), [(1, "/p".to_owned()), (1, "/".to_owned())]);
        assert_eq!(ground("/p", "/q").covered(&[Level::Net]).len(), 0);
    }

    #[test]
    fn mount_points_are_read_with_whatever_is_in_their_names() {
        let text =
            b"36 35 98:0 / /mnt/a\\040b rw - ext3 x rw\n37 35 0:1 / /c\\134d rw - tmpfs t rw\n";
        assert_eq!(mount_points(text), [Path::new("/mnt/a b"), Path::new("/c\\d")]);
        assert_eq!(unescaped(b"a\\9b\\"), b"a\\9b\\");
        assert_eq!(escaped(Path::new("/a:b,c\\d")), b"/a\\:b\\,c\\\\d");
    }
}
