//! Which pages are taken, and by whom: extents of 64 pages, described on map pages. The first 32 pages of a tree come
//! one by one from shared extents, later ones from extents of its own, so that its neighbours on storage are its own.
//!
//! This is the copy in memory, which decides. The map pages follow when a mini-transaction commits. Each tablespace has
//! extents and map pages of its own.

use super::tablespace::Tablespace;
use crate::btree::options::Options;
use crate::btree::page::{EXTENT_PAGES, HEADER_BYTES, UNDO_TREE, get_u32, get_u64, put_u32, put_u64};
use crate::error::{Error, Result};
use std::collections::{BTreeSet, HashMap};

/// Bytes of an extent's descriptor: bitmap, tree, owner.
const DESCRIPTOR_BYTES: usize = 16;
/// Pages that a tree takes one by one before it gets extents.
const SINGLE_PAGES: u32 = 32;
/// The tree directory.
pub const META_PAGE: u32 = 0;

/// Nobody's extent.
const FREE: u8 = 0;
/// Single pages of several trees.
const SHARED: u8 = 1;
/// One tree's extent.
const OWNED: u8 = 2;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Extent {
    used: u64,
    tree: u32,
    owner: u8,
}

/// A page that was just taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Taken {
    pub page_no: u32,
    /// What the extent's descriptor must say.
    pub owner: u8,
    pub tree: u32,
    /// The map page describes its first extent now and must be created.
    pub new_map: Option<u32>,
}

/// Where the descriptor of a page's extent is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    pub map_page: u32,
    pub extent_slot: u32,
    pub bit: u8,
}

#[derive(Debug, Default)]
struct TreeSpace {
    singles: u32,
    with_room: BTreeSet<u32>,
}

/// The extents of a tablespace.
#[derive(Debug)]
pub struct Space {
    tablespace: Tablespace,
    most_extents: usize,
    per_map: u32,
    extents: Vec<Extent>,
    free: BTreeSet<u32>,
    shared_with_room: BTreeSet<u32>,
    trees: HashMap<u32, TreeSpace>,
    used_pages: u64,
}

/// Extents that one map page describes.
fn extents_per_map(page_bytes: usize) -> u32 {
    ((page_bytes - HEADER_BYTES) / DESCRIPTOR_BYTES) as u32
}

impl Space {
    /// Without extents.
    pub fn new(tablespace: Tablespace, options: &Options) -> Self {
        Self {
            tablespace,
            most_extents: tablespace.pages(options).len() / EXTENT_PAGES as usize,
            per_map: extents_per_map(tablespace.slot_bytes(options)),
            extents: Vec::new(),
            free: BTreeSet::new(),
            shared_with_room: BTreeSet::new(),
            trees: HashMap::new(),
            used_pages: 0,
        }
    }

    /// The map page number `map`: the second page of the first extent that it describes.
    pub fn map_page(&self, map: u32) -> u32 {
        self.first_page(map * self.per_map) + 1
    }

    fn first_page(&self, extent: u32) -> u32 {
        self.tablespace.first_page() + extent * EXTENT_PAGES
    }

    fn extent_of(&self, page_no: u32) -> u32 {
        (page_no - self.tablespace.first_page()) / EXTENT_PAGES
    }

    /// Where the descriptor of a page's extent is.
    pub fn place(&self, page_no: u32) -> Place {
        let extent = self.extent_of(page_no);
        Place {
            map_page: self.map_page(extent / self.per_map),
            extent_slot: extent % self.per_map,
            bit: (page_no % EXTENT_PAGES) as u8,
        }
    }

    /// Adds the extents of the next map page.
    pub fn load_map(&mut self, bytes: &[u8]) {
        // The last extents of the map page before may be free, and were left out.
        let before = self.extents.len().next_multiple_of(self.per_map as usize);
        self.extents.resize(before, Extent::default());
        for slot in 0..self.per_map {
            let at = HEADER_BYTES + slot as usize * DESCRIPTOR_BYTES;
            let used = get_u64(bytes, at);
            // A crash can leave pages of an extent taken whose first taker did not commit: they are shared.
            let owner = if used != 0 && bytes[at + 12] == FREE { SHARED } else { bytes[at + 12] };
            self.extents.push(Extent { used, tree: get_u32(bytes, at + 8), owner });
        }
        while self.extents.last().is_some_and(|extent| extent.used == 0) {
            self.extents.pop();
        }
        self.index();
    }

    fn index(&mut self) {
        self.free.clear();
        self.shared_with_room.clear();
        self.trees.clear();
        self.used_pages = 0;
        for (n, extent) in self.extents.iter().enumerate() {
            let n = n as u32;
            self.used_pages += u64::from(extent.used.count_ones());
            let room = extent.used != u64::MAX;
            if extent.used == 0 {
                self.free.insert(n);
            } else if extent.owner == OWNED {
                let tree = self.trees.entry(extent.tree).or_default();
                tree.singles = SINGLE_PAGES;
                if room {
                    tree.with_room.insert(n);
                }
            } else if room {
                self.shared_with_room.insert(n);
            }
        }
    }

    /// Takes a page for a tree.
    pub fn take(&mut self, tree: u32) -> Result<Taken> {
        let space = self.trees.entry(tree).or_default();
        let single = tree != UNDO_TREE && space.singles < SINGLE_PAGES;
        let known = if single { self.shared_with_room.first() } else { space.with_room.first() };
        let (extent, new_map) = match known {
            Some(extent) => (*extent, None),
            None => self.claim_extent(if single { SHARED } else { OWNED }, tree)?,
        };
        if single {
            self.trees.entry(tree).or_default().singles += 1;
        }
        let page_no = self.take_bit(extent);
        let Extent { owner, tree, .. } = self.extents[extent as usize];
        Ok(Taken { page_no, owner, tree, new_map })
    }

    /// Takes the pages of a new file that are not a tree's: the directory and the first map page.
    pub fn take_first_pages(&mut self) -> Result<()> {
        self.claim_extent(SHARED, 0)?;
        self.take_bit(0);
        Ok(())
    }

    fn claim_extent(&mut self, owner: u8, tree: u32) -> Result<(u32, Option<u32>)> {
        let tree = if owner == OWNED { tree } else { 0 };
        if let Some(extent) = self.free.pop_first() {
            self.extents[extent as usize] = Extent { used: self.extents[extent as usize].used, tree, owner };
            self.note_room(extent);
            return Ok((extent, None));
        }
        let extent = self.extents.len() as u32;
        if extent as usize >= self.most_extents {
            let full = std::io::Error::from(std::io::ErrorKind::StorageFull);
            return Err(Error::io(self.tablespace.file_name(), "extend", full));
        }
        self.extents.push(Extent { used: 0, tree, owner });
        self.note_room(extent);
        let describes_itself = extent.is_multiple_of(self.per_map);
        if describes_itself {
            // The map page lies in the first extent that it describes.
            self.extents[extent as usize].used |= 2;
            self.used_pages += 1;
        }
        Ok((extent, describes_itself.then(|| self.map_page(extent / self.per_map))))
    }

    fn note_room(&mut self, extent: u32) {
        let Extent { owner, tree, used } = self.extents[extent as usize];
        let room = used != u64::MAX;
        let set = match owner {
            OWNED => &mut self.trees.entry(tree).or_default().with_room,
            _ => &mut self.shared_with_room,
        };
        if room {
            set.insert(extent);
        } else {
            set.remove(&extent);
        }
    }

    fn take_bit(&mut self, extent: u32) -> u32 {
        let bit = self.extents[extent as usize].used.trailing_ones();
        self.extents[extent as usize].used |= 1 << bit;
        self.used_pages += 1;
        self.note_room(extent);
        self.first_page(extent) + bit
    }

    /// Gives a page back, after the mini-transaction that freed it is in the log.
    pub fn give_back(&mut self, page_no: u32) {
        let extent = self.extent_of(page_no);
        self.extents[extent as usize].used &= !(1 << (page_no % EXTENT_PAGES));
        self.used_pages -= 1;
        self.note_room(extent);
        let Extent { used, owner, tree } = self.extents[extent as usize];
        if used == 0 {
            match owner {
                OWNED => self.trees.entry(tree).or_default().with_room.remove(&extent),
                _ => self.shared_with_room.remove(&extent),
            };
            self.extents[extent as usize] = Extent::default();
            self.free.insert(extent);
        }
    }

    /// The taken pages of a tree's own extents.
    pub fn pages_of(&self, tree: u32) -> Vec<u32> {
        let own = self.extents.iter().enumerate().filter(|(_, extent)| extent.owner == OWNED && extent.tree == tree);
        own.flat_map(|(n, extent)| {
            let first = self.first_page(n as u32);
            (0..EXTENT_PAGES).filter(|bit| extent.used >> bit & 1 == 1).map(move |bit| first + bit)
        })
        // A map page lies in the first extent that it describes, whosever that is.
        .filter(|page_no| self.place(*page_no).map_page != *page_no)
        .collect()
    }

    /// The tree that owns the extent of a page.
    pub fn owner_of(&self, page_no: u32) -> Option<u32> {
        let extent = self.extent_of(page_no);
        self.extents.get(extent as usize).filter(|extent| extent.owner == OWNED).map(|extent| extent.tree)
    }

    /// Whether a page is taken.
    pub fn is_taken(&self, page_no: u32) -> bool {
        let extent = self.extents.get(self.extent_of(page_no) as usize);
        extent.is_some_and(|extent| extent.used >> (page_no % EXTENT_PAGES) & 1 == 1)
    }

    /// Pages taken.
    #[cfg(test)]
    pub fn taken_pages(&self) -> u64 {
        self.used_pages
    }

    /// Map pages.
    #[cfg(test)]
    pub fn maps(&self) -> impl Iterator<Item = u32> {
        (0..(self.extents.len() as u32).div_ceil(self.per_map)).map(|map| self.map_page(map))
    }

    fn memory_bytes(&self) -> u64 {
        (self.extents.capacity() * size_of::<Extent>()) as u64
    }
}

/// The extents of all tablespaces.
#[derive(Debug)]
pub struct Spaces(Vec<Space>);

impl Spaces {
    /// The system tablespace's first, then that of the compressed tables, if they have one.
    pub fn new(spaces: Vec<Space>) -> Self {
        Self(spaces)
    }

    /// The extents of one tablespace.
    pub fn of(&mut self, tablespace: Tablespace) -> &mut Space {
        &mut self.0[tablespace as usize]
    }

    /// Those of the tablespace that a page lies in.
    pub fn of_page(&mut self, page_no: u32) -> &mut Space {
        let behind = self.0.partition_point(|space| space.tablespace.first_page() <= page_no);
        &mut self.0[behind - 1]
    }

    /// Pages taken, with the directory and the map pages.
    pub fn used_pages(&self) -> u64 {
        self.0.iter().map(|space| space.used_pages).sum()
    }

    /// Map pages.
    #[cfg(test)]
    pub fn maps(&self) -> impl Iterator<Item = u32> {
        self.0.iter().flat_map(Space::maps)
    }

    /// Bytes of memory.
    pub fn memory_bytes(&self) -> u64 {
        self.0.iter().map(Space::memory_bytes).sum()
    }
}

/// Marks a page as taken in its descriptor on a map page.
pub fn write_taken(bytes: &mut [u8], extent_slot: u32, bit: u8, owner: u8, tree: u32) {
    let at = HEADER_BYTES + extent_slot as usize * DESCRIPTOR_BYTES;
    let used = get_u64(bytes, at) | 1 << bit;
    put_u64(bytes, at, used);
    put_u32(bytes, at + 8, tree);
    bytes[at + 12] = owner;
}

/// Marks a page as given back in its descriptor on a map page.
pub fn write_given_back(bytes: &mut [u8], extent_slot: u32, bit: u8) {
    let at = HEADER_BYTES + extent_slot as usize * DESCRIPTOR_BYTES;
    let used = get_u64(bytes, at) & !(1 << bit);
    put_u64(bytes, at, used);
    if used == 0 {
        bytes[at + 12] = FREE;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn empty() -> Space {
        Space::new(Tablespace::System, &Options { innodb_page_size: 4096, ..Options::default() })
    }

    #[test]
    fn small_trees_share_an_extent_and_large_ones_own_theirs() {
        let mut space = empty();
        space.take_first_pages().unwrap();
        let pages = |space: &mut Space, tree: u32, n: u32| -> Vec<u32> {
            (0..n).map(|_| space.take(tree).unwrap().page_no).collect()
        };
        assert_eq!(pages(&mut space, 7, 3), [2, 3, 4]);
        assert_eq!(pages(&mut space, 8, 2), [5, 6]);
        let seven = pages(&mut space, 7, 29 + 64);
        assert_eq!(seven[29..], (64..128).collect::<Vec<_>>());
        assert_eq!(space.owner_of(64), Some(7));
        assert_eq!(space.owner_of(0), None);
    }

    #[test]
    fn an_extent_given_back_whole_serves_another_tree() {
        let mut space = empty();
        space.take_first_pages().unwrap();
        let first = (0..32 + 64).map(|_| space.take(1).unwrap().page_no).collect::<Vec<_>>();
        first[32..].iter().for_each(|page| space.give_back(*page));
        assert_eq!(space.owner_of(64), None);
        let second = (0..33).map(|_| space.take(2).unwrap().page_no).collect::<Vec<_>>();
        assert_eq!(space.place(second[30]).extent_slot, 1);
        assert_eq!(space.used_pages, 2 + 32 + 33);
    }

    #[test]
    fn descriptors_on_map_pages_bring_the_space_back() {
        let mut space = empty();
        space.take_first_pages().unwrap();
        let mut map = vec![0; 4096];
        write_taken(&mut map, 0, 0, SHARED, 0);
        write_taken(&mut map, 0, 1, SHARED, 0);
        for _ in 0..100 {
            let taken = space.take(3).unwrap();
            let place = space.place(taken.page_no);
            write_taken(&mut map, place.extent_slot, place.bit, taken.owner, taken.tree);
        }
        let mut again = empty();
        again.load_map(&map);
        assert_eq!((again.used_pages, again.owner_of(64)), (space.used_pages, Some(3)));
        assert_eq!(again.take(3).unwrap().page_no, space.take(3).unwrap().page_no);
    }

    #[test]
    fn free_extents_at_the_end_of_a_map_page_keep_their_place() {
        let mut space = empty();
        let per_map = extents_per_map(4096);
        let maps = [vec![(0, 3)], vec![(0, 2), (1, 1)]].map(|taken| {
            let mut map = vec![0; 4096];
            for (slot, bit) in taken {
                write_taken(&mut map, slot, bit, OWNED, 7);
            }
            map
        });
        for map in &maps {
            space.load_map(map);
        }
        let first = per_map * EXTENT_PAGES;
        assert_eq!([3, first + 2, first + EXTENT_PAGES + 1].map(|page_no| space.is_taken(page_no)), [true; 3]);
        assert_eq!(space.taken_pages(), 3);
        assert_eq!(space.place(space.pages_of(7)[1]).map_page, first + 1);
    }

    #[test]
    fn the_next_map_page_lies_in_its_own_first_extent() {
        let mut space = empty();
        space.take_first_pages().unwrap();
        let per_map = extents_per_map(4096);
        let made = (0..(per_map + 2) * EXTENT_PAGES).find_map(|_| space.take(1).unwrap().new_map).unwrap();
        assert_eq!(made, per_map * EXTENT_PAGES + 1);
        assert!(space.is_taken(made));
        assert_eq!(space.maps().collect::<Vec<_>>(), [1, made]);
    }
}
